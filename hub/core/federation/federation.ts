/** What this hub asks of its peers beside handing mail on, and how it counts what they ask. */
import { compareKel, KelInvalid, type KelVerdict, type KeyEvent } from '../../../protocol/identity/kel.ts'
import type { HubContext } from '../context.ts'
import type { BucketAnswer, BucketAsked, Directory } from '../directory.ts'
import type { Mailboxes } from '../mailbox.ts'
import type { Buckets } from '../ports/rates.ts'
import { Refusal } from '../refusal.ts'
import type { PeerCalls, StatusAnswer, StatusItem } from './calls.ts'
import { mergePages } from './merged-bucket.ts'
import { PeerBuckets } from './peer-buckets.ts'
import type { Peer } from './peers.ts'

/** So much of an answer to a peer counts as much as a request. */
const BYTES_OF_A_REQUEST = 32 * 1024
/** A signature under a key that nobody knows makes this hub ask, and not more often. */
const ASKED_EVERY_MS = 10_000

export type FederationParts = { directory: Directory; mailboxes: Mailboxes; calls: PeerCalls }

export class Federation {
  readonly #context: HubContext
  readonly #parts: FederationParts
  readonly #rates: Buckets
  readonly #answers: Buckets
  /** What each peer was answered with and is not counted yet. */
  readonly #owed = new Map<string, number>()
  readonly #buckets: PeerBuckets
  /** When each peer was last asked for a newer key, monotonic. */
  readonly #asked = new Map<string, number>()

  constructor(context: HubContext, parts: FederationParts) {
    this.#context = context
    this.#parts = parts
    this.#buckets = new PeerBuckets(context, parts.calls)
    this.#rates = context.memory.rates.of('peers', context.limits.peerRate)
    this.#answers = context.memory.rates.of('answers to peers', context.limits.peerRate)
  }

  /** Counts a request of a peer, and refuses one too many. */
  async count({ aid }: Peer): Promise<void> {
    const waitMs = await this.#rates.take(aid, this.#context.now())
    if (waitMs > 0) throw new Refusal('sourceRate', { retryAfterMs: waitMs })
  }

  /**
   * What a peer asked for, read for it and counted by its size, apart from its requests: whoever reads page after page
   * still hands mail on. A page counts with the next one.
   */
  async answer<T>(peer: Peer, read: () => Promise<T>, bytesOf: (page: T) => number): Promise<T> {
    await this.count(peer)
    const { now, limits } = this.#context
    const owed = this.#owed.get(peer.aid) ?? 0
    const waitMs = owed === 0 ? 0 : await this.#answers.take(peer.aid, now(), Math.ceil(owed))
    if (waitMs > 0) throw new Refusal('sourceRate', { retryAfterMs: waitMs })
    this.#owed.delete(peer.aid)
    const page = await read()
    const sum = (this.#owed.get(peer.aid) ?? 0) + bytesOf(page) / BYTES_OF_A_REQUEST
    this.#owed.set(peer.aid, Math.min(sum, limits.peerRate.burst))
    return page
  }

  /** The peer under the key of this place in its history, which is asked for where it is not known yet. */
  async under(peer: Peer, seq: number): Promise<Peer> {
    const { timers, peers, alert } = this.#context
    const nowMs = timers.monotonic()
    const askedMs = this.#asked.get(peer.aid) ?? Number.NEGATIVE_INFINITY
    if (seq <= peer.log.seq || nowMs - askedMs < ASKED_EVERY_MS) return peer
    this.#asked.set(peer.aid, nowMs)
    const shown = await this.#parts.calls.log(peer).catch(() => undefined)
    if (shown === undefined) return peer
    const verdict = verdictOn(peer, shown)
    if (verdict === undefined || verdict.verdict === 'fork')
      alert('a peer shows a key history that contradicts the one held', { peer: peer.aid })
    if (verdict?.verdict === 'extends') peers.follow(peer.aid, verdict.log)
    return peers.find(peer.aid) ?? peer
  }

  /** States of envelopes at this hub, or at the peer that has them. */
  async statusAt(
    via: string | undefined,
    items: readonly StatusItem[],
    asker: string,
  ): Promise<StatusAnswer[]> {
    const { mailboxes, calls } = this.#parts
    if (via === undefined || via === this.#context.identity.aid) return await mailboxes.status(items, asker)
    const peer = this.#context.peers.find(via)
    if (peer === undefined || peer.isOpenOnly === true) throw new Refusal('statusQueryMalformed')
    await mailboxes.countQuery(items, asker)
    try {
      return await calls.status(peer, items)
    } catch (error) {
      throw error instanceof Refusal && error.code === 'notPeer' ? new Refusal('homeUnreachable') : error
    }
  }

  /** A bucket of this hub with those of its peers; `partial` where one of these did not answer in time. */
  async bucket(asked: BucketAsked, address: string): Promise<BucketAnswer & { partial: boolean }> {
    const own = await this.#parts.directory.bucket(asked, address)
    const peers = this.#context.peers.sealed
    if (peers.length === 0) return { ...own, partial: false }
    const pages = await Promise.all(peers.map(peer => this.#buckets.page(peer, asked)))
    const answered = pages.filter(page => page !== undefined)
    const { entries, more } = mergePages([
      { entries: own.entries, more: own.next !== undefined },
      ...answered,
    ])
    return {
      bitsMax: own.bitsMax,
      entries: [...entries],
      next: more ? entries.at(-1)?.h : undefined,
      partial: answered.length < pages.length,
    }
  }
}

/**
 * What is held already is not verified again: anybody may claim to be a peer that has a later key, and its history may be
 * long. Undefined where it is no history of this peer.
 */
function verdictOn({ log }: Peer, shown: readonly KeyEvent[]): KelVerdict | undefined {
  try {
    return compareKel(log, shown)
  } catch (error) {
    if (!(error instanceof KelInvalid)) throw error
    return error.code === 'wrong_aid' ? undefined : { verdict: 'unchanged' }
  }
}
