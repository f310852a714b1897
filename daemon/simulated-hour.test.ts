/** A node under the clock of a test: its loops ask no other, so that an hour of theirs passes at once. */

import { expect, test } from 'vitest'
import { TestTimers } from '../protocol/testing/timers.ts'
import { type HubClient, HubUnreachable } from './hubs/hub.ts'
import { openOutbox, openRelay } from './mail/open.ts'
import type { Relay } from './mail/relay.ts'
import { startMaintenance } from './maintenance.ts'
import type { Membership } from './membership/membership.ts'
import { type Clock, HOUR_MS, START_MS, TestWorld } from './testing/node.ts'

const MINUTE_MS = 60_000

class SimulatedWorld extends TestWorld {
  override readonly timers = new TestTimers(START_MS)
  override readonly clock: Clock = clockOf(this.timers)
}

const clockOf = (timers: TestTimers): Clock => ({
  get ms() {
    return timers.now()
  },
})

/** A standing at hubs of which nothing is ever out of date; notes when it is asked. */
function standing(asked: () => void, draining: () => HubClient[] = () => []): Membership {
  const keepInSync = async () => {
    asked()
    return true
  }
  return { keepInSync, pushToPrevious: async () => {}, draining } as unknown as Membership
}

test('an hour passes at once: rounds come every ten minutes, and a hub that is away is looked for until it is back', async () => {
  await using world = new SimulatedWorld()
  const { alice, bob } = await world.pair()
  const minute = () => Math.round((world.timers.now() - START_MS) / MINUTE_MS)
  const rounds: number[] = []
  let looks = 0
  alice.hub.answers({
    send() {
      looks += 1
      return Promise.reject(new HubUnreachable(alice.hub.url))
    },
  })
  const outbox = openOutbox(alice.ctx)
  const membership = standing(() => rounds.push(minute()))
  const began = performance.now()
  await using _rounds = startMaintenance(alice.ctx, membership, openRelay(alice.ctx))
  outbox.start()
  const { id } = alice.delegate(bob)
  await world.timers.pass(HOUR_MS)
  expect(rounds).toEqual([0, 10, 20, 30, 40, 50, 60])
  expect(looks).toBeGreaterThan(10)
  expect(alice.messages(id)[0]?.delivery).toBe('queued')
  alice.hub.answers({})
  await world.timers.pass(HOUR_MS)
  expect(alice.messages(id)[0]?.delivery).not.toBe('queued')
  expect(performance.now() - began).toBeLessThan(HOUR_MS / 100)
  await outbox.stop()
})

test('a previous hub that does not answer is asked for its mail again within a minute', async () => {
  await using world = new SimulatedWorld()
  const { alice } = await world.pair()
  const drained: number[] = []
  const relay = {
    async drain() {
      drained.push(Math.round((world.timers.now() - START_MS) / MINUTE_MS))
      if (drained.length < 3) throw new HubUnreachable(alice.hub.url)
    },
  } as unknown as Relay
  const membership = standing(
    () => undefined,
    () => [alice.hub],
  )
  await using _rounds = startMaintenance(alice.ctx, membership, relay)
  await world.timers.pass(20 * MINUTE_MS)
  expect(drained).toEqual([0, 1, 2, 12])
})
