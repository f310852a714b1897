/** Accounts that come by work: counted for the day of their range, each proof used once. */
import type { SignUp } from '../port.ts'
import type { Queries } from './connections.ts'

export const signUpQueries = {
  count: 'SELECT count FROM sign_up WHERE day = $1 AND range = $2',
  used: 'SELECT 1 FROM used_proof WHERE proof = $1',
} as const

export async function signUpsOf(db: Queries, { day, range }: Pick<SignUp, 'day' | 'range'>): Promise<number> {
  return (await db.one<{ count: number }>(signUpQueries.count, day, range))?.count ?? 0
}

/** The row of a range is written first and holds off whoever counts the same one. */
export async function takeSignUp(
  db: Queries,
  { day, range, perDayMax, proof, proofUntilMs }: SignUp,
): Promise<'taken' | 'rangeFull' | 'proofUsed'> {
  await db.run(
    'INSERT INTO sign_up (day, range, count) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING',
    day,
    range,
  )
  const taken = await db.run(
    'UPDATE sign_up SET count = count + 1 WHERE day = $1 AND range = $2 AND count < $3',
    day,
    range,
    perDayMax,
  )
  if (taken === 0) return 'rangeFull'
  const used = await db.run(
    'INSERT INTO used_proof (proof, delete_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    proof,
    proofUntilMs,
  )
  if (used > 0) return 'taken'
  await db.run('UPDATE sign_up SET count = count - 1 WHERE day = $1 AND range = $2', day, range)
  return 'proofUsed'
}

/** Deletes what a day and a proof have left behind; how many rows of each. */
export async function sweepSignUps(
  db: Queries,
  day: number,
  nowMs: number,
  limit: number,
): Promise<number[]> {
  return [
    await db.run(
      'DELETE FROM sign_up WHERE (day, range) IN (SELECT day, range FROM sign_up WHERE day < $1 LIMIT $2)',
      day,
      limit,
    ),
    await db.run(
      'DELETE FROM used_proof WHERE proof IN (SELECT proof FROM used_proof WHERE delete_ms < $1 LIMIT $2)',
      nowMs,
      limit,
    ),
  ]
}
