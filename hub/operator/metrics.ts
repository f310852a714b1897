/**
 * What the hub counts, in the text form that Prometheus reads. Labels are routes, statuses and codes; never an AID, an
 * address or a mailbox, because a row a correspondent would be a log of who talks to whom.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { PeerContact } from '../core/federation/peers.ts'
import type { SurplusOf } from '../http/surplus.ts'
import type { Totals } from '../store/ledger-port.ts'
import type { DatabaseFigures, Standby } from '../store/operator-port.ts'
import {
  type GroupCommitted,
  type MailTotals,
  StoreAway,
  type StoreCounts,
  type StoreHealth,
} from '../store/port.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
/** Sums over the whole store are read again after so long at the earliest. */
const SUMS_KEPT_MS = 10_000
const MS_PER_SECOND = 1000

/** Where the present state is read when somebody asks for it. */
export type Sources = {
  release: string
  commit: string
  now: () => number
  bytesInFlight: () => number
  heldPolls: () => number
  health: () => Promise<StoreHealth>
  /** What checks signatures. */
  engine: () => Promise<string>
  counts: () => Promise<StoreCounts>
  totals: () => Promise<MailTotals>
  credits: () => Promise<Totals>
  /** Whether the supply chain stands still. */
  isSupplyHalted: () => Promise<boolean>
  /** Bytes that the file system of the data directory has left. */
  clockBehindMs: () => number
  /** How each peer answered, in the order of the operator's list. */
  peers: () => PeerContact[]
  /** Whether no new payment crosses to each of them. */
  arePeersStopped: () => Promise<boolean[]>
  freeBytes: () => Promise<number>
  /** Where the rows lie in a database. */
  database?: (() => Promise<DatabaseFigures>) | undefined
}

type AddGauge = (name: string, help: string, read: () => number | Promise<number>) => void

export type Answered = { route: string; status: number; code: string | undefined; ms: number }

export class Metrics {
  readonly #registry = new Registry()
  readonly #requests: Counter<'route' | 'status'>
  readonly #refusals: Counter<'code'>
  readonly #surplus: Counter<'limit'>
  readonly #seconds: Histogram<'route'>
  readonly #groupSize: Histogram
  readonly #groupSeconds: Histogram

  constructor() {
    const registers = [this.#registry]
    this.#requests = new Counter({
      name: 'svc_hub_requests_total',
      help: 'Requests by route and status',
      labelNames: ['route', 'status'],
      registers,
    })
    this.#refusals = new Counter({
      name: 'svc_hub_refusals_total',
      help: 'Refusals by code',
      labelNames: ['code'],
      registers,
    })
    this.#surplus = new Counter({
      name: 'svc_hub_connections_closed_total',
      help: 'Connections closed unheard, by the limit that they were too many for',
      labelNames: ['limit'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'svc_hub_request_seconds',
      help: 'Time from request to answer; includes the wait of held polls',
      labelNames: ['route'],
      buckets: SECONDS,
      registers,
    })
    this.#groupSize = new Histogram({
      name: 'svc_hub_store_group_changes',
      help: 'Changes in one transaction of the store',
      buckets: GROUP_SIZES,
      registers,
    })
    this.#groupSeconds = new Histogram({
      name: 'svc_hub_store_commit_seconds',
      help: 'Time for one transaction to reach the disk',
      buckets: SECONDS,
      registers,
    })
    collectDefaultMetrics({ register: this.#registry })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  answered({ route, status, code, ms }: Answered): void {
    this.#requests.inc({ route, status })
    this.#seconds.observe({ route }, ms / MS_PER_SECOND)
    if (code !== undefined) this.#refusals.inc({ code })
  }

  closedUnheard(limit: SurplusOf): void {
    this.#surplus.inc({ limit })
  }

  committed({ changes, ms }: GroupCommitted): void {
    this.#groupSize.observe(changes)
    this.#groupSeconds.observe(ms / MS_PER_SECOND)
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  /** Adds the gauges that look at a hub, once it is there. */
  watch(sources: Sources): void {
    const gauge = this.#gauge
    const totals = kept(sources.totals, sources.now)
    const counts = kept(sources.counts, sources.now)
    const credits = kept(sources.credits, sources.now)
    gauge('bytes_in_flight', 'Bytes of request bodies in flight', sources.bytesInFlight)
    gauge('held_polls', 'Polls waiting for mail', sources.heldPolls)
    gauge('mailboxes', 'Mailboxes', async () => (await totals()).mailboxes)
    gauge('envelopes_waiting', 'Envelopes waiting in all mailboxes', async () => (await totals()).envelopes)
    gauge(
      'stranger_envelopes_waiting',
      'Envelopes of non-contacts waiting',
      async () => (await totals()).strangerEnvelopes,
    )
    gauge('bytes_waiting', 'Bytes of waiting envelopes', async () => (await totals()).bytes)
    gauge('revocations', 'Revocations kept', async () => (await totals()).revocations)
    gauge('agents', 'Registered agents', async () => (await counts()).agents)
    gauge(
      'agents_online',
      'Agents that collected mail in the last hour',
      async () => (await counts()).onlineAgents,
    )
    gauge('reviews', 'Reviews', async () => (await counts()).reviews)
    gauge('credits_owed', 'Credits that the hub owes its agents, held ones included', async () => {
      const { agents, holds } = await credits()
      return agents + holds
    })
    gauge('credits_held', 'Credits that are held for a payee', async () => (await credits()).holds)
    gauge('credits_issued', 'Credits issued since the beginning', async () => (await credits()).issued)
    gauge('credits_redeemed', 'Credits redeemed since the beginning', async () => (await credits()).retired)
    gauge('supply_halted', '1 while the supply chain stands still', async () =>
      (await sources.isSupplyHalted()) ? 1 : 0,
    )
    const isSo = (member: keyof StoreHealth) => async () => ((await sources.health())[member] ? 1 : 0)
    gauge('store_full', '1 while mail is refused because the disk or the store is full', isSo('full'))
    gauge('store_locked', '1 while writes fail because another program has locked the store', isSo('locked'))
    gauge('store_away', '1 while the database of the store is away', isSo('away'))
    gauge('store_broken', '1 once the store failed', isSo('broken'))
    gauge(
      'clock_behind_seconds',
      'How far the clock lies behind the latest time it showed',
      () => sources.clockBehindMs() / MS_PER_SECOND,
    )
    gauge('disk_free_bytes', 'Free bytes on the file system of the data directory', sources.freeBytes)
    this.#watchPeers(sources)
    if (sources.database !== undefined) this.#watchDatabase(kept(sources.database, sources.now))
    new Gauge({
      name: 'svc_hub_signature_engine',
      help: '1 under the engine that checks signatures',
      labelNames: ['engine'],
      registers: [this.#registry],
      async collect() {
        this.set({ engine: await sources.engine() }, 1)
      },
    })
    new Gauge({
      name: 'svc_hub_build_info',
      help: 'Release and commit',
      labelNames: ['release', 'commit'],
      registers: [this.#registry],
    }).set({ release: sources.release, commit: sources.commit }, 1)
  }

  /** What can't be read now is left out, and the rest is shown. */
  readonly #gauge: AddGauge = (name, help, read) => {
    new Gauge({
      name: `svc_hub_${name}`,
      help,
      registers: [this.#registry],
      async collect() {
        try {
          this.set(await read())
        } catch (error) {
          if (!(error instanceof StoreAway)) throw error
          this.remove()
        }
      },
    })
  }

  /** Figures of standbys are those of the one that is furthest behind. */
  #watchDatabase(database: () => Promise<DatabaseFigures>): void {
    const gauge = this.#gauge
    const furthest = async (of: (standby: Standby) => number | undefined): Promise<number> =>
      Math.max(0, ...(await database()).standbys.map(standby => of(standby) ?? 0))
    gauge('processes', 'Processes that serve this hub', async () => (await database()).processes)
    gauge(
      'clock_ahead_seconds',
      "How far this machine's clock is ahead of the database's; negative where it is behind",
      async () => (await database()).clockAheadMs / MS_PER_SECOND,
    )
    gauge('standbys', 'Standbys of the database', async () => (await database()).standbys.length)
    gauge(
      'synchronous_standbys',
      'Standbys that confirm what is written',
      async () => (await database()).standbys.filter(({ isSynchronous }) => isSynchronous).length,
    )
    gauge('standby_lag_bytes', 'What a standby has not replayed yet', () =>
      furthest(({ lagBytes }) => lagBytes),
    )
    gauge(
      'standby_lag_seconds',
      'How far a standby is behind',
      async () => (await furthest(({ lagMs }) => lagMs)) / MS_PER_SECOND,
    )
  }

  /** A peer is named by its place in the list, from 1. */
  #watchPeers({ peers, arePeersStopped, now }: Sources): void {
    new Gauge({
      name: 'svc_hub_peer_stopped',
      help: '1 while no payment crosses to a peer, because both say different things of what one owes',
      labelNames: ['peer'],
      registers: [this.#registry],
      async collect() {
        this.reset()
        for (const [at, isStopped] of (await arePeersStopped()).entries())
          this.set({ peer: String(at + 1) }, isStopped ? 1 : 0)
      },
    })
    const gauge = (name: string, help: string, of: (contact: PeerContact) => number | undefined): void => {
      new Gauge({
        name: `svc_hub_peer_${name}`,
        help,
        labelNames: ['peer'],
        registers: [this.#registry],
        collect() {
          this.reset()
          for (const [at, contact] of peers().entries()) {
            const value = of(contact)
            if (value !== undefined) this.set({ peer: String(at + 1) }, value)
          }
        },
      })
    }
    gauge('calls_waiting', 'Calls to a peer that wait or run', ({ waiting }) => waiting)
    gauge('faulty', '1 while the last call to a peer had no usable answer', ({ fault }) => (fault ? 1 : 0))
    gauge(
      'answered_seconds',
      'Time since a peer answered last; absent where it has not since the start',
      ({ answeredMs }) => (answeredMs === undefined ? undefined : (now() - answeredMs) / MS_PER_SECOND),
    )
  }
}

/** Several gauges of one scrape share one reading. */
function kept<T>(read: () => Promise<T>, now: () => number): () => Promise<T> {
  let value: Promise<T> | undefined
  let readMs = 0
  return () => {
    if (value === undefined || Math.abs(now() - readMs) >= SUMS_KEPT_MS) {
      readMs = now()
      value = read()
      value.catch(() => {
        value = undefined
      })
    }
    return value
  }
}
