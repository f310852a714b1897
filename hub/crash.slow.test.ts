import { afterEach, expect, test } from 'vitest'
import { newHistory, removeHistories } from './crash-history.ts'

const LANES = 2
const ROUNDS = 100
const KILL_WITHIN_MS = 400

afterEach(removeHistories)

test('keeps what it acknowledged over kill -9 at random moments', { timeout: 3_000_000 }, async () => {
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

const points = [
  'hub.group.before-commit',
  'hub.group.after-commit',
  'hub.blob.before-rename',
  'hub.blob.after-rename',
  ...['relaySend', 'relayPoll', 'relayAck'].flatMap(name => [
    `hub.${name}.before-answer`,
    `hub.${name}.after-answer`,
  ]),
]

test.each(points.flatMap(point => [1, 2, 5].map(count => `${point}:${count}`)))(
  'takes a repeat after dying at %s as if nothing had happened',
  { timeout: 120_000 },
  async fault => {
    const history = await newHistory()
    for (let round = 0; round < 3; round++) expect(await history.dieAt(fault)).toEqual([])
    await history.stop()
  },
)
