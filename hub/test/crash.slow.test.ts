/** Kills without number: at random moments under load, at every named point, and a hub that comes back from a backup. */
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { RELEASE } from '../../protocol/build-info.ts'
import { drawn, seed, sliced } from '../../protocol/testing/slow.ts'
import { restoreBackup } from '../operator/restore.ts'
import { crashFolder, newHistory, removeHistories } from '../testing/crash-history.ts'
import { runHub } from '../testing/process.ts'

const LANES = 2
const ROUNDS = Number(process.env['SVC_KILLS'] ?? sliced(200, 8)) / LANES
const KILL_WITHIN_MS = 400
const RESTORES = sliced(10, 1)
const PLACES_OF_A_SLICE = 2
const POINT_ROUNDS = sliced(3, 1)
const PASSED_MS = 3000
/** What a restore can't hold, because its store is of the past; everything else it must. */
const LOST_TIME = /acknowledged and is lost|confirmed and came back|state is unknown|is queued$|is unknown$/

afterEach(removeHistories)

test('many clients lose nothing that was acknowledged over kill -9 at random moments', {
  timeout: 3_000_000,
}, async () => {
  const figures = await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      const history = await newHistory()
      for (let round = 0; round < ROUNDS; round++) {
        const delayMs = ((seed % 1_000_000) * (lane + 3) * (round + 7)) % KILL_WITHIN_MS
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

const places = points.flatMap(point => [1, 2, 5].map(count => `${point}:${count}`))

test.each(drawn(places, PLACES_OF_A_SLICE))(
  'takes a repeat after dying at %s as if nothing had happened',
  { timeout: 600_000 },
  async fault => {
    const history = await newHistory()
    for (let round = 0; round < POINT_ROUNDS; round++) expect(await history.dieAt(fault)).toEqual([])
    await history.stop()
  },
)

test('backups taken under load restore to hubs that give no id and take no request twice', {
  timeout: 600_000,
}, async () => {
  const history = await newHistory()
  const place = crashFolder()
  for (let round = 0; round < RESTORES; round++) {
    const working = history.work()
    const saved = join(place, `saved-${round}`)
    const made = await runHub(['backup', saved, '--data-dir', history.directory])
    expect([made.code, made.stderr]).toEqual([0, ''])
    setTimeout(() => history.hub.kill('SIGKILL'), KILL_WITHIN_MS)
    await working
    const fresh = join(place, `fresh-${round}`)
    // As if time enough had passed for the clients' clocks, which run ahead of the hub's, to be reached.
    const passedMs = PASSED_MS + history.aheadMs
    const now = () => Date.now() + passedMs
    await restoreBackup({ backup: saved, directory: fresh, now, release: RELEASE })
    history.aheadMs += PASSED_MS
    // The same clients go on with the hub that came back.
    const faults = await history.recover(fresh)
    expect(faults.filter(fault => !LOST_TIME.test(fault))).toEqual([])
  }
  const { kills, operations } = history.figures
  process.stdout.write(`restores under load: ${JSON.stringify({ restores: kills, operations })}\n`)
  await history.stop()
})
