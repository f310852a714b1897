/** Every change by name, and how a group of them becomes one transaction in which each fails alone. */
import { faultPoint, flushPoint } from '../../faults.ts'
import { admit, putSetting, raiseFloor, setQuota } from './account-writes.ts'
import { keepForkProof, markSeen, putAgent } from './agent-writes.ts'
import { type Database, type FaultClass, faultClass } from './database.ts'
import { ack, enqueue, markFetched, revoke, sweep } from './mail-writes.ts'
import { addReview } from './review-store.ts'

export const writes = {
  enqueue,
  ack,
  markFetched,
  revoke,
  sweep,
  putAgent,
  markSeen,
  keepForkProof,
  addReview,
  raiseFloor,
  admit,
  setQuota,
  putSetting,
}

export type WriteName = keyof typeof writes
export type WriteArgument<N extends WriteName> = Parameters<(typeof writes)[N]>[1]
export type WriteResult<N extends WriteName> = ReturnType<(typeof writes)[N]>

export type Job = { name: WriteName; argument: unknown }
export type Outcome = { value: unknown } | { fault: FaultClass; message: string }

/** Runs a group in one transaction. A failed commit fails the whole group. */
export function runGroup(db: Database, jobs: Job[]): Outcome[] {
  try {
    db.exec('BEGIN IMMEDIATE')
    const outcomes = jobs.map(job => runAlone(db, job))
    faultPoint('hub.group.before-commit')
    flushPoint('hub.group.commit')
    db.exec('COMMIT')
    faultPoint('hub.group.after-commit')
    return outcomes
  } catch (error) {
    rollBack(db)
    const fault = faultClass(error)
    if (fault === 'full' && jobs.length > 1) return jobs.flatMap(job => runGroup(db, [job]))
    return jobs.map(() => failed(error))
  }
}

function runAlone(db: Database, job: Job): Outcome {
  db.run('SAVEPOINT item')
  try {
    const run = writes[job.name] as (db: Database, argument: unknown) => unknown
    const value = run(db, job.argument)
    db.run('RELEASE item')
    return { value }
  } catch (error) {
    const fault = faultClass(error)
    // Out of room or a failing disk may have ended the transaction already; the group decides.
    if (fault === 'full' || fault === 'broken') throw error
    db.run('ROLLBACK TO item')
    db.run('RELEASE item')
    return failed(error)
  }
}

function rollBack(db: Database): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // Nothing to roll back: the engine did it itself.
  }
}

function failed(error: unknown): Outcome {
  return { fault: faultClass(error), message: error instanceof Error ? error.message : String(error) }
}
