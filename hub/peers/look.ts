/** Asks a peer who it is, what time it has and whom it lists, as anybody could. */
import { type Call, call } from '../../protocol/contract/client.ts'
import type { ReplyOf, RouteRow } from '../../protocol/contract/route.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { compareKel, decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import type { Timers } from '../../protocol/timers.ts'
import { headers, WIRE } from '../../protocol/wire3/headers.ts'
import { wire3Routes as routes } from '../../protocol/wire3/routes.ts'
import type { Peer } from '../core/federation/peers.ts'

const LOOK_MS = 5000

export type PeerLook = {
  /** Its key history beside the one that is pinned; `other`: another hub answers there. */
  log: 'same' | 'longer' | 'shorter' | 'contradicting' | 'other'
  /** How far its clock is ahead of the time given; undefined where its answer has no date. */
  clockAheadMs: number | undefined
  /** Whether it lists the hub that asks. */
  isMutual: boolean
}

/** Throws what {@link call} throws where it gives no usable answer. */
export async function lookAtPeer(
  peer: Peer,
  asker: string,
  { now, timers }: { now: () => number; timers: Timers },
): Promise<PeerLook> {
  let dateMs = Number.NaN
  const ask = async <R extends RouteRow>(row: R): Promise<ReplyOf<R>> => {
    const asked = {
      baseUrl: peer.url,
      headers: { [headers.wire]: String(WIRE) },
      signal: timers.deadline(LOOK_MS),
    }
    const send = async ({ url, ...request }: { url: string }) => {
      const response = await fetch(url, { ...request, redirect: 'error' } as RequestInit)
      dateMs = Date.parse(response.headers.get('Date') ?? '')
      return response
    }
    return await call(row, send, asked as unknown as Call<R>)
  }
  const { kel } = await ask(routes.hubIdentity)
  const clockAheadMs = Number.isNaN(dateMs) ? undefined : dateMs - now()
  const { hubs } = await ask(routes.hubKels)
  return { log: logBeside(peer, kel), clockAheadMs, isMutual: hubs.some(({ aid }) => aid === asker) }
}

const VERDICTS = {
  unchanged: 'same',
  extends: 'longer',
  rollback: 'shorter',
  fork: 'contradicting',
} as const

function logBeside(peer: Peer, kel: string): PeerLook['log'] {
  const shown = verifyKel(decodeKel(fromBase64url(kel)))
  return shown.aid === peer.aid ? VERDICTS[compareKel(peer.log, shown.events).verdict] : 'other'
}
