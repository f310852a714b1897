/**
 * Signed calls to peer hubs. Times of one signer rise strictly at each hub, so the calls to a peer leave one after
 * another; the next one goes while the body of a large envelope is still on its way. A peer is asked for so long and no
 * longer; nobody else waits for it.
 */
import { createHash } from 'node:crypto'
import {
  type Call,
  call,
  callBody,
  callPath,
  ForeignAnswer,
  Refused,
} from '../../protocol/contract/client.ts'
import type { ReplyOf, RouteRow } from '../../protocol/contract/route.ts'
import { sign } from '../../protocol/crypto/engine.node.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { connectionFault, tlsFault } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, type KeyEvent } from '../../protocol/identity/kel.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import { END_EXTENSION } from '../../protocol/proof/quote.ts'
import type { Timers } from '../../protocol/timers.ts'
import { headers, WIRE } from '../../protocol/wire3/headers.ts'
import { fedRoutes as routes } from '../../protocol/wire3/routes/fed.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { requestPrefix, signedText } from '../../protocol/wire3/signed-request.ts'
import type { Alert } from '../core/context.ts'
import type { Sent } from '../core/destination.ts'
import type { BucketAsked } from '../core/directory.ts'
import type {
  CardPage,
  DueTold,
  Forwarded,
  OwedTold,
  PeerBucket,
  PeerCalls,
  PeerPaymentAnswer,
  PeerPaymentAsked,
  ReviewPage,
  StatusAnswer,
  StatusItem,
} from '../core/federation/calls.ts'
import type { Peer, Peers } from '../core/federation/peers.ts'
import type { HubIdentity } from '../core/identity.ts'
import { ASSET, SCHEME, X402_VERSION } from '../core/ledger/terms.ts'
import { CLOCK_WINDOW_MS } from '../core/limits.ts'
import { Refusal, type RefusalReason } from '../core/refusal.ts'
import { sendHeadFirst } from './head-first.ts'
import { openCall, send } from './open-call.ts'
import { openIdentity } from './open-mail-calls.ts'
import { PeerBusy, Turns } from './turns.ts'

const CALL_MS_MAX = 10_000
/** An envelope of a large size needs its time; a small one that waits so long holds up the others that go there. */
const FORWARD_MS_MAX = 120_000
const FORWARD_BYTES_PER_MS = 50
/** A body of this size takes longer than asking whether it is wanted. */
const HEAD_FIRST_BYTES = 64 * 1024
/** A node that meets it again waits longer each time by itself. */
const RETRY_MS = 10_000
/** A peer that is away is told of once a minute. */
const TOLD_EVERY_MS = 60_000
/** What a peer refuses for the sake of the envelope is told to its sender; anything else is between the hubs. */
const TOLD: Readonly<Record<string, RefusalReason>> = {
  access_invalid: 'accessInvalid',
  bad_envelope: 'envelopeMalformed',
  bad_exp: 'expiryTooFar',
  expired: 'expired',
  kid_stale: 'kidStale',
  mailbox_full: 'mailboxFull',
  not_peer: 'notPeer',
  redelivery_limited: 'queuedTooOften',
  strangers_busy: 'strangersBusy',
  too_large_for_stranger: 'tooLargeForStranger',
  unknown_destination: 'recipientUnknown',
  bad_status_query: 'statusQueryMalformed',
  bucket_too_narrow: 'bucketTooNarrow',
}

/** `body` gives the body anew each time; `digest`: of the whole request. */
type Given = {
  bytes: number
  query?: Record<string, string>
  digest: Uint8Array
  body: () => unknown
  headers: Record<string, string>
  signal: AbortSignal
  /** Other calls go on while the body of this one is on its way. */
  isHeadFirst?: boolean
  /** From here on nobody waits for the answer, and that there is none is no news. */
  ended?: AbortSignal
}
type Outside = { identity: HubIdentity; peers: Peers; now: () => number; timers: Timers; alert: Alert }

export class SignedPeerCalls implements PeerCalls {
  readonly #outside: Outside
  readonly #turns = new Map<string, Turns>()
  /** When the operator was last told of each peer, monotonic. */
  readonly #toldAt = new Map<string, number>()
  /** The newest time that each peer was shown. */
  readonly #lastTs = new Map<string, number>()

  constructor(outside: Outside) {
    this.#outside = outside
  }

  async log(peer: Peer): Promise<KeyEvent[]> {
    const signal = this.#outside.timers.deadline(CALL_MS_MAX)
    if (peer.isOpenOnly === true) return await openIdentity(peer.url, signal)
    const { reply } = await openCall(wire3Routes.hubIdentity, peer.url, signal)
    return decodeKel(fromBase64url(reply.kel))
  }

  async forward(peer: Peer, { accessBytes, size, pieces }: Forwarded): Promise<Sent> {
    const row = routes.fedForward
    const digest = digestOf(row)
    for await (const piece of pieces()) digest.update(piece)
    const reply = await this.#inTurn(row, peer, {
      bytes: size,
      digest: digest.digest(),
      body: pieces,
      headers: {
        [headers.access]: toBase64url(accessBytes),
        'Content-Type': row.raw,
        'Content-Length': String(size),
      },
      isHeadFirst: size > HEAD_FIRST_BYTES,
      signal: this.#outside.timers.deadline(forwardMs(size)),
    })
    return { status: reply.status, rid: fromBase64url(reply.rid), recipientQuiet: reply.recipient_quiet }
  }

  async bucket(peer: Peer, query: BucketAsked, signal: AbortSignal): Promise<PeerBucket> {
    const { prefix, bits, afterH } = query
    const body = { prefix, bits, ...present({ cursor: afterH && toBase64url(afterH) }) }
    const reply = await this.#json(routes.fedBucket, peer, body, signal)
    return {
      bitsMax: reply.max_bits,
      entries: reply.entries.map(({ h, box }) => ({ h: fromBase64url(h), box: fromBase64url(box) })),
      next: reply.next === undefined ? undefined : fromBase64url(reply.next),
    }
  }

  async status(peer: Peer, items: readonly StatusItem[]): Promise<StatusAnswer[]> {
    const body = {
      items: items.map(({ rid, handle }) => ({ rid: toBase64url(rid), handle: toBase64url(handle) })),
    }
    const signal = this.#outside.timers.deadline(CALL_MS_MAX)
    const reply = await this.#json(routes.fedStatus, peer, body, signal)
    if (reply.items.length !== items.length) throw unreachable()
    return reply.items.map(({ state, dack }) => ({
      state,
      dack: dack === undefined ? undefined : fromBase64url(dack),
    }))
  }

  async settle(peer: Peer, asked: PeerPaymentAsked): Promise<PeerPaymentAnswer> {
    const signal = this.#outside.timers.deadline(CALL_MS_MAX)
    const reply = await this.#json(routes.fedSettle, peer, paymentBody(asked), signal)
    if (!reply.success) return { refused: reply.errorReason }
    const end = reply.extensions[END_EXTENSION]
    return {
      receipt: fromBase64url(reply.extensions['svc.settlement.receipt']),
      end: end === undefined ? undefined : fromBase64url(end),
    }
  }

  async clear(peer: Peer, { due, restored, proof }: DueTold): Promise<OwedTold> {
    const ofRestore = restored && { restored: restored.atMs, lost_since: restored.lostSinceMs }
    const body = { due, ...ofRestore, ...(proof && { [proof.kind]: toBase64url(proof.bytes) }) }
    const signal = this.#outside.timers.deadline(CALL_MS_MAX)
    const reply = await this.#json(routes.fedClear, peer, body, signal)
    if (reply.peer !== this.#outside.identity.aid) throw unreachable()
    const { owed, restored: atMs, lost_since: lostSinceMs } = reply
    const isRestored = atMs !== undefined && lostSinceMs !== undefined
    return { owed, restored: isRestored ? { atMs, lostSinceMs } : undefined }
  }

  async epoch(peer: Peer): Promise<Uint8Array> {
    const signal = this.#outside.timers.deadline(CALL_MS_MAX)
    const { reply } = await openCall(wire3Routes.supply, peer.url, signal)
    return fromBase64url(reply.record)
  }

  async reviews(peer: Peer, after: number, ended: AbortSignal): Promise<ReviewPage> {
    const reply = await this.#page(routes.fedReviews, peer, after, ended)
    return { told: reply.reviews.map(readReview), more: reply.next !== undefined }
  }

  async cards(peer: Peer, after: number, ended: AbortSignal): Promise<CardPage> {
    const reply = await this.#page(routes.fedCards, peer, after, ended)
    return { told: reply.cards.map(readCard), more: reply.next !== undefined }
  }

  async #page<R extends RouteRow>(
    row: R,
    peer: Peer,
    after: number,
    ended: AbortSignal,
  ): Promise<ReplyOf<R>> {
    const query = { cursor: String(after) }
    return await this.#inTurn(row, peer, {
      bytes: 0,
      query,
      digest: digestOf(row, query).digest(),
      body: () => undefined,
      headers: {},
      signal: AbortSignal.any([ended, this.#outside.timers.deadline(CALL_MS_MAX)]),
      ended,
    })
  }

  async #json<R extends RouteRow>(
    row: R,
    peer: Peer,
    body: unknown,
    signal: AbortSignal,
  ): Promise<ReplyOf<R>> {
    const bytes = callBody(row, body)
    const digest = digestOf(row).update(bytes).digest()
    return await this.#inTurn(row, peer, {
      bytes: bytes.length,
      digest,
      body: () => body,
      headers: {},
      signal,
    })
  }

  async #inTurn<R extends RouteRow>(row: R, peer: Peer, given: Given): Promise<ReplyOf<R>> {
    const contact = this.#outside.peers.contact(peer.aid)
    contact.waiting += 1
    try {
      const reply = await this.#ask(row, peer, given)
      this.#answered(peer)
      return reply
    } catch (error) {
      throw given.ended?.aborted === true ? unreachable() : this.#told(error, row, peer)
    } finally {
      contact.waiting -= 1
    }
  }

  /** Once more above the floor of a peer that has just started. */
  async #ask<R extends RouteRow>(row: R, peer: Peer, given: Given): Promise<ReplyOf<R>> {
    try {
      return await this.#askOnce(row, peer, given)
    } catch (error) {
      const floor = error instanceof Refused ? error.members['floor'] : undefined
      if (typeof floor !== 'number' || floor > this.#outside.now() + CLOCK_WINDOW_MS) throw error
      this.#lastTs.set(peer.aid, Math.max(this.#lastTs.get(peer.aid) ?? 0, floor))
      return await this.#askOnce(row, peer, given)
    }
  }

  async #askOnce<R extends RouteRow>(row: R, peer: Peer, given: Given): Promise<ReplyOf<R>> {
    const { body, bytes, headers: named, signal, query, isHeadFirst } = given
    const turns = this.#turns.get(peer.aid) ?? new Turns()
    this.#turns.set(peer.aid, turns)
    return await turns.take(bytes, signal, async passOn => {
      const signed = { ...named, ...this.#sign(row, peer, given.digest), [headers.wire]: String(WIRE) }
      const asked = { body: body(), baseUrl: peer.url, headers: signed, signal, ...present({ query }) }
      const way = isHeadFirst === true ? sendHeadFirst(this.#outside.timers, passOn) : send
      return await call(row, way, asked as unknown as Call<R>)
    })
  }

  #sign(row: RouteRow, peer: Peer, digest: Uint8Array): Record<string, string> {
    const { identity, now } = this.#outside
    const [nowMs, lastMs] = [now(), this.#lastTs.get(peer.aid) ?? 0]
    // times of a clock that ran far ahead were taken by no peer
    const ts = lastMs > nowMs + CLOCK_WINDOW_MS ? nowMs : Math.max(nowMs, lastMs + 1)
    this.#lastTs.set(peer.aid, ts)
    const text = signedText({ action: row.action ?? '', aid: identity.aid, hub: peer.aid, ts }, digest)
    return {
      [headers.aid]: identity.aid,
      [headers.ts]: String(ts),
      [headers.seq]: String(identity.seq),
      [headers.signature]: toBase64url(sign(identity.seed, text)),
    }
  }

  /** A refusal counts as far as the route names its code. */
  #told(error: unknown, row: RouteRow, peer: Peer): unknown {
    if (error instanceof PeerBusy) {
      this.#alert(peer, { route: row.path, why: error.message })
      return unreachable()
    }
    if (!(error instanceof Refused))
      return isOfPeer(error) ? this.#unusable(peer, row, faultOf(error), statusOf(error)) : error
    const isNamed = row.codes.includes(error.code) && Object.hasOwn(TOLD, error.code)
    const reason = isNamed ? TOLD[error.code] : undefined
    if (reason === undefined) return this.#unusable(peer, row, error.message, error.status)
    if (reason === 'notPeer') this.#missed(peer, row, error.message, error.status)
    else this.#answered(peer)
    const maxBits = error.members['max_bits']
    return new Refusal(
      reason,
      present({
        retryAfterMs: error.retryAfterMs,
        maxBits: typeof maxBits === 'number' ? maxBits : undefined,
      }),
    )
  }

  /** The operator learns what stands between the hubs; a sender only that the other one gave no answer. */
  #unusable(peer: Peer, row: RouteRow, why: string, status: number | undefined): Refusal {
    this.#missed(peer, row, why, status)
    return unreachable()
  }

  #answered(peer: Peer): void {
    const contact = this.#outside.peers.contact(peer.aid)
    contact.answeredMs = this.#outside.now()
    contact.fault = undefined
  }

  #missed(peer: Peer, { path }: RouteRow, why: string, status: number | undefined): void {
    const { now, peers } = this.#outside
    peers.contact(peer.aid).fault = { ms: now(), why }
    this.#alert(peer, { route: path, ...present({ status }), why })
  }

  #alert(peer: Peer, facts: { route: string; status?: number; why: string }): void {
    const { alert, timers } = this.#outside
    const nowMs = timers.monotonic()
    if (nowMs - (this.#toldAt.get(peer.aid) ?? Number.NEGATIVE_INFINITY) < TOLD_EVERY_MS) return
    this.#toldAt.set(peer.aid, nowMs)
    alert('a peer gave no usable answer', { peer: peer.url, ...facts })
  }
}

const forwardMs = (size: number): number =>
  Math.min(FORWARD_MS_MAX, CALL_MS_MAX + Math.ceil(size / FORWARD_BYTES_PER_MS))

const unreachable = (): Refusal => new Refusal('homeUnreachable', { retryAfterMs: RETRY_MS })

const faultOf = (error: unknown): string => tlsFault(error) ?? connectionFault(error)

const statusOf = (error: unknown): number | undefined =>
  error instanceof ForeignAnswer ? error.status : undefined

/** No answer, one that is not of this interface, or one that came too late. */
const isOfPeer = (error: unknown): boolean =>
  error instanceof ForeignAnswer || error instanceof TypeError || error instanceof DOMException

const digestOf = (row: RouteRow, query: Record<string, string> = {}) =>
  createHash('sha256').update(requestPrefix(row.method, callPath(row, { query })))

const MS_IN_SECOND = 1000

/** As x402 asks a facilitator: the terms are those that the payer signed. */
function paymentBody({ authorization, holdSeconds, order, asksEnd }: PeerPaymentAsked) {
  const { body } = Authorization.decode(authorization)
  const terms = {
    scheme: SCHEME,
    network: body.network,
    asset: ASSET,
    amount: String(body.amount),
    payTo: body.payTo,
    maxTimeoutSeconds: CALL_MS_MAX / MS_IN_SECOND,
    ...present({ extra: holdSeconds === undefined ? undefined : { hold_s: holdSeconds } }),
  }
  const payload = {
    authorization: toBase64url(authorization),
    ...present({ order: order && toBase64url(order) }),
  }
  const extensions = asksEnd === true ? { [END_EXTENSION]: {} } : undefined
  const paymentPayload = { x402Version: X402_VERSION, accepted: terms, payload, ...present({ extensions }) }
  return { x402Version: X402_VERSION, paymentPayload, paymentRequirements: terms }
}

function readReview(one: ReplyOf<typeof routes.fedReviews>['reviews'][number]): ReviewPage['told'][number] {
  if ('withdrawn' in one) return { fedSeq: one.fed_seq, withdrawn: one.aid }
  return {
    fedSeq: one.fed_seq,
    receipt: fromBase64url(one.receipt),
    review: fromBase64url(one.review),
    attestation: fromBase64url(one.attestation),
    kel: fromBase64url(one.provider_kel),
  }
}

function readCard(one: ReplyOf<typeof routes.fedCards>['cards'][number]): CardPage['told'][number] {
  if ('withdrawn' in one) return { fedSeq: one.fed_seq, withdrawn: one.aid }
  return { fedSeq: one.fed_seq, kel: fromBase64url(one.kel), keys: fromBase64url(one.keys) }
}
