/** A long key event log costs the hub no more than a short one, whoever shows it and whatever is wrong with it. */
import { performance } from 'node:perf_hooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeKel, encodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { callRoute, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'

const EVENTS = 300
const FORKS = 10

let hub: TestHub
let agent: TestAgent
/** The keys of the agent as they stood before the last event of its log. */
let before: Pick<TestAgent, 'log' | 'seed' | 'nextSeed'>
beforeAll(async () => {
  hub = await startTestHub()
  agent = await registeredAgent(hub, made => {
    Object.assign(made, new TestAgent(hub, { bornMs: hub.clock.now() - 4 * EVENTS }))
    for (let i = 1; i < EVENTS; i++) {
      before = { log: made.log, seed: made.seed, nextSeed: made.nextSeed }
      made.rotate({ ts: i === EVENTS - 1 ? hub.clock.now() : made.log.ts + 1 })
    }
  })
})
afterAll(() => hub.close())

/** What it takes to read and verify the whole log, on this machine as it is now. */
let whole = 0
beforeEach(() => {
  const start = performance.now()
  verifyKel(decodeKel(encodeKel(agent.log.events)))
  whole = performance.now() - start
})

/** Signature checks that the other thread did meanwhile. */
async function checksOf(work: () => Promise<void>): Promise<number> {
  const { verifier } = hub.running.hub.context
  const real = verifier.verify.bind(verifier)
  let checks = 0
  verifier.verify = (...given) => {
    checks += 1
    return real(...given)
  }
  await work()
  verifier.verify = real
  return checks
}

/** Time that the event loop was busy. */
async function busyMs(work: () => Promise<void>): Promise<number> {
  const start = performance.eventLoopUtilization()
  await work()
  return performance.eventLoopUtilization(start).active
}

test('a log that was verified when it was written is listed and used without a check', async () => {
  const newcomer = Object.assign(new TestAgent(hub), before)
  newcomer.rotate({ ts: agent.log.ts + 1 })
  const fresh = await startTestHub()
  const moved = Object.assign(new TestAgent(fresh), { log: newcomer.log, seed: newcomer.seed })
  moved.nextSeed = newcomer.nextSeed
  moved.rotate()
  await fresh.running.hub.context.store.admit(moved.aid, true)
  expect((await moved.register()).status).toBe(200)
  await fresh.restart()
  const listed = await busyMs(async () => void (await callRoute(fresh, 'agents', undefined)))
  const verified = await busyMs(async () => void (await moved.call('relayPoll', {})))
  expect([listed < whole / 2, verified < whole / 2]).toEqual([true, true])
  await fresh.close()
})

test('a fork costs one event, however long the log is, and junk on top of it no more', async () => {
  const pushes = Array.from({ length: FORKS }, (_, i) => {
    const twin = Object.assign(new TestAgent(hub), before)
    twin.rotate({ ts: agent.log.ts + 1 + i })
    return { aid: agent.aid, kel: twin.kel }
  })
  const busy = await busyMs(async () => {
    for (const push of pushes) expectRefusal(await callRoute(hub, 'pushKel', push), 'kel_fork')
  })
  expect(busy / FORKS).toBeLessThan(whole / 2)
})

test('what a log shares with the held one is not verified again: an extension costs what is new', async () => {
  agent.rotate()
  const checks = await checksOf(async () => {
    const reply = await callRoute(hub, 'pushKel', { aid: agent.aid, kel: agent.kel })
    expect(reply.json['seq']).toBe(agent.log.seq)
  })
  expect(checks).toBe(1)
})
