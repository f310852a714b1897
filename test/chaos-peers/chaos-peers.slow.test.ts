/**
 * Three hubs that list each other and nodes at each, as processes: tasks, mail and payments across, everything that may
 * happen meanwhile, and a history that must hold. CHAOS_MINUTES or CHAOS_ROUNDS makes it shorter or longer, SEED repeats
 * one.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seed, sliced } from '../../protocol/testing/slow.ts'
import { PeerRounds } from './rounds.ts'

const MINUTES = Number(process.env['CHAOS_MINUTES'] ?? sliced(30, 1))
const ROUNDS = Number(process.env['CHAOS_ROUNDS'] ?? sliced(Number.POSITIVE_INFINITY, 3))
const SAID_EVERY = 10
const END_MS = 30 * 60_000

const rounds = new PeerRounds(seed)

beforeAll(() => rounds.open())
afterAll(async () => {
  const keep = rounds.faults.length > 0
  if (keep) console.log(`kept: ${rounds.world.folder}`)
  await rounds.world.close(keep)
})

test(
  `${MINUTES} minutes between three hubs without mail or credits that are lost or doubled (SEED=${seed})`,
  async () => {
    const end = Date.now() + MINUTES * 60_000
    let n = 0
    while (n < ROUNDS && Date.now() < end) {
      n += 1
      await rounds.round(n)
      if (n % SAID_EVERY === 0) console.log(rounds.summary(n))
    }
    await rounds.end()
    console.log(rounds.summary(n))
    expect(rounds.faults).toEqual([])
  },
  MINUTES * 60_000 + END_MS,
)
