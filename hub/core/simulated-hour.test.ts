/** A hub under the clock of a test: its housekeeping asks no other, so that an hour of it passes at once. */
import { expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { openCore } from '../testing/core.ts'
import type { PeerCalls } from './federation/calls.ts'
import { composeHub } from './hub.ts'
import { DAY_MS, HOUR_MS } from './limits.ts'
import { epochsHere } from './supply/epochs.ts'

const WAIT_MS = 25_000
const stays = () => () => undefined

/** No peer is listed. */
const noCalls = {} as PeerCalls

test('an hour passes at once: the books have a turn every minute, and a held poll ends at its time', async () => {
  const core = await openCore(100 * DAY_MS)
  const timers = new TestTimers(100 * DAY_MS)
  let turns = 0
  const creditTotals = () => {
    turns += 1
    return core.context.store.creditTotals()
  }
  const store = { ...core.context.store, creditTotals }
  const context = { ...core.context, store, timers, now: timers.now }
  const hub = await composeHub(context, epochsHere(store), noCalls)
  try {
    const ended = hub.polls.wait(1, WAIT_MS, stays).then(({ end }) => end)
    await timers.pass(WAIT_MS - 1)
    expect(hub.polls.size).toBe(1)
    await timers.pass(1)
    expect([await ended, hub.polls.size]).toEqual(['timeout', 0])
    await timers.pass(HOUR_MS - WAIT_MS)
    await hub.books.turn()
    expect(turns).toBeGreaterThanOrEqual(60)
  } finally {
    await hub.stop()
    await core.close()
  }
})
