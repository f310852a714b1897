/**
 * Reads what peers tell, in the background: each peer where the last reading ended, one that is away ever less often. What
 * does not hold is dropped, and told to the operator once a day.
 */
import type { Timer } from '../../../protocol/timers.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import type { Duty } from '../ports/leader.ts'
import { Refusal } from '../refusal.ts'
import type { FeedPage } from './calls.ts'
import { Doubtful } from './doubtful.ts'
import type { Peer } from './peers.ts'

const MINUTE_MS = 60_000
const LOOK_EVERY_MS = 5000
const READ_EVERY_MS = 15_000
const AWAY_MS_MAX = 10 * MINUTE_MS
/** A peer that has more to tell goes on at the next look. */
const READING_MS_MAX = 2000
/** So much of one peer is kept. */
const OF_PEER_MAX = 100_000
/** As many pages as all of it needs follow each other at once, then one in {@link READ_EVERY_MS} until the day is over. */
const HURRIED_PAGES_MAX = 2000
/** So often a peer shows that it still has what it told last. */
const PROVED_EVERY_MS = 5 * MINUTE_MS
const ANEW_EVERY_MS = 60 * MINUTE_MS

/** What peers tell, as `Told` and, once it was judged, as `Kept`. */
export type FeedKind<Told extends { fedSeq: number }, Kept> = {
  what: 'reviews' | 'cards'
  duty: Duty
  /** Whether a peer is read. */
  asks(peer: Peer): boolean
  page(peer: Peer, after: number, ended: AbortSignal): Promise<FeedPage<Told>>
  /** Throws {@link Doubtful} where it does not hold, or a refusal where it cannot be judged now. */
  judge(told: Told, by: Peer): Promise<Kept>
  /** How far a peer was read. */
  readTo(hub: string): Promise<number>
  take(given: { hub: string; items: Kept[]; fedSeq: number; max: number }): Promise<{ left: number }>
  /** Forgets all of a peer, and how far it was read. */
  forget(hub: string): Promise<void>
  /** Where nothing tells that something is withdrawn, all of it is read again and again. */
  passes?: FeedPasses
}

export type FeedPasses = {
  /** How long one counts for a peer. */
  everyMs(hub: string): Promise<number>
  /** From the start again; what was told before stays meanwhile. */
  begin(hub: string): Promise<void>
  /** It was read to its end. */
  end(hub: string): Promise<void>
}

/** What is known of a peer beside the store; times are monotonic. */
type Feed = {
  dueMs: number
  awayMs: number
  dropped: number
  /** When the operator heard of what. */
  told: Map<string, number>
  /** Pages of the day that began then. */
  pages: number
  daySinceMs: number
  /** When it has to show again that it has what it told last, or is read anew. */
  proofMs: number
  /** It is being read from the start. */
  isInPass: boolean
}
type Judged<Kept> = { items: Kept[]; fedSeq: number; why: string | undefined; stopped: Refusal | undefined }

export class PeerFeed<Told extends { fedSeq: number }, Kept extends object> {
  readonly #context: HubContext
  readonly #kind: FeedKind<Told, Kept>
  readonly #max: number
  readonly #feeds = new Map<string, Feed>()
  readonly #ended = new AbortController()
  #timer: Timer | undefined
  #reading: Promise<unknown> | undefined

  constructor(context: HubContext, kind: FeedKind<Told, Kept>, max = OF_PEER_MAX) {
    this.#context = context
    this.#kind = kind
    this.#max = max
  }

  /** Looks again and again until it is stopped. */
  start(): void {
    this.#timer = this.#context.timers.every(LOOK_EVERY_MS, () => this.#look())
    this.#timer.unref()
  }

  /** Reads all peers at once, behind what is under way; resolves when that has ended. */
  async readNow(): Promise<void> {
    await this.#reading
    const atOnce = { dueMs: Number.NEGATIVE_INFINITY, proofMs: Number.NEGATIVE_INFINITY }
    for (const { aid } of this.#context.peers.all) Object.assign(this.#feedOf(aid), atOnce)
    if (!this.#ended.signal.aborted) this.#look()
    await this.#reading
  }

  async stop(): Promise<void> {
    this.#context.timers.clear(this.#timer)
    this.#ended.abort()
    await this.#reading
  }

  /** Reads those that are due; while that goes on, nothing more is begun. */
  #look(): void {
    const { peers, memory, timers } = this.#context
    const nowMs = timers.monotonic()
    const due = peers.all.filter(peer => this.#kind.asks(peer) && this.#feedOf(peer.aid).dueMs <= nowMs)
    if (this.#reading !== undefined || due.length === 0) return
    this.#reading = memory.leader
      .lead(this.#kind.duty, async () => {
        await Promise.all(due.map(peer => this.#turn(peer)))
      })
      .finally(() => {
        this.#reading = undefined
      })
  }

  #feedOf(aid: string): Feed {
    const feed = this.#feeds.get(aid) ?? newFeed()
    this.#feeds.set(aid, feed)
    return feed
  }

  async #turn(peer: Peer): Promise<void> {
    const { timers, random } = this.#context
    const feed = this.#feedOf(peer.aid)
    try {
      const hasMore = await this.#read(peer, feed)
      feed.awayMs = 0
      feed.dueMs = timers.monotonic() + (hasMore ? 0 : READ_EVERY_MS)
    } catch (error) {
      if (this.#ended.signal.aborted) return
      if (!(error instanceof Refusal))
        this.#tell(peer, feed, `${this.#kind.what} of a peer could not be kept`, String(error))
      feed.awayMs = Math.min(Math.max(2 * feed.awayMs, READ_EVERY_MS), AWAY_MS_MAX)
      const spread = 1 + (random(1)[0] ?? 0) / 1024
      feed.dueMs = timers.monotonic() + feed.awayMs * spread
    }
  }

  /** Page by page for a while; whether the peer has more to tell. A page that brings nothing is the last for now. */
  async #read(peer: Peer, feed: Feed): Promise<boolean> {
    const { timers, peers } = this.#context
    const startedMs = timers.monotonic()
    for (;;) {
      const { more, brings } = await this.#readPage(peer, feed)
      const goesOn = more && brings && this.#mayHurry(feed)
      if (!goesOn || this.#ended.signal.aborted || peers.find(peer.aid) === undefined) return false
      if (timers.monotonic() - startedMs >= READING_MS_MAX) return true
    }
  }

  /** What a peer tells and withdraws in turns has no end either. */
  #mayHurry(feed: Feed): boolean {
    const nowMs = this.#context.timers.monotonic()
    if (nowMs - feed.daySinceMs >= DAY_MS) Object.assign(feed, { pages: 0, daySinceMs: nowMs })
    feed.pages += 1
    return feed.pages < HURRIED_PAGES_MAX
  }

  /** `brings`: it has something to keep, beside what it withdraws. */
  async #readPage(peer: Peer, feed: Feed): Promise<{ more: boolean; brings: boolean }> {
    const { peers } = this.#context
    const { what } = this.#kind
    const after = await this.#kind.readTo(peer.aid)
    const page = await this.#kind.page(peer, after, this.#ended.signal)
    if (!isInOrder(page, after)) {
      this.#tell(peer, feed, `a peer tells its ${what} out of order`, 'its answer was not used')
      throw new Refusal('homeUnreachable')
    }
    if (page.told.length === 0) {
      const isAnew = await this.#goesAnew(peer, feed, after)
      return { more: isAnew, brings: isAnew }
    }
    const { items, fedSeq, why, stopped } = await this.#judge(peer, page.told, after)
    if (fedSeq > after && peers.find(peer.aid) !== undefined) {
      const { left } = await this.#kind.take({ hub: peer.aid, items, fedSeq, max: this.#max })
      if (left > 0) this.#tell(peer, feed, `a peer tells more ${what} than are kept of it`, `${this.#max}`)
    }
    if (why !== undefined) {
      feed.dropped += page.told.filter(({ fedSeq: seq }) => seq <= fedSeq).length - items.length
      this.#tell(peer, feed, `a peer tells ${what} that do not hold`, why, { dropped: feed.dropped })
    }
    if (stopped !== undefined) throw stopped
    return { more: page.more, brings: items.some(item => !('withdrawn' in item)) }
  }

  /** At the end of what a peer tells: whether it is read from the start once more. */
  async #goesAnew(peer: Peer, feed: Feed, after: number): Promise<boolean> {
    const { passes } = this.#kind
    if (passes !== undefined) return await this.#nextPass(peer, feed, passes)
    const isAnew = await this.#countsAnew(peer, feed, after)
    if (isAnew) await this.#startAnew(peer, feed)
    return isAnew
  }

  async #nextPass({ aid }: Peer, feed: Feed, passes: FeedPasses): Promise<boolean> {
    if (feed.isInPass) await passes.end(aid)
    feed.isInPass = false
    const nowMs = this.#context.timers.monotonic()
    if (nowMs < feed.proofMs || this.#context.peers.find(aid) === undefined) return false
    await passes.begin(aid)
    feed.proofMs = nowMs + (await passes.everyMs(aid))
    feed.isInPass = true
    return true
  }

  /**
   * A number is never given twice, and what was told last is there until something else is told. So a peer that has
   * neither the last number nor a later one lost its numbers, or once told one that it never had.
   */
  async #countsAnew(peer: Peer, feed: Feed, after: number): Promise<boolean> {
    const nowMs = this.#context.timers.monotonic()
    if (after === 0 || nowMs < feed.proofMs) return false
    const { told } = await this.#kind.page(peer, after - 1, this.#ended.signal)
    feed.proofMs = nowMs + PROVED_EVERY_MS
    return told.length === 0 && this.#context.peers.find(peer.aid) !== undefined
  }

  async #startAnew(peer: Peer, feed: Feed): Promise<void> {
    const { what } = this.#kind
    feed.proofMs += ANEW_EVERY_MS
    this.#tell(peer, feed, `a peer counts its ${what} anew`, 'all of them are read again')
    await this.#kind.forget(peer.aid)
  }

  /** Those that hold, up to the first that cannot be judged now. */
  async #judge({ aid }: Peer, told: readonly Told[], after: number): Promise<Judged<Kept>> {
    const judged: Judged<Kept> = { items: [], fedSeq: after, why: undefined, stopped: undefined }
    for (const one of told) {
      // a rotation that one of them showed counts for the next
      const peer = this.#context.peers.find(aid)
      if (peer === undefined) return judged
      try {
        judged.items.push(await this.#kind.judge(one, peer))
      } catch (error) {
        if (error instanceof Refusal) return { ...judged, stopped: error }
        if (!(error instanceof Doubtful)) throw error
        judged.why ??= error.message
      }
      judged.fedSeq = one.fedSeq
    }
    return judged
  }

  #tell(peer: Peer, feed: Feed, event: string, why: string, facts: Record<string, unknown> = {}): void {
    const nowMs = this.#context.timers.monotonic()
    if (nowMs - (feed.told.get(event) ?? Number.NEGATIVE_INFINITY) < DAY_MS) return
    feed.told.set(event, nowMs)
    this.#context.alert(event, { peer: peer.url, why, ...facts })
  }
}

const newFeed = (): Feed => ({
  dueMs: 0,
  awayMs: 0,
  dropped: 0,
  told: new Map(),
  pages: 0,
  daySinceMs: Number.NEGATIVE_INFINITY,
  proofMs: 0,
  isInPass: false,
})

/** Numbers rise from the last one that was read; a page that says that there is more has something. */
function isInOrder({ told, more }: FeedPage<{ fedSeq: number }>, after: number): boolean {
  const rises = told.every(({ fedSeq }, at) => fedSeq > (told[at - 1]?.fedSeq ?? after))
  return rises && (!more || told.length > 0)
}
