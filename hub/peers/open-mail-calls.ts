/**
 * Calls to peers about open mail. Nothing in their order matters, so each goes at once; a peer is asked for so long, and
 * read so far, and no longer.
 */
import { type Call, call, ForeignAnswer, type ReadRefusal, Refused } from '../../protocol/contract/client.ts'
import type { ReplyOf, RouteRow } from '../../protocol/contract/route.ts'
import { fromBase64, toBase64 } from '../../protocol/encoding/bytes.ts'
import { connectionFault, tlsFault } from '../../protocol/encoding/errors.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, type KeyEvent, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import type { Timers } from '../../protocol/timers.ts'
import { fedLabels } from '../../protocol/wire1/failures.ts'
import { WIRE1, WIRE1_HEADER } from '../../protocol/wire1/headers.ts'
import { fedRoutes as routes } from '../../protocol/wire1/routes/fed.ts'
import { wire1Routes } from '../../protocol/wire1/routes.ts'
import type { Alert } from '../core/context.ts'
import type { FeedPage } from '../core/federation/calls.ts'
import type { Peer, Peers } from '../core/federation/peers.ts'
import type {
  OpenPeerCalls,
  SignedForward,
  ToldOpenCard,
  ToldOpenReview,
} from '../core/open-federation/calls.ts'
import { Refusal } from '../core/refusal.ts'
import { send } from './open-call.ts'

const CALL_MS_MAX = 10_000
const PAGE_MS_MAX = 30_000
/** A payload of a large size needs its time. */
const FORWARD_BYTES_PER_MS = 500
const NOT_FOUND = 404
/** A peer that is away is told of once a minute. */
const TOLD_EVERY_MS = 60_000
/** One that tells nothing of its agents chose that: no more often than so. */
const CHOSEN_EVERY_MS = 24 * 60 * 60_000
/** Of what a peer says, so much is shown. */
const DETAIL_CHARACTERS_MAX = 200

type Outside = { peers: Peers; now: () => number; timers: Timers; alert: Alert }

/** The key history that the hub at an address shows of itself, not verified. */
export async function openIdentity(baseUrl: string, signal: AbortSignal): Promise<KeyEvent[]> {
  const { kel } = await callWire1(wire1Routes.hubIdentity, { baseUrl, signal })
  return decodeKel(fromBase64(kel))
}

/** The same, verified. */
export const openLogAt = async (baseUrl: string, timers: Timers): Promise<VerifiedKel> =>
  verifyKel(await openIdentity(baseUrl, timers.deadline(PAGE_MS_MAX)))

type Asked = {
  baseUrl: string
  signal: AbortSignal
  body?: unknown
  streamed?: AsyncIterable<Uint8Array>
  query?: Record<string, string>
  params?: Record<string, string>
}

export async function callWire1<R extends RouteRow>(row: R, asked: Asked): Promise<ReplyOf<R>> {
  const headed = { ...asked, headers: { [WIRE1_HEADER]: String(WIRE1) }, readRefusal }
  return await call(row, send, headed as unknown as Call<R>)
}

const LABELS: ReadonlySet<unknown> = new Set(Object.values(fedLabels))
export const isPolicy = (error: unknown): boolean =>
  error instanceof Refused && error.code === fedLabels.forbidden

/** Between hubs a refusal has a label and a sentence; elsewhere a sentence. */
const readRefusal: ReadRefusal = (_, json) => {
  const { error, detail = '' } = (json ?? {}) as { error?: unknown; detail?: unknown }
  if (typeof error !== 'string' || typeof detail !== 'string') return undefined
  const said = plainLine(LABELS.has(error) ? detail : error, DETAIL_CHARACTERS_MAX)
  return { reason: LABELS.has(error) ? error : fedLabels.failed, error: said }
}

export class OpenMailCalls implements OpenPeerCalls {
  readonly #outside: Outside
  /** When the operator was last told of each peer and event, monotonic. */
  readonly #toldAt = new Map<string, number>()

  constructor(outside: Outside) {
    this.#outside = outside
  }

  async forward(
    peer: Peer,
    { forward, payload, signature }: SignedForward,
  ): Promise<'taken' | 'unknown' | 'refused'> {
    const body = {
      ...{ v: forward.v, origin_hub_aid: forward.origin, dest_aid: forward.dest, from_aid: forward.from },
      ...{ kind: forward.kind, interaction_id: forward.interaction },
      ...{ payload_cid: forward.payloadCid, hop: forward.hop, seen_hubs: forward.seenHubs },
      ...{ ts: forward.ts, key_state_seq: forward.kelSeq, sig: toBase64(signature) },
    }
    const signal = this.#outside.timers.deadline(CALL_MS_MAX + Math.ceil(payload.size / FORWARD_BYTES_PER_MS))
    try {
      await this.#ask(routes.fedForward, peer, { body, streamed: payload.read(), signal })
      return 'taken'
    } catch (error) {
      if (error instanceof NotThere) return error.outcome
      throw error
    }
  }

  async keyHistory(peer: Peer, aid: string): Promise<Uint8Array | undefined> {
    const signal = this.#outside.timers.deadline(CALL_MS_MAX)
    const asked = { baseUrl: peer.openUrl ?? peer.url, params: { aid }, signal }
    try {
      return fromBase64((await callWire1(wire1Routes.agentKel, asked)).kel)
    } catch (error) {
      if (isOfPeer(error)) return undefined
      throw error
    }
  }

  async cards(peer: Peer, after: number, ended: AbortSignal): Promise<FeedPage<ToldOpenCard>> {
    const { cards } = await this.#page(routes.fedCards, peer, after, ended)
    const told = cards.map(({ card, kel, home, fed_seq: fedSeq }) => ({
      ...{ card, kel: fromBase64(kel), home, fedSeq },
    }))
    return { told, more: told.length > 0 }
  }

  async reviews(peer: Peer, after: number, ended: AbortSignal): Promise<FeedPage<ToldOpenReview>> {
    const { reviews } = await this.#page(routes.fedReviews, peer, after, ended)
    const told = reviews.map(one => ({
      receipt: fromBase64(one.receipt),
      review: fromBase64(one.review),
      request: fromBase64(one.request_doc),
      deliverable: fromBase64(one.deliverable),
      providerKel: fromBase64(one.provider_kel),
      reviewerKel: fromBase64(one.reviewer_kel),
      fedSeq: one.fed_seq,
    }))
    return { told, more: told.length > 0 }
  }

  async #page<R extends RouteRow>(
    row: R,
    peer: Peer,
    after: number,
    ended: AbortSignal,
  ): Promise<ReplyOf<R>> {
    const signal = AbortSignal.any([ended, this.#outside.timers.deadline(PAGE_MS_MAX)])
    return await this.#ask(row, peer, { query: { cursor: String(after) }, signal }, ended)
  }

  /** `ended`: from then on nobody waits for the answer, and that there is none is no news. */
  async #ask<R extends RouteRow>(
    row: R,
    peer: Peer,
    asked: Omit<Asked, 'baseUrl'>,
    ended?: AbortSignal,
  ): Promise<ReplyOf<R>> {
    const { peers, now } = this.#outside
    const contact = peers.contact(peer.aid)
    contact.waiting += 1
    try {
      const reply = await callWire1(row, { ...asked, baseUrl: peer.openUrl ?? peer.url })
      Object.assign(contact, { answeredMs: now(), fault: undefined })
      return reply
    } catch (error) {
      if (statusOf(error) === NOT_FOUND && row === routes.fedForward) throw new NotThere('unknown')
      if (ended?.aborted === true) throw new Refusal('homeUnreachable')
      const told = this.#told(error, row, peer)
      throw isPolicy(error) && row === routes.fedForward ? new NotThere('refused') : told
    } finally {
      contact.waiting -= 1
    }
  }

  /** The operator learns what stands between the hubs; a sender only that the other one gave no answer. */
  #told(error: unknown, { path }: RouteRow, peer: Peer): unknown {
    if (!isOfPeer(error)) return error
    const { peers, now, timers, alert } = this.#outside
    const why = faultOf(error)
    peers.contact(peer.aid).fault = { ms: now(), why }
    const [nowMs, event] = [timers.monotonic(), eventOf(error, path)]
    const key = `${peer.aid} ${event}`
    const everyMs = event === TELLS_NOTHING ? CHOSEN_EVERY_MS : TOLD_EVERY_MS
    if (nowMs - (this.#toldAt.get(key) ?? Number.NEGATIVE_INFINITY) >= everyMs) {
      this.#toldAt.set(key, nowMs)
      alert(event, { peer: peer.openUrl, route: path, ...present({ status: statusOf(error) }), why })
    }
    return new Refusal('homeUnreachable')
  }
}

/** The recipient is none of that peer's agents, or none to whom it takes mail from here. */
class NotThere extends Error {
  readonly outcome: 'unknown' | 'refused'
  constructor(outcome: 'unknown' | 'refused') {
    super(outcome)
    this.outcome = outcome
  }
}

const TELLS_NOTHING = 'a peer tells this hub nothing of its agents'

const eventOf = (error: unknown, path: string): string => {
  if (!isPolicy(error)) return 'a peer gave no usable answer'
  return path === routes.fedForward.path ? 'a peer takes no mail of this hub' : TELLS_NOTHING
}

/** What stands between the hubs, for the operator. */
function faultOf(error: unknown): string {
  if (isPolicy(error)) return `it refuses by its policy: ${(error as Refused).message}`
  if (error instanceof Refused) return `it refuses (${error.code}): ${error.message}`
  return error instanceof ForeignAnswer ? error.message : (tlsFault(error) ?? connectionFault(error))
}

/** The peer, or the way to it, failed. */
const isOfPeer = (error: unknown): boolean =>
  error instanceof ForeignAnswer ||
  error instanceof Refused ||
  error instanceof TypeError ||
  error instanceof DOMException

const statusOf = (error: unknown): number | undefined =>
  error instanceof ForeignAnswer || error instanceof Refused ? error.status : undefined
