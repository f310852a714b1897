/**
 * Changes that arrive together become one transaction, in which each fails alone. A change names what it locks: whoever
 * changes the same, in this process or another, waits for its end. All locks are taken before the first change, in one
 * order, so that no two groups wait for each other.
 */
import { soon } from '../../../protocol/timers.ts'
import { type GroupCommitted, StoreAway, type StoreBroken } from '../port.ts'
import type { Connections, Queries } from './connections.ts'
import { ConnectionCut } from './faults.ts'

/**
 * `subjects` are names of what is no row of a mailbox. `aids` may have no row yet; of `judgedBy` those that have one are
 * locked.
 */
export type Locks = {
  subjects?: readonly string[]
  aids?: readonly string[]
  judgedBy?: readonly string[]
  mailboxes?: readonly number[]
}

export const withSubjects = ({ subjects = [], ...locks }: Locks, ...more: readonly string[]): Locks => ({
  ...locks,
  subjects: [...more, ...subjects],
})

/** One kind of change: what it locks, and how it is made inside a transaction, or how those that follow each other are. */
export type Write<A, R> = { locks: (argument: A) => Locks } & (
  | { make: (db: Queries, argument: A) => Promise<R> }
  | { makeAll: (db: Queries, of: readonly A[]) => Promise<R[]> }
)
export type Writes = Readonly<Record<string, Write<never, unknown>>>
export type ArgumentOf<W> = W extends Write<infer A, infer _> ? A : never
export type ResultOf<W> = W extends Write<infer _, infer R> ? R : never

type Job = {
  kind: Write<unknown, unknown>
  argument: unknown
  locks: Locks
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
type Outcome = { value: unknown } | { error: unknown }

type GroupEvents = {
  onGroup?: ((group: GroupCommitted) => void) | undefined
  /** One change failed, alone or with its group. */
  onFault?: (error: unknown) => void
}

const GROUP_MAX = 512
/** Of names that it locks; the server has room for some thousand, which the groups of all processes share. */
const SUBJECTS_MAX = 256
/** Groups under way at once; what comes meanwhile goes with the next, so that groups are large. */
const GROUPS_MAX = 2
/** The server refused a group as a whole because of another one; made again, it goes through. */
const AGAIN: ReadonlySet<unknown> = new Set(['40001', '40P01'])
const ATTEMPTS_MAX = 5

/**
 * An agent that has no row yet is locked by its name. The server has room for some thousand such locks in all, so that
 * agents share some of them, however many are written at once.
 */
const NAMES_OF_AGENTS = 256
const LOCK_NAMES =
  'SELECT pg_advisory_xact_lock(h) FROM (SELECT hashtextextended(name, 0) AS h FROM unnest($1::text[]) AS name' +
  ` UNION SELECT hashtextextended(aid, 0) & ${NAMES_OF_AGENTS - 1} FROM unnest($2::text[]) AS aid ORDER BY h) AS sorted`
const LOCK_AGENTS =
  'SELECT number FROM agent WHERE number = ANY($1::bigint[]) OR aid = ANY($2::text[]) ORDER BY number FOR UPDATE'

export class GroupWriter<W extends Writes> {
  readonly #connections: Pick<Connections, 'transaction'>
  readonly #writes: W
  readonly #events: GroupEvents
  readonly #monotonic: () => number
  /** Groups under way, and what each has locked. */
  readonly #under = new Map<Promise<void>, ReadonlySet<string>>()
  #waiting: Job[] = []
  #isBeginning = false
  #broken: StoreBroken | undefined

  constructor(
    connections: Pick<Connections, 'transaction'>,
    writes: W,
    monotonic: () => number,
    events: GroupEvents = {},
  ) {
    this.#connections = connections
    this.#writes = writes
    this.#monotonic = monotonic
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
    while (this.#under.size > 0) await Promise.all(this.#under.keys())
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
    const held = new Set([...this.#under.values()].flatMap(names => [...names]))
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
    const startedMs = this.#monotonic()
    const outcomes = await this.#outcomes(jobs)
    this.#events.onGroup?.({ changes: jobs.length, ms: this.#monotonic() - startedMs })
    jobs.forEach((job, index) => {
      const outcome = outcomes[index] as Outcome
      if ('value' in outcome) job.resolve(outcome.value)
      else {
        this.#events.onFault?.(outcome.error)
        job.reject(outcome.error)
      }
    })
  }

  /** Where a change breaks, the group starts again with a savepoint around each, so that only that one fails. */
  async #outcomes(jobs: Job[]): Promise<Outcome[]> {
    try {
      return await this.#committed(jobs, plain)
    } catch (error) {
      if (!(error instanceof ChangeBroke)) return jobs.map(() => ({ error }))
    }
    try {
      return await this.#committed(jobs, alone)
    } catch (error) {
      return jobs.map(() => ({ error }))
    }
  }

  async #committed(jobs: Job[], make: typeof plain, tried = 1): Promise<Outcome[]> {
    try {
      return await this.#connections.transaction(async db => {
        // whatever is asked after a lock is answered once it is held, and fails where it was refused
        const [locked, made] = await Promise.allSettled([takeLocks(db, jobs), make(db, jobs)])
        if (locked.status === 'rejected') throw locked.reason
        if (made.status === 'rejected') throw made.reason
        return made.value
      })
    } catch (error) {
      if (!isToRepeat(error, tried)) throw error
    }
    return await this.#committed(jobs, make, tried + 1)
  }
}

/** Nothing of the group is kept, and it goes through if it is made again. */
function isToRepeat(error: unknown, tried: number): boolean {
  if (error instanceof ConnectionCut) return tried === 1
  const cause = error instanceof ChangeBroke ? error.cause : error
  return AGAIN.has(codeOf(cause)) && tried < ATTEMPTS_MAX
}

/** A change broke half-way, in a transaction that is rolled back as a whole. */
class ChangeBroke extends Error {}

const namesOf = ({ subjects = [], aids = [], mailboxes = [], judgedBy = [] }: Locks): string[] => [
  ...subjects.map(name => `subject ${name}`),
  ...[...aids, ...judgedBy].map(aid => `agent ${aid}`),
  ...mailboxes.map(number => `mailbox ${number}`),
]

/** How many of them make a group, if there are any: at least the first. */
function fitting(jobs: readonly Job[]): number {
  const subjects = new Set<string>()
  const over = jobs.findIndex(({ locks }, at) => {
    for (const name of locks.subjects ?? []) subjects.add(name)
    return at === GROUP_MAX || (at > 0 && subjects.size > SUBJECTS_MAX)
  })
  return over < 0 ? jobs.length : over
}

async function takeLocks(db: Queries, jobs: readonly Job[]): Promise<void> {
  const of = <T>(read: (locks: Locks) => readonly T[] | undefined): T[] => [
    ...new Set(jobs.flatMap(({ locks }) => read(locks) ?? [])),
  ]
  const [subjects, aids, mailboxes] = [of(l => l.subjects), of(l => l.aids), of(l => l.mailboxes)]
  const rows = [...aids, ...of(l => l.judgedBy)]
  await Promise.all([
    subjects.length + aids.length > 0 && db.run(LOCK_NAMES, subjects, aids),
    mailboxes.length + rows.length > 0 && db.run(LOCK_AGENTS, mailboxes, rows),
  ])
}

/** The results of jobs of one kind. */
const made = async (db: Queries, kind: Job['kind'], jobs: readonly Job[]): Promise<unknown[]> => {
  if ('makeAll' in kind)
    return await kind.makeAll(
      db,
      jobs.map(({ argument }) => argument),
    )
  const results: unknown[] = []
  for (const { argument } of jobs) results.push(await kind.make(db, argument))
  return results
}

async function plain(db: Queries, jobs: readonly Job[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  try {
    for (const [kind, of] of runsOf(jobs))
      for (const value of await made(db, kind, of)) outcomes.push({ value })
    return outcomes
  } catch (error) {
    if (error instanceof StoreAway) throw error
    throw new ChangeBroke('a change broke', { cause: error })
  }
}

/** Jobs of one kind that follow each other. */
function runsOf(jobs: readonly Job[]): [kind: Job['kind'], jobs: Job[]][] {
  const runs: [Job['kind'], Job[]][] = []
  for (const job of jobs) {
    const last = runs.at(-1)
    if (last?.[0] === job.kind) last[1].push(job)
    else runs.push([job.kind, [job]])
  }
  return runs
}

async function alone(db: Queries, jobs: readonly Job[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const job of jobs) outcomes.push(await behindSavepoint(db, job))
  return outcomes
}

async function behindSavepoint(db: Queries, job: Job): Promise<Outcome> {
  await db.run('SAVEPOINT item')
  try {
    const [value] = await made(db, job.kind, [job])
    await db.run('RELEASE item')
    return { value }
  } catch (error) {
    if (error instanceof StoreAway || AGAIN.has(codeOf(error))) throw error
    await db.run('ROLLBACK TO item')
    await db.run('RELEASE item')
    return { error }
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
