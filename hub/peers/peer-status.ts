/** Asks a peer who it is, what time it has and whom it lists, as anybody could. */
import type * as z from 'zod'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { SIGNATURE_BYTES } from '../../protocol/crypto/signed.ts'
import { fromBase64url, toBase64 } from '../../protocol/encoding/bytes.ts'
import { compareKel, decodeKel, type KeyEvent, verifyKel } from '../../protocol/identity/kel.ts'
import type { Timers } from '../../protocol/timers.ts'
import { fedRoutes, type forwardRecord } from '../../protocol/wire1/routes/fed.ts'
import { wire3Routes as routes } from '../../protocol/wire3/routes.ts'
import type { Peer } from '../core/federation/peers.ts'
import { openCall } from './open-call.ts'
import { callWire1, isPolicy, openIdentity } from './open-mail-calls.ts'

const LOOK_MS = 5000
/** Nobody takes a record that came through so many hubs. */
const HOPS_OF_NONE = 99
const OF_NO_VERSION = { v: 0 }
/** What the operator of a hub runs that takes no mail of others. */
export const EXCHANGE_SWITCH = 'svc-hub serve --wire1-federation'

/** What a hub lacks itself, and what it is started with to have it. */
export const OWN_EXCHANGE = {
  off: { lacks: 'exchanges no open mail', start: '--wire1-federation' },
  none: { lacks: 'carries no open mail', start: '--wire1-listen and --wire1-federation' },
} as const

export type PeerLook = {
  /** Its key history beside the one that is pinned; `other`: another hub answers there. */
  log: 'same' | 'longer' | 'shorter' | 'contradicting' | 'other'
  /** How far its clock is ahead of the time given; undefined where its answer has no date. */
  clockAheadMs: number | undefined
  /** Whether it lists the hub that asks; undefined where it tells nobody. */
  isMutual: boolean | undefined
  /** Whether it takes mail of other hubs; undefined where that was not asked. */
  takesMail?: boolean
}

/** Throws what {@link openCall} throws where it gives no usable answer. */
export async function lookAtPeer(
  peer: Peer,
  asker: string,
  { now, timers }: { now: () => number; timers: Timers },
): Promise<PeerLook> {
  if (peer.isOpenOnly === true) {
    const events = await openIdentity(peer.url, timers.deadline(LOOK_MS))
    const log = logBeside(peer, events)
    return { log, clockAheadMs: undefined, ...(await standingAt(peer, { asker, timers, nowMs: now() })) }
  }
  const { reply: shown, dateMs } = await openCall(routes.hubIdentity, peer.url, timers.deadline(LOOK_MS))
  const clockAheadMs = dateMs === undefined ? undefined : dateMs - now()
  const { reply: listed } = await openCall(routes.hubKels, peer.url, timers.deadline(LOOK_MS))
  const isMutual = listed.hubs.some(({ aid }) => aid === asker)
  return { log: logBeside(peer, decodeKel(fromBase64url(shown.kel))), clockAheadMs, isMutual }
}

/** Whether it takes mail of other hubs, and of this one: it is shown records that no hub takes, for what it judges first. */
async function standingAt(
  { aid, url }: Peer,
  { asker, timers, nowMs }: { asker: string; timers: Timers; nowMs: number },
): Promise<Pick<PeerLook, 'isMutual' | 'takesMail'>> {
  const tooFar: z.infer<typeof forwardRecord> = {
    ...{ v: 1, origin_hub_aid: asker, dest_aid: aid, from_aid: asker, kind: 'message' },
    ...{ interaction_id: '', payload: '', payload_cid: cidText(contentId(new Uint8Array(0))) },
    ...{ hop: HOPS_OF_NONE, seen_hubs: [asker], ts: nowMs, key_state_seq: 0 },
    sig: toBase64(new Uint8Array(SIGNATURE_BYTES)),
  }
  if (await isRefused(url, OF_NO_VERSION, timers)) return { takesMail: false, isMutual: undefined }
  return { takesMail: true, isMutual: asker === '' ? undefined : !(await isRefused(url, tooFar, timers)) }
}

/** Whether the hub at an address takes mail of other hubs; undefined where it carries no open mail there. */
export async function takesMailAt(url: string, timers: Timers): Promise<boolean | undefined> {
  const shown = await openIdentity(url, timers.deadline(LOOK_MS)).catch(() => undefined)
  return shown && !(await isRefused(url, OF_NO_VERSION, timers))
}

/** By policy, which is judged before the record. */
async function isRefused(baseUrl: string, body: { v: number }, timers: Timers): Promise<boolean> {
  const asked = { baseUrl, body, signal: timers.deadline(LOOK_MS) }
  return await callWire1(fedRoutes.fedForward, asked).then(() => false, isPolicy)
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
