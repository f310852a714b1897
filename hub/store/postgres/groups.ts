/**
 * Changes that arrive together become one transaction, in which each fails alone. A change names what it locks: whoever
 * changes the same, in this process or another, waits for its end. All locks are taken before the first change, in one
 * order, so that no two groups wait for each other.
 */
import { sleep, soon, type Timers } from '../../../protocol/timers.ts'
import type { GroupCommitted, StoreBroken } from '../port.ts'
import type { Connections, Queries } from './connections.ts'
import { ConnectionCut } from './faults.ts'
import {
  alone,
  ChangeBroke,
  free,
  heldBySomebody,
  isLocked,
  isOfLock,
  isShort,
  isToRepeat,
  type Outcome,
  plain,
} from './group-changes.ts'
import { type Locks, namesOf, takeLocks } from './locks.ts'

/**
 * One kind of change: what it locks, and how it is made inside a transaction, or how those that follow each other are. Where
 * it finds no room on the disk, one that `makesRoom` is made again once the reserve is given up.
 */
export type Write<A, R> = { locks: (argument: A) => Locks; makesRoom?: true } & (
  | { make: (db: Queries, argument: A) => Promise<R> }
  | { makeAll: (db: Queries, of: readonly A[]) => Promise<R[]> }
)
export type Writes = Readonly<Record<string, Write<never, unknown>>>
export type ArgumentOf<W> = W extends Write<infer A, infer _> ? A : never
export type ResultOf<W> = W extends Write<infer _, infer R> ? R : never

export type Job = {
  kind: Write<unknown, unknown>
  argument: unknown
  locks: Locks
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

type GroupEvents = {
  onGroup?: ((group: GroupCommitted) => void) | undefined
  /** One change failed, alone or with its group. */
  onFault?: (error: unknown) => void
  /** Resolves once there may be room for what makes more. */
  giveUpReserve?: () => Promise<void>
}

const GROUP_MAX = 512
/** Of names that it locks; the server has room for some thousand, which the groups of all processes share. */
const SUBJECTS_MAX = 256
/** Groups under way at once; what comes meanwhile goes with the next, so that groups are large. */
const GROUPS_MAX = 2
const ATTEMPTS_MAX = 5
/** A group waits so long for what somebody else has locked; then those go on that lock something else. */
const PATIENCE_MS = 2000
/** What is locked is tried again so often, and waits no longer than this for a row that it did not name. */
const TRY_EVERY_MS = 250
const TRY_MS = 100
/** What stays locked for so long is refused. */
const LOCKED_MS = 10_000

type Late = { job: Job; untilMs: number }

export class GroupWriter<W extends Writes> {
  readonly #connections: Pick<Connections, 'transaction'>
  readonly #writes: W
  readonly #events: GroupEvents
  readonly #timers: Timers
  /** Groups under way, and what each has locked. */
  readonly #under = new Map<Promise<void>, ReadonlySet<string>>()
  #waiting: Job[] = []
  /** What somebody else had locked. */
  #late: Late[] = []
  #trying: Promise<void> | undefined
  #isBeginning = false
  #broken: StoreBroken | undefined

  constructor(
    connections: Pick<Connections, 'transaction'>,
    writes: W,
    timers: Timers,
    events: GroupEvents = {},
  ) {
    this.#connections = connections
    this.#writes = writes
    this.#timers = timers
    this.#events = events
  }

  write<N extends keyof W>(name: N, argument: ArgumentOf<W[N]>): Promise<ResultOf<W[N]>> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    const kind = this.#writes[name] as Write<unknown, unknown>
    return new Promise((resolve, reject) => {
      const locks = kind.locks(argument)
      this.#waiting.push({ kind, argument, locks, resolve: resolve as Job['resolve'], reject })
      if (this.#isBeginning) return
      this.#isBeginning = true
      soon(() => this.#begin())
    })
  }

  get isBroken(): boolean {
    return this.#broken !== undefined
  }

  /** Nothing more is written by this process; what waits is refused, what is under way ends as it does. */
  fail(error: StoreBroken): void {
    if (this.#broken !== undefined) return
    this.#broken = error
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  /** Resolves once nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    this.#begin()
    while (this.#under.size > 0 || this.#trying !== undefined)
      await Promise.all([...this.#under.keys(), this.#trying])
  }

  #begin(): void {
    this.#isBeginning = false
    while (this.#under.size < GROUPS_MAX) {
      const jobs = this.#takeFree()
      if (jobs.length === 0) return
      const group = this.#run(jobs).finally(() => {
        this.#under.delete(group)
        this.#begin()
      })
      this.#under.set(group, new Set(jobs.flatMap(({ locks }) => namesOf(locks))))
    }
  }

  /** What waits for no group under way: it would sit in the database meanwhile, and in a larger group afterwards. */
  #takeFree(): Job[] {
    if (this.#waiting.length === 0) return []
    const late = this.#late.flatMap(({ job }) => namesOf(job.locks))
    const held = new Set([...late, ...[...this.#under.values()].flatMap(names => [...names])])
    const free = this.#waiting.filter(({ locks }) => {
      const names = namesOf(locks)
      const isFree = !names.some(name => held.has(name))
      // whoever comes later goes after it
      if (!isFree) for (const name of names) held.add(name)
      return isFree
    })
    const jobs = free.slice(0, fitting(free))
    const taken = new Set(jobs)
    this.#waiting = this.#waiting.filter(job => !taken.has(job))
    return jobs
  }

  async #run(jobs: Job[]): Promise<void> {
    const startedMs = this.#timers.monotonic()
    const outcomes = await this.#withReserve(jobs)
    this.#events.onGroup?.({ changes: jobs.length, ms: this.#timers.monotonic() - startedMs })
    const untilMs = startedMs + LOCKED_MS
    this.#late.push(...this.#settle(jobs, outcomes).map(job => ({ job, untilMs })))
    if (this.#late.length > 0)
      this.#trying ??= this.#tryLate().finally(() => {
        this.#trying = undefined
        this.#begin()
      })
  }

  /** Tells each what became of it; those that somebody else has locked are left. */
  #settle(jobs: readonly Job[], outcomes: readonly Outcome[]): Job[] {
    const isLeft = (at: number) => isLocked(outcomes[at]) && this.#broken === undefined
    jobs.forEach((job, at) => {
      if (!isLeft(at)) this.#tell(job, outcomes[at] as Outcome)
    })
    return jobs.filter((_, at) => isLeft(at))
  }

  #tell(job: Job, outcome: Outcome): void {
    if ('value' in outcome) job.resolve(outcome.value)
    else {
      this.#events.onFault?.(outcome.error)
      job.reject(outcome.error)
    }
  }

  /** Until somebody else lets go, or it took too long; no connection waits meanwhile. */
  async #tryLate(): Promise<void> {
    while (this.#late.length > 0) {
      await sleep(this.#timers, TRY_EVERY_MS)
      const tried = [...this.#late]
      const jobs = tried.map(({ job }) => job)
      for (let at = 0; at < jobs.length; ) {
        const some = jobs.slice(at, at + fitting(jobs.slice(at)))
        const left = new Set(this.#settle(some, await this.#freeAlone(some)))
        this.#late = this.#late.filter(({ job }) => left.has(job) || !some.includes(job))
        at += some.length
      }
      const nowMs = this.#timers.monotonic()
      for (const { job, untilMs } of this.#late) if (untilMs <= nowMs) this.#tell(job, heldBySomebody())
      this.#late = this.#late.filter(({ untilMs }) => untilMs > nowMs)
      this.#begin()
    }
  }

  /** Whatever makes room and finds none is made once more. */
  async #withReserve(jobs: Job[]): Promise<Outcome[]> {
    const outcomes = await this.#outcomes(jobs)
    const short = jobs.filter(({ kind }, at) => kind.makesRoom === true && isShort(outcomes[at]))
    if (short.length === 0 || this.#events.giveUpReserve === undefined) return outcomes
    await this.#events.giveUpReserve()
    const again = await this.#outcomes(short)
    const anew = new Map(short.map((job, at) => [job, again[at] as Outcome]))
    return outcomes.map((outcome, at) => anew.get(jobs[at] as Job) ?? outcome)
  }

  /**
   * Where a change breaks, the group starts again with a savepoint around each, so that only that one fails. Where
   * somebody else has locked something, it starts again without what needs that.
   */
  async #outcomes(jobs: Job[]): Promise<Outcome[]> {
    try {
      return await this.#committed(jobs, plain)
    } catch (error) {
      if (isOfLock(error)) return await this.#freeAlone(jobs)
      if (!(error instanceof ChangeBroke)) return jobs.map(() => ({ error }))
    }
    try {
      return await this.#committed(jobs, alone)
    } catch (error) {
      return isOfLock(error) ? await this.#freeAlone(jobs) : jobs.map(() => ({ error }))
    }
  }

  async #freeAlone(jobs: readonly Job[]): Promise<Outcome[]> {
    try {
      return await this.#again(() => this.#connections.transaction(db => free(db, jobs), { lockMs: TRY_MS }))
    } catch (error) {
      return jobs.map(() => ({ error }))
    }
  }

  #committed(jobs: readonly Job[], make: typeof plain): Promise<Outcome[]> {
    const locks = jobs.map(job => job.locks)
    const work = async (db: Queries) => {
      // whatever is asked after a lock is answered once it is held, and fails where it was refused
      const [locked, made] = await Promise.allSettled([takeLocks(db, locks), make(db, jobs)])
      if (locked.status === 'rejected') throw locked.reason
      if (made.status === 'rejected') throw made.reason
      return made.value
    }
    return this.#again(() => this.#connections.transaction(work, { lockMs: PATIENCE_MS }))
  }

  async #again<T>(make: () => Promise<T>, tried = 1): Promise<T> {
    try {
      return await make()
    } catch (error) {
      if (!isAgain(error, tried)) throw error
    }
    return await this.#again(make, tried + 1)
  }
}

/** Nothing of the group is kept, and it goes through if it is made again. */
const isAgain = (error: unknown, tried: number): boolean =>
  error instanceof ConnectionCut ? tried === 1 : isToRepeat(error) && tried < ATTEMPTS_MAX

/** How many of them make a group, if there are any: at least the first. */
function fitting(jobs: readonly Job[]): number {
  const subjects = new Set<string>()
  const over = jobs.findIndex(({ locks }, at) => {
    for (const name of locks.subjects ?? []) subjects.add(name)
    return at === GROUP_MAX || (at > 0 && subjects.size > SUBJECTS_MAX)
  })
  return over < 0 ? jobs.length : over
}
