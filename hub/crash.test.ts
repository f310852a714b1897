import { afterEach, expect, test } from 'vitest'
import { newHistory, removeHistories } from './crash-history.ts'

const LANES = 2
const ROUNDS = 10
const KILL_WITHIN_MS = 150

afterEach(removeHistories)

test('keeps what it acknowledged over kill -9 at random moments', { timeout: 120_000 }, async () => {
  const seed = Date.now() % 1_000_000
  await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      const history = await newHistory()
      for (let round = 0; round < ROUNDS; round++) {
        const delayMs = (seed * (lane + 3) * (round + 7)) % KILL_WITHIN_MS
        expect(await history.dieAfter(delayMs), `seed ${seed}, lane ${lane}, round ${round}`).toEqual([])
      }
      expect(history.answered).toBeGreaterThan(ROUNDS)
      await history.stop()
    }),
  )
})

test.each(['hub.group.before-commit:7', 'hub.blob.after-rename:2'])(
  'takes a repeat after dying at %s as if nothing had happened',
  { timeout: 60_000 },
  async fault => {
    const history = await newHistory()
    expect(await history.dieAt(fault)).toEqual([])
    await history.stop()
  },
)
