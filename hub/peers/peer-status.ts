/** Asks a peer who it is, what time it has and whom it lists, as anybody could. */
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { compareKel, decodeKel, type KeyEvent, verifyKel } from '../../protocol/identity/kel.ts'
import type { Timers } from '../../protocol/timers.ts'
import { wire3Routes as routes } from '../../protocol/wire3/routes.ts'
import type { Peer } from '../core/federation/peers.ts'
import { openCall } from './open-call.ts'
import { openIdentity } from './open-mail-calls.ts'

const LOOK_MS = 5000

export type PeerLook = {
  /** Its key history beside the one that is pinned; `other`: another hub answers there. */
  log: 'same' | 'longer' | 'shorter' | 'contradicting' | 'other'
  /** How far its clock is ahead of the time given; undefined where its answer has no date. */
  clockAheadMs: number | undefined
  /** Whether it lists the hub that asks; undefined where it tells nobody. */
  isMutual: boolean | undefined
}

/** Throws what {@link openCall} throws where it gives no usable answer. */
export async function lookAtPeer(
  peer: Peer,
  asker: string,
  { now, timers }: { now: () => number; timers: Timers },
): Promise<PeerLook> {
  if (peer.isOpenOnly === true) {
    const events = await openIdentity(peer.url, timers.deadline(LOOK_MS))
    return { log: logBeside(peer, events), clockAheadMs: undefined, isMutual: undefined }
  }
  const { reply: shown, dateMs } = await openCall(routes.hubIdentity, peer.url, timers.deadline(LOOK_MS))
  const clockAheadMs = dateMs === undefined ? undefined : dateMs - now()
  const { reply: listed } = await openCall(routes.hubKels, peer.url, timers.deadline(LOOK_MS))
  const isMutual = listed.hubs.some(({ aid }) => aid === asker)
  return { log: logBeside(peer, decodeKel(fromBase64url(shown.kel))), clockAheadMs, isMutual }
}

const VERDICTS = {
  unchanged: 'same',
  extends: 'longer',
  rollback: 'shorter',
  fork: 'contradicting',
} as const

function logBeside(peer: Peer, events: readonly KeyEvent[]): PeerLook['log'] {
  const shown = verifyKel(events)
  return shown.aid === peer.aid ? VERDICTS[compareKel(peer.log, shown.events).verdict] : 'other'
}
