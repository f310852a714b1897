/** Every change by name, and how a group of them becomes one transaction in which each fails alone. */
import { faultPoint, flushPoint } from '../../faults.ts'
import { admit, block, putSetting, raiseFloor, refuseRange, setQuota } from './account-writes.ts'
import { keepForkProof, markSeen, putAgent } from './agent-writes.ts'
import { putBoardCard } from './board-store.ts'
import { postTogether, putClearing } from './clearing-store.ts'
import { type Database, type FaultClass, faultClass, rollBack } from './database.ts'
import { digestsOf, rereadDigests, undoDigests } from './digests.ts'
import { addInvite, removeInvite } from './invite-store.ts'
import { addProofPiece, appendEpoch, post, returnSupply } from './ledger-writes.ts'
import { ack, enqueue, markFetched, revoke, sweep } from './mail-writes.ts'
import { noteAct, putOfficial, removeOfficial } from './moderation-store.ts'
import { putOpenCard, removeOpenCard, retellOpenCard } from './open-card-store.ts'
import {
  ackOpen,
  listOpen,
  noteAway,
  noteLeft,
  notePolled,
  putOpenProfile,
  sendOpen,
  setGuestQuota,
  sweepForwarded,
  sweepOpen,
} from './open-mail-store.ts'
import { dropUntold, forgetOpenAgents, rereadOpenAgents, takeOpenAgents } from './open-peer-store.ts'
import { addOpenReview } from './open-review-store.ts'
import { forgetPeerCards, takePeerCards } from './peer-card-store.ts'
import {
  answerPeerPayment,
  askPeerPaymentAt,
  bookShown,
  dropPeerPayment,
  endPeerPayment,
  openPeerPayment,
  orderPeerPayment,
} from './peer-payment-store.ts'
import { forgetPeerReviews, takePeerReviews } from './peer-review-store.ts'
import { addReview } from './review-store.ts'
import { keepAhead, keepStatement, putWitness, removeWitness } from './witness-store.ts'

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
  addInvite,
  removeInvite,
  putBoardCard,
  putOfficial,
  removeOfficial,
  setGuestQuota,
  noteAct,
  putOpenProfile,
  listOpen,
  sendOpen,
  ackOpen,
  noteAway,
  notePolled,
  noteLeft,
  sweepOpen,
  sweepForwarded,
  putOpenCard,
  retellOpenCard,
  removeOpenCard,
  addOpenReview,
  takeOpenAgents,
  rereadOpenAgents,
  dropUntold,
  forgetOpenAgents,
  takePeerCards,
  forgetPeerCards,
  takePeerReviews,
  forgetPeerReviews,
  openPeerPayment,
  answerPeerPayment,
  orderPeerPayment,
  endPeerPayment,
  dropPeerPayment,
  askPeerPaymentAt,
  putClearing,
  bookShown,
  postTogether,
  raiseFloor,
  admit,
  block,
  refuseRange,
  setQuota,
  putSetting,
  post,
  addProofPiece,
  appendEpoch,
  returnSupply,
  putWitness,
  removeWitness,
  keepStatement,
  keepAhead,
}

export type WriteName = keyof typeof writes
export type WriteArgument<N extends WriteName> = Parameters<(typeof writes)[N]>[1]
export type WriteResult<N extends WriteName> = ReturnType<(typeof writes)[N]>

export type Job = { name: WriteName; argument: unknown }
export type WriteOutcome = { value: unknown } | { fault: FaultClass; message: string }

/**
 * Runs a group in one transaction. Where a change breaks, the group starts again with a savepoint around each, so that
 * only that one fails; savepoints that nobody needs would cost as much as some changes. A failed commit fails all.
 */
export function runGroup(db: Database, jobs: Job[], runOne: RunOne = runPlain): WriteOutcome[] {
  try {
    // also where the transaction cannot begin, nothing of the one before may be taken back
    digestsOf(db).begin()
    db.exec('BEGIN IMMEDIATE')
    const outcomes = jobs.map(job => runOne(db, job))
    faultPoint('hub.group.before-commit')
    flushPoint('hub.group.commit')
    db.exec('COMMIT')
    faultPoint('hub.group.after-commit')
    return outcomes
  } catch (error) {
    rollBack(db)
    undoDigests(db)
    const fault = faultClass(error)
    if (error instanceof ChangeBroke) return runGroup(db, jobs, runAlone)
    if (fault === 'full' && jobs.length > 1) return jobs.flatMap(job => runGroup(db, [job]))
    return jobs.map(() => failed(error))
  }
}

type RunOne = (db: Database, job: Job) => WriteOutcome

/** A change that broke half-way, in a transaction that is to be rolled back as a whole. */
class ChangeBroke extends Error {}

function run(db: Database, job: Job): unknown {
  return (writes[job.name] as (db: Database, argument: unknown) => unknown)(db, job.argument)
}

/** Out of room or a failing disk may have ended the transaction already: the group decides. */
function isOfGroup(error: unknown): boolean {
  const fault = faultClass(error)
  return fault === 'full' || fault === 'broken'
}

function runPlain(db: Database, job: Job): WriteOutcome {
  try {
    return { value: run(db, job) }
  } catch (error) {
    throw isOfGroup(error) ? error : new ChangeBroke('a change broke', { cause: error })
  }
}

function runAlone(db: Database, job: Job): WriteOutcome {
  db.run('SAVEPOINT item')
  try {
    const value = run(db, job)
    db.run('RELEASE item')
    return { value }
  } catch (error) {
    if (isOfGroup(error)) throw error
    db.run('ROLLBACK TO item')
    db.run('RELEASE item')
    rereadDigests(db)
    return failed(error)
  }
}

function failed(error: unknown): WriteOutcome {
  return { fault: faultClass(error), message: error instanceof Error ? error.message : String(error) }
}
