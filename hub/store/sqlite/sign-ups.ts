/** Accounts that come by work: counted for the day of their range, each proof used once. */
import type { SignUp } from '../port.ts'
import type { Database } from './database.ts'

export const signUpQueries = {
  count: 'SELECT count FROM sign_up WHERE day = ? AND range = ?',
  used: 'SELECT 1 FROM used_proof WHERE proof = ?',
} as const

export function signUpsOf(db: Database, { day, range }: Pick<SignUp, 'day' | 'range'>): number {
  return db.one<{ count: number }>(signUpQueries.count, day, range)?.count ?? 0
}

export function isProofUsed(db: Database, proof: Uint8Array): boolean {
  return db.one(signUpQueries.used, proof) !== undefined
}

/** Takes the place and uses up the proof of a new account; runs inside the transaction that stores the account. */
export function takeSignUp(db: Database, signUp: SignUp): 'taken' | 'rangeFull' | 'proofUsed' {
  if (signUpsOf(db, signUp) >= signUp.perDayMax) return 'rangeFull'
  if (isProofUsed(db, signUp.proof)) return 'proofUsed'
  db.run('INSERT INTO used_proof (proof, delete_ms) VALUES (?, ?)', signUp.proof, signUp.proofUntilMs)
  db.run(
    'INSERT INTO sign_up (day, range, count) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1',
    signUp.day,
    signUp.range,
  )
  return 'taken'
}

/** Deletes what a day and a proof have left behind; how many rows of each. */
export function sweepSignUps(db: Database, day: number, nowMs: number, limit: number): number[] {
  return [
    db.run(
      'DELETE FROM sign_up WHERE (day, range) IN (SELECT day, range FROM sign_up WHERE day < ? LIMIT ?)',
      day,
      limit,
    ),
    db.run(
      'DELETE FROM used_proof WHERE proof IN (SELECT proof FROM used_proof WHERE delete_ms < ? LIMIT ?)',
      nowMs,
      limit,
    ),
  ]
}
