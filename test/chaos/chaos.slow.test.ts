/**
 * Two hubs and three nodes as processes, every kind of work, everything that may happen meanwhile, and a history that
 * must hold. CHAOS_ROUNDS makes it shorter or longer, SEED repeats one.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seed, sliced } from '../../protocol/testing/slow.ts'
import { Rounds } from './rounds.ts'

const ROUNDS = Number(process.env['CHAOS_ROUNDS'] ?? sliced(200, 3))
const SAID_EVERY = 10
/** A round takes a minute at the worst, and the end waits for what is still open. */
const ROUND_MS = 60_000
const END_MS = 30 * 60_000

const rounds = new Rounds(seed)

beforeAll(() => rounds.open())
afterAll(async () => {
  const keep = rounds.faults.length > 0
  if (keep) console.log(`kept: ${rounds.world.folder}`)
  await rounds.world.close(keep)
})

test(
  `${ROUNDS} rounds without a loss, a doubling, disorder, a stuck task, a dispute or a credit that nobody can explain (SEED=${seed})`,
  async () => {
    for (let n = 1; n <= ROUNDS; n++) {
      await rounds.round(n)
      if (n % SAID_EVERY === 0) console.log(rounds.summary(n))
    }
    await rounds.end()
    console.log(rounds.summary(ROUNDS))
    expect(rounds.faults).toEqual([])
  },
  ROUNDS * ROUND_MS + END_MS,
)
