/** The directory (hub API §4.2, §4.3): buckets that hide who is looked up, and listings of registered agents. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { bucketRange, directoryBitsMax, parseBucketPrefix } from '../../protocol/identity/directory.ts'
import type { ToldCard } from '../store/peer-card-port.ts'
import type { AgentRow, DirectoryEntry, ListQuery, StoreCounts } from '../store/port.ts'
import { addressBucket } from './address.ts'
import type { HubContext } from './context.ts'
import { Kept } from './kept.ts'
import { BUCKET_BYTES_MAX, BUCKET_ENTRIES_MAX, HOUR_MS, LIST_BYTES_MAX, LIST_ROWS_MAX } from './limits.ts'
import type { Buckets } from './ports/rates.ts'
import { Refusal } from './refusal.ts'

const COUNTS_LIFE_MS = 10_000
/** What a peer is told in one answer; the first of it may be larger. */
const TOLD_MAX = 200
const TOLD_BYTES_MAX = 2 * 1024 * 1024

/** Agents whose mail is open, here and told by peers, tasks that they completed, and what they are rated together. */
export type OpenCounts = { agents: number; told: number; tasks: number; reviews: number; ratings: number }

/** `prefix`: base64url of `bits` bits; entries behind `afterH`. */
export type BucketAsked = { prefix: string; bits: number; afterH: Uint8Array | undefined }
/** `next`: there are more behind this hash. */
export type BucketAnswer = { bitsMax: number; entries: DirectoryEntry[]; next: Uint8Array | undefined }

export class Directory {
  readonly #context: HubContext
  readonly #queries: Buckets
  readonly #counts: Kept<StoreCounts>
  readonly #openCounts: Kept<OpenCounts>

  constructor(context: HubContext) {
    this.#context = context
    this.#queries = context.memory.rates.of('buckets', context.limits.bucketRate)
    const { store, now } = context
    const thisHour = () => Math.floor(now() / HOUR_MS) * HOUR_MS
    this.#counts = new Kept(() => store.counts(thisHour() - HOUR_MS), { lifeMs: COUNTS_LIFE_MS, now })
    this.#openCounts = new Kept(() => this.#countOpen(), { lifeMs: COUNTS_LIFE_MS, now })
  }

  /** How many bits the narrowest bucket may have, so that each hides an agent among 32 at least. */
  async bitsMax(): Promise<number> {
    return directoryBitsMax((await this.counts()).agents)
  }

  /** Registered agents, and those that collected mail in the last hour; at most a few seconds old. */
  counts(): Promise<StoreCounts> {
    return this.#counts.get()
  }

  /** The same of open mail. */
  openCounts(): Promise<OpenCounts> {
    return this.#openCounts.get()
  }

  /** Entries of one bucket in the order of their hashes. */
  async bucket(asked: BucketAsked, address: string): Promise<BucketAnswer> {
    const waitMs = await this.#queries.take(addressBucket(address), this.#context.now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    return await this.#page(asked, false)
  }

  /** The same for a peer, without those whose entry stays at this hub. */
  async federated(asked: BucketAsked): Promise<BucketAnswer> {
    return await this.#page(asked, true)
  }

  /** Agents as peers are told of them, after what they were told before. */
  async told(after: number): Promise<{ told: ToldCard[]; more: boolean }> {
    return await this.#context.store.toldCards({ after, limit: TOLD_MAX, bytesMax: TOLD_BYTES_MAX })
  }

  /** How many agents the hubs of the operator's list told of. */
  async peerAgents(): Promise<number> {
    const { store, peers } = this.#context
    return await store.peerAgents(peers.all.map(({ aid }) => aid))
  }

  async #countOpen(): Promise<OpenCounts> {
    const { store, peers } = this.#context
    const [agents, told, tasks, sums] = await Promise.all([
      store.openAgents(),
      store.openPeerCount(peers.all.map(({ aid }) => aid)),
      store.openTasks(),
      store.openReviewTotals(),
    ])
    return { agents, told: told + (await this.peerAgents()), tasks, ...sums }
  }

  async #page(query: BucketAsked, onlyFederated: boolean): Promise<BucketAnswer> {
    const bitsMax = await this.bitsMax()
    if (query.bits > bitsMax) throw new Refusal('bucketTooNarrow', { maxBits: bitsMax })
    const { first, last } = bucketRange(prefixOf(query), query.bits)
    const { afterH } = query
    const most = { limit: BUCKET_ENTRIES_MAX, bytesMax: BUCKET_BYTES_MAX }
    const { entries, more } = await this.#context.store.bucket({
      first,
      last,
      afterH,
      onlyFederated,
      ...most,
    })
    return { bitsMax, entries, next: more ? entries.at(-1)?.h : undefined }
  }

  /** One page of registered agents in AID order, as they are stored. */
  async list(
    afterAid: string,
    limit: number,
    filter: Pick<ListQuery, 'text' | 'caps' | 'terms' | 'onlyPublic' | 'open'> = {},
  ): Promise<{ rows: AgentRow[]; next: string | undefined }> {
    return await this.#context.store.listAgents({
      afterAid,
      limit,
      bytesMax: LIST_BYTES_MAX,
      rowsMax: LIST_ROWS_MAX,
      ...filter,
    })
  }
}

function prefixOf(query: BucketAsked): Uint8Array {
  try {
    return parseBucketPrefix(query.prefix, query.bits)
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}
