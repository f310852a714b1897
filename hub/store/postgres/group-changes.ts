/** Making the changes of a group inside its transaction: all together, or each so that it fails alone. */
import { StoreAway, StoreFull, StoreLocked } from '../port.ts'
import type { Queries } from './connections.ts'
import type { Job } from './groups.ts'
import { namesOf, takeFreeLocks } from './locks.ts'

export type Outcome = { value: unknown } | { error: unknown }

/** The server refused a group as a whole because of another one; made again, it goes through. */
const AGAIN: ReadonlySet<unknown> = new Set(['40001', '40P01'])

/** A change broke half-way, in a transaction that is rolled back as a whole. */
export class ChangeBroke extends Error {}

/** Whether nothing of the group is kept because of another one. */
export const isToRepeat = (error: unknown): boolean =>
  AGAIN.has(codeOf(error instanceof ChangeBroke ? error.cause : error))

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

export async function plain(db: Queries, jobs: readonly Job[]): Promise<Outcome[]> {
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

/** Makes those that find free what they lock; the others are `StoreLocked`, and whatever comes after them with a lock of theirs. */
export async function free(db: Queries, jobs: readonly Job[]): Promise<Outcome[]> {
  const held = await takeFreeLocks(
    db,
    jobs.map(({ locks }) => locks),
  )
  const outcomes: Outcome[] = []
  for (const job of jobs) {
    const names = namesOf(job.locks)
    const outcome = names.some(name => held.has(name)) ? heldBySomebody() : await behindSavepoint(db, job)
    if (isLocked(outcome)) for (const name of names) held.add(name)
    outcomes.push(outcome)
  }
  return outcomes
}

export const heldBySomebody = (): Outcome => ({
  error: new StoreLocked('something else holds a lock in the database'),
})

/** Whether a group failed because of what somebody else has locked. */
export const isOfLock = (error: unknown): boolean =>
  (error instanceof ChangeBroke ? error.cause : error) instanceof StoreLocked

/** Whether it found no room. */
export const isShort = (outcome: Outcome | undefined): boolean =>
  outcome !== undefined && 'error' in outcome && outcome.error instanceof StoreFull

/** Whether it may go through once somebody else lets go. */
export const isLocked = (outcome: Outcome | undefined): boolean =>
  outcome !== undefined && 'error' in outcome && outcome.error instanceof StoreLocked

export async function alone(db: Queries, jobs: readonly Job[]): Promise<Outcome[]> {
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
    if (error instanceof StoreAway || isToRepeat(error)) throw error
    await db.run('ROLLBACK TO item')
    await db.run('RELEASE item')
    return { error }
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
