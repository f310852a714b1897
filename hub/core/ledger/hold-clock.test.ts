/** The clock of holds in each process of a hub, over what they store together. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openCore, type TestCore } from '../../testing/core.ts'
import { HOUR_MS } from '../limits.ts'
import { DOUBT_SETTING, HoldClock } from './hold-clock.ts'

const NOW_MS = Date.UTC(2026, 6, 1)

let core: TestCore
beforeEach(async () => {
  core = await openCore(NOW_MS)
})
afterEach(() => core.close())

const noted = () => core.context.store.setting(DOUBT_SETTING)

test('a clock that is accepted at one process is doubted at none', async () => {
  const clocks = [await HoldClock.open(core.context, NOW_MS), await HoldClock.open(core.context, NOW_MS)]
  core.clock.ms += 3 * HOUR_MS
  for (const clock of clocks) expect(clock.now()).toBe(NOW_MS)
  await expect.poll(noted).toBe(String(3 * HOUR_MS))
  await clocks[0]?.accept()
  await expect.poll(() => clocks[1]?.now()).toBe(NOW_MS + 3 * HOUR_MS)
})

test('a doubt that was not stored is kept', async () => {
  const { store } = core.context
  const full = { ...store, putSetting: () => Promise.reject(new Error('no room')) }
  const clock = await HoldClock.open({ ...core.context, store: full }, NOW_MS)
  core.clock.ms += 3 * HOUR_MS
  for (let n = 0; n < 3; n++) {
    expect(clock.now()).toBe(NOW_MS)
    await noted()
  }
})
