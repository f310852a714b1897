/** Kills without number: at random moments under load, at every named point, and a hub that comes back from a backup. */
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { crashFolder, newHistory, removeHistories } from './crash-history.ts'
import { runHub } from './testing-process.ts'

const LANES = 2
const ROUNDS = Number(process.env['SVC_KILLS'] ?? 200) / LANES
const KILL_WITHIN_MS = 400
/** What a restore can't hold, because its store is of the past; everything else it must. */
const LOST_TIME = /acknowledged and is lost|confirmed and came back|state is unknown|is queued$|is unknown$/

afterEach(removeHistories)

test('many clients lose nothing that was acknowledged over kill -9 at random moments', {
  timeout: 3_000_000,
}, async () => {
  const seed = Date.now() % 1_000_000
  const figures = await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      const history = await newHistory()
      for (let round = 0; round < ROUNDS; round++) {
        const delayMs = (seed * (lane + 3) * (round + 7)) % KILL_WITHIN_MS
        expect(await history.dieAfter(delayMs), `seed ${seed}, lane ${lane}, round ${round}`).toEqual([])
      }
      await history.stop()
      return history.figures
    }),
  )
  process.stdout.write(`seed ${seed}: ${JSON.stringify(figures)}\n`)
  for (const { operations, kills, lost } of figures) {
    expect(operations).toBeGreaterThan(kills)
    expect(lost).toBe(0)
  }
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

test('a backup taken under load restores to a hub that gives no id and takes no request twice', async () => {
  const history = await newHistory()
  const place = crashFolder()
  const first = history.work()
  const saved = await runHub(['backup', join(place, 'saved'), '--data-dir', history.directory])
  expect([saved.code, saved.stderr]).toEqual([0, ''])
  setTimeout(() => history.hub.kill('SIGKILL'), KILL_WITHIN_MS)
  await first
  const fresh = join(place, 'fresh')
  expect((await runHub(['restore', join(place, 'saved'), '--data-dir', fresh])).code).toBe(0)
  const faults = await history.recover(fresh)
  expect(faults.filter(fault => !LOST_TIME.test(fault))).toEqual([])
  // The same clients go on with it, and from here on nothing may be missing.
  const again = history.work()
  setTimeout(() => history.hub.kill('SIGKILL'), KILL_WITHIN_MS)
  await again
  const later = await history.recover()
  expect(later.filter(fault => !LOST_TIME.test(fault))).toEqual([])
  await history.stop()
})
