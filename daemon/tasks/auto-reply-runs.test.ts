/** The last runs of the auto-reply. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../store/open.ts'
import { AutoReplyRuns, RUNS_KEPT_MAX } from './auto-reply-runs.ts'

const open = (dir = mkdtempSync(join(tmpdir(), 'runs-'))) => openStore(dir)
const thread = { interactionId: 'A'.repeat(22) }

test('answers and failures are kept, the newest first, with what they cost on one clean line', () => {
  const runs = new AutoReplyRuns(open())
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
  const runs = new AutoReplyRuns(open())
  for (let i = 0; i <= RUNS_KEPT_MAX; i++) runs.note('answered', thread, i, { ms: i })
  expect([runs.list.length, runs.list[0]?.at, runs.list.at(-1)?.at]).toEqual([
    RUNS_KEPT_MAX,
    RUNS_KEPT_MAX,
    1,
  ])
})

test('those of before a restart are there after it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'runs-'))
  const store = open(dir)
  new AutoReplyRuns(store).note('answered', thread, 1000, { ms: 20, cost: '0.01 USD' })
  store.close()
  const runs = new AutoReplyRuns(open(dir))
  runs.note('answered', thread, 2000, { ms: 30 })
  expect(runs.list.map(({ at }) => at)).toEqual([2000, 1000])
})
