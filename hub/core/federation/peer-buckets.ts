/**
 * What peers list in a bucket. Attacker: a peer that goes on for ever, so that no reader comes to what others list, or
 * that lets everybody wait.
 */
import { compare, toHex } from '../../../protocol/encoding/bytes.ts'
import { bucketPrefixText, bucketRange, parseBucketPrefix } from '../../../protocol/identity/directory.ts'
import type { HubContext } from '../context.ts'
import type { BucketAsked } from '../directory.ts'
import { BUCKET_BYTES_MAX, BUCKET_ENTRIES_MAX, DAY_MS } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import type { PeerBucket, PeerCalls } from './calls.ts'
import type { BucketPage } from './merged-bucket.ts'
import type { Peer } from './peers.ts'

/** Nobody waits longer for what a peer lists. */
const BUCKET_WAIT_MS = 2000
/**
 * While a question to a peer has waited for so long, no other one begins to wait; and one that let somebody wait so long for
 * nothing lets nobody wait again before it has answered.
 */
const LET_WAIT_MS = BUCKET_WAIT_MS / 2
const TRIED_EVERY_MS = 10_000
const ENTRIES_OF_PEER_MAX = 4096
const HASH_BYTES = 32
/** A node reads 64 pages of a bucket. */
const PAGES_MAX = 56
/** Pages that a bucket may have whoever is listed, and agents of one further page at least. */
const PAGES_MIN = 4
const AGENTS_OF_PAGE = 32

/** `asked`: when each question that waits was asked · `triedMs`: when it was last asked although it is silent; monotonic. */
type Standing = { asked: Set<{ ms: number }>; silentSince: number | undefined; triedMs: number }
type Span = { after: Uint8Array; first: Uint8Array; last: Uint8Array }

export class PeerBuckets {
  readonly #context: HubContext
  readonly #calls: Pick<PeerCalls, 'bucket'>
  /** How many bits each peer serves, as it said last. */
  readonly #bits = new Map<string, number>()
  readonly #standings = new Map<string, Standing>()
  /** When the operator last heard of a bucket that is too long, monotonic. */
  readonly #told = new Map<string, number>()

  constructor(context: HubContext, calls: Pick<PeerCalls, 'bucket'>) {
    this.#context = context
    this.#calls = calls
  }

  /** A peer that serves wider buckets is asked for one of its own, of which the part that was asked for is taken. */
  async page(peer: Peer, { prefix: text, bits, afterH }: BucketAsked): Promise<BucketPage | undefined> {
    const { first, last } = bucketRange(parseBucketPrefix(text, bits), bits)
    const served = Math.min(bits, this.#bits.get(peer.aid) ?? bits)
    const page = await this.#answer(peer, {
      prefix: bucketPrefixText(first, served),
      bits: served,
      afterH: afterH ?? (served < bits ? before(first) : undefined),
    })
    if (page === undefined) return undefined
    const entries = page.entries.filter(({ h }) => compare(h, first) >= 0 && compare(h, last) <= 0)
    const read = { entries, more: page.next !== undefined && entries.length === page.entries.length }
    const pages = this.#pagesLike(read, { after: afterH ?? first, first, last })
    return pages <= PAGES_MIN || (await this.#isPlausible(peer, bits, pages)) ? read : undefined
  }

  /** Of a peer that is silent only whether it still is: nobody waits for that. */
  async #answer(peer: Peer, query: BucketAsked): Promise<PeerBucket | undefined> {
    const nowMs = this.#context.timers.monotonic()
    const standing = this.#standingOf(peer.aid)
    const [oldest] = standing.asked
    if (oldest !== undefined && nowMs - oldest.ms >= LET_WAIT_MS) return undefined
    if (!this.#isSilent(peer, standing)) return await this.#ask(peer, query, standing)
    if (nowMs - standing.triedMs >= TRIED_EVERY_MS)
      this.#ask(peer, query, standing).catch((error: unknown) =>
        this.#context.alert('a peer could not be asked', { peer: peer.url, error: String(error) }),
      )
    return undefined
  }

  #standingOf(aid: string): Standing {
    const standing = this.#standings.get(aid) ?? {
      asked: new Set(),
      silentSince: undefined,
      triedMs: Number.NEGATIVE_INFINITY,
    }
    this.#standings.set(aid, standing)
    return standing
  }

  /** An answer to anything else ends it. */
  #isSilent({ aid }: Peer, { silentSince }: Standing): boolean {
    const { answeredMs } = this.#context.peers.contact(aid)
    return silentSince !== undefined && !(answeredMs !== undefined && answeredMs > silentSince)
  }

  async #ask(peer: Peer, query: BucketAsked, standing: Standing): Promise<PeerBucket | undefined> {
    const { timers, now } = this.#context
    const asked = { ms: timers.monotonic() }
    standing.asked.add(asked)
    standing.triedMs = asked.ms
    try {
      const page = await this.#calls.bucket(peer, query, timers.deadline(BUCKET_WAIT_MS))
      standing.silentSince = undefined
      if (!isInOrder(page, query.afterH)) return undefined
      this.#bits.set(peer.aid, page.bitsMax)
      return page
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      // the next question goes by what it serves
      if (error.code === 'bucketTooNarrow' && error.facts.maxBits !== undefined)
        this.#bits.set(peer.aid, error.facts.maxBits)
      const isSilent = timers.monotonic() - asked.ms >= LET_WAIT_MS
      standing.silentSince = isSilent ? now() : undefined
      return undefined
    } finally {
      standing.asked.delete(asked)
    }
  }

  /** What fills an answer alone, or with as much of every other peer, says how many pages the whole bucket has. */
  #pagesLike(page: BucketPage, span: Span): number {
    const full = fullness(page)
    const isJudged = page.more || full * this.#context.peers.sealed.length >= 1 / 2
    return isJudged ? (page.more ? Math.max(1, full) : full) / shareOf(page, span) : 0
  }

  /** Hashes of agents are spread evenly, and the cards of a peer say how many it has. */
  async #isPlausible({ aid, url }: Peer, bits: number, pages: number): Promise<boolean> {
    const { store, timers, alert } = this.#context
    const agents = await store.peerAgents([aid])
    if (pages <= Math.min(PAGES_MAX, PAGES_MIN + agents / 2 ** bits / AGENTS_OF_PAGE)) return true
    const nowMs = timers.monotonic()
    if (nowMs - (this.#told.get(aid) ?? Number.NEGATIVE_INFINITY) >= DAY_MS) {
      this.#told.set(aid, nowMs)
      alert('a peer lists more in a bucket than it told of', { peer: url })
    }
    return false
  }
}

/** How much of an answer of this hub these entries fill. */
function fullness({ entries }: BucketPage): number {
  const bytes = entries.reduce((sum, { box }) => sum + box.length, 0)
  return Math.max(entries.length / BUCKET_ENTRIES_MAX, bytes / BUCKET_BYTES_MAX)
}

/** By how much of the bucket these entries bring its reader on. */
function shareOf({ entries }: BucketPage, { after, first, last }: Span): number {
  const on = numberOf(entries.at(-1)?.h ?? after) - numberOf(after)
  return Number((on * PARTS) / (numberOf(last) - numberOf(first) + 1n)) / Number(PARTS)
}

const PARTS = 1_000_000n
const numberOf = (hash: Uint8Array): bigint => BigInt(`0x${toHex(hash)}`)

/** What a peer says that is no page at all counts as no answer. */
function isInOrder({ entries, next }: PeerBucket, afterH: Uint8Array | undefined): boolean {
  const hashes = entries.map(({ h }) => h)
  const rising = hashes.every((h, at) => {
    const previous = hashes[at - 1] ?? afterH
    return h.length === HASH_BYTES && (previous === undefined || compare(previous, h) < 0)
  })
  return rising && entries.length <= ENTRIES_OF_PEER_MAX && (next === undefined || entries.length > 0)
}

/** The hash just before one. */
function before(h: Uint8Array): Uint8Array | undefined {
  const previous = h.slice()
  for (let at = previous.length - 1; at >= 0; at--) {
    const byte = previous[at] as number
    previous[at] = byte === 0 ? 0xff : byte - 1
    if (byte !== 0) return previous
  }
  return undefined
}
