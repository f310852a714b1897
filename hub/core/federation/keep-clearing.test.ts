/** When a hub clears with its peers. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import { openCore, type TestCore } from '../../testing/core.ts'
import { DAY_MS } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import type { Clearing, Outcome } from './clearing.ts'
import { KeptClearing } from './keep-clearing.ts'
import type { Peer } from './peers.ts'
import type { PublishedDebts } from './published-debts.ts'

const MINUTE_MS = 60_000
const LOOK_MS = 2000

let core: TestCore
let timers: TestTimers
let rounds: number[]
let checks: number
let concerns: boolean
let next: () => Outcome
let differs: (peer: string) => void
let kept: KeptClearing
beforeEach(async () => {
  core = await openCore(0)
  timers = new TestTimers(0)
  ;[rounds, checks, concerns, next] = [[], 0, true, () => 'agrees']
  core.context.peers.replace([{ aid: 'peer', url: 'http://peer' } as Peer])
  const clearing = {
    onDiffers(look: typeof differs) {
      differs = look
    },
    concerns: async () => concerns,
    async round() {
      rounds.push(timers.now())
      return next()
    },
  } as unknown as Clearing
  const check = async (): Promise<void> => {
    checks += 1
  }
  const published = { check } as unknown as PublishedDebts
  kept = new KeptClearing({ ...core.context, timers, now: timers.now }, { clearing, published })
})
afterEach(async () => {
  await kept.stop()
  await core.close()
})

async function pass(ms: number, step = LOOK_MS): Promise<void> {
  for (let left = ms; left > 0; left -= step) {
    await timers.pass(Math.min(left, step))
    for (let turn = 0; turn < 6; turn += 1) await nextTurn()
  }
}

test('a hub clears at its start and once a day, and looks at what the peer published', async () => {
  await pass(LOOK_MS)
  expect([rounds.length, checks]).toEqual([1, 1])
  await pass(DAY_MS - LOOK_MS, MINUTE_MS)
  expect(rounds).toHaveLength(1)
  await pass(2 * MINUTE_MS)
  expect([rounds.length, checks]).toEqual([2, 2])
})

test('a peer with which it has nothing to do is not asked', async () => {
  concerns = false
  await pass(MINUTE_MS)
  expect(rounds).toEqual([])
})

test('a peer that was away is asked again, ever less often, and once it answers', async () => {
  next = () => {
    throw new Refusal('homeUnreachable')
  }
  await pass(20 * MINUTE_MS)
  const pauses = rounds.slice(1).map((ms, at) => ms - (rounds[at] ?? 0))
  expect(pauses[0]).toBeLessThanOrEqual(12_000)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(10 * MINUTE_MS + LOOK_MS)
  expect(pauses.toSorted((a, b) => a - b)).toEqual(pauses)
  next = () => 'agrees'
  await pass(12 * MINUTE_MS)
  const before = rounds.length
  const contact = core.context.peers.contact('peer')
  contact.fault = { ms: timers.now(), why: 'away' }
  await pass(2 * LOOK_MS)
  expect(rounds).toHaveLength(before)
  Object.assign(contact, { fault: undefined, answeredMs: timers.now() })
  await pass(MINUTE_MS + LOOK_MS)
  expect(rounds).toHaveLength(before + 1)
})

test('a difference is looked at again a minute later, from either side, and not more often', async () => {
  next = () => 'differs'
  await pass(3 * MINUTE_MS)
  expect(rounds.length).toBeLessThanOrEqual(4)
  expect(rounds.length).toBeGreaterThanOrEqual(3)
  next = () => 'agrees'
  await pass(2 * MINUTE_MS)
  const before = rounds.length
  differs('peer')
  differs('peer')
  await pass(MINUTE_MS + LOOK_MS)
  expect(rounds).toHaveLength(before + 1)
})

test('nothing crosses any more: the difference is looked at once a day, and when the operator wants it', async () => {
  next = () => 'differs'
  const { store } = core.context
  await store.putClearing({ ...(await store.clearing('peer')), stoppedMs: 1 })
  await pass(5 * MINUTE_MS)
  expect(rounds).toHaveLength(1)
  differs('peer')
  await pass(2 * MINUTE_MS)
  expect(rounds).toHaveLength(1)
  kept.now('peer')
  await pass(LOOK_MS)
  expect(rounds).toHaveLength(2)
})
