// project: programs

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openWriter } from '../store/sqlite/database.ts'
import { type CrashHistory, crashFolder, newHistory, removeHistories } from '../testing/crash-history.ts'

const ROUNDS = 3
const KILL_WITHIN_MS = 150

afterEach(removeHistories)

test('many clients lose nothing that was acknowledged over kill -9 at random moments', {
  timeout: 300_000,
}, async () => {
  const seed = Date.now() % 1_000_000
  const history = await newHistory()
  for (let round = 0; round < ROUNDS; round++) {
    const delayMs = (seed * (round + 7)) % KILL_WITHIN_MS
    expect(await history.dieAfter(delayMs), `seed ${seed}, round ${round}`).toEqual([])
  }
  const { operations, kills } = history.figures
  expect(kills).toBe(ROUNDS)
  expect(operations).toBeGreaterThan(ROUNDS * 10)
  await history.stop()
})

test.each(['hub.group.before-commit:7', 'hub.blob.after-rename:2'])(
  'takes a repeat after dying at %s as if nothing had happened',
  { timeout: 300_000 },
  async fault => {
    const history = await newHistory()
    expect(await history.dieAt(fault)).toEqual([])
    await history.stop()
  },
)

/** Kills the hub without any work under way. */
async function kill({ hub }: CrashHistory): Promise<void> {
  hub.kill('SIGKILL')
  await hub.exited
}

test('the checker finds a planted loss, and a hub that went back in time', async () => {
  const history = await newHistory()
  await history.fill(2)
  await kill(history)
  const past = join(crashFolder(), 'past')
  cpSync(history.directory, past, { recursive: true })
  const db = openWriter(join(history.directory, 'hub.db'))
  expect(db.run('DELETE FROM envelope WHERE rowid = (SELECT max(rowid) FROM envelope)')).toBe(1)
  db.close()
  const [lost = '', ...others] = await history.recover()
  expect([lost, others.length]).toEqual([expect.stringMatching(/acknowledged and is lost/), 1])

  await history.work(8)
  await kill(history)
  await history.recover(past)
  await history.work(8)
  await kill(history)
  expect((await history.recover()).join()).toMatch(/id \d+ was given twice/)
})
