/** The last runs of the auto-reply. */
import { expect, test } from 'vitest'
import { AutoReplyRuns, RUNS_KEPT_MAX } from './auto-reply-runs.ts'

const thread = { interactionId: 'A'.repeat(22) }

test('answers and failures are kept, the newest first, with what they cost on one clean line', () => {
  const runs = new AutoReplyRuns()
  runs.note('answered', thread, 1000, { ms: 20, cost: '0.01 USD\u001b[2J\nand more' })
  runs.note('limited', thread, 1500, {})
  runs.note('failed', thread, 2000, { ms: 30, error: 'no' })
  expect(runs.list).toEqual([
    { interaction_id: thread.interactionId, at: 2000, event: 'failed', ms: 30 },
    {
      interaction_id: thread.interactionId,
      at: 1000,
      event: 'answered',
      ms: 20,
      cost: '0.01 USD[2J and more',
    },
  ])
})

test('as many are kept as a picture may show, and no more', () => {
  const runs = new AutoReplyRuns()
  for (let i = 0; i <= RUNS_KEPT_MAX; i++) runs.note('answered', thread, i, { ms: i })
  expect([runs.list.length, runs.list[0]?.at, runs.list.at(-1)?.at]).toEqual([
    RUNS_KEPT_MAX,
    RUNS_KEPT_MAX,
    1,
  ])
})
