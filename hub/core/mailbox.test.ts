/** Collecting, confirming, asking and revoking, as the core does them. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { openCore, refusedWith, type TestCore } from '../testing/core.ts'
import { random, TestAgent } from '../testing/hub.ts'
import { agentRow } from '../testing/store-contract.ts'
import { type Agent, Agents } from './agents.ts'
import { HeldPolls } from './held-polls.ts'
import { Mailboxes } from './mailbox.ts'

const NOW_MS = 1_800_000_000_000
const DACK_BYTES = 540
const never = () => () => undefined

let core: TestCore
let polls: HeldPolls
let agents: Agents
let mailboxes: Mailboxes
let test1: TestAgent
let agent: Agent
beforeEach(async () => {
  core = await openCore(NOW_MS)
  polls = new HeldPolls(10, core.context.memory.wakeUps, systemTimers)
  agents = new Agents(core.context)
  mailboxes = new Mailboxes(core.context, { agents, polls })
  const clock = { now: () => core.clock.ms, advance: () => undefined }
  test1 = new TestAgent({ url: '', aid: core.context.identity.aid, clock })
  await agents.update(test1.aid, held => ({ ...(held ?? stored(test1)), log: test1.log }))
  agent = (await agents.find(test1.aid)) as Agent
})
afterEach(() => core.close())

function stored({ aid, log }: TestAgent): Agent {
  const row = agentRow(aid, { kel: encodeKel(log.events) })
  return { row, log, keys: undefined, keysBefore: undefined }
}

async function deliver(): Promise<{ id: number; rid: Uint8Array }> {
  const { limits } = core.context
  const queued = await core.context.store.enqueue({
    mailbox: agent.row.number,
    digest: random(32),
    nowMs: core.clock.ms,
    deleteAtMs: core.clock.ms + 1000,
    size: 10,
    stranger: false,
    content: random(10),
    file: undefined,
    use: undefined,
    limits: {
      envelopesMax: limits.mailboxEnvelopesMax,
      bytesMax: limits.mailboxBytesMax,
      strangerEnvelopesMax: 1,
      strangerBytesMax: 1,
      timesPerDayMax: 1,
    },
  })
  if (queued.outcome !== 'queued') throw new Error(queued.outcome)
  return queued
}
const collect = (waitSeconds: number) =>
  mailboxes.collect(agent, { afterId: 0, limit: 10, waitSeconds, onGone: never })
const until = async (held: boolean) => {
  while (polls.holds(agent.row.number) !== held) await new Promise(resolve => setImmediate(resolve))
}

describe('a poll', () => {
  test('is answered at once where mail waits or nobody would wait', async () => {
    expect(await collect(0)).toEqual({ envelopes: [], more: false, waitedSeconds: undefined, otherPolls: [] })
    const { id } = await deliver()
    const { envelopes, waitedSeconds } = await collect(50)
    expect([envelopes.map(one => one.id), waitedSeconds, polls.size]).toEqual([[id], undefined, 0])
  })

  test('that waits is answered by the mail that comes', async () => {
    const held = collect(50)
    await until(true)
    const { id } = await deliver()
    polls.wake(agent.row.number)
    const { envelopes, waitedSeconds } = await held
    expect([envelopes.map(one => one.id), waitedSeconds]).toEqual([[id], 50])
  })

  test.each([
    [
      'a key state that has changed',
      (one: Agent): Agent => {
        test1.rotate()
        return { ...one, log: test1.log }
      },
    ],
    ['an agent that has left', (one: Agent): Agent => ({ ...one, row: { ...one.row, registered: false } })],
  ])('that waits gives nothing to %s', async (_, change) => {
    const held = collect(50)
    await until(true)
    const { store } = core.context
    await agents.update(test1.aid, one => change(one as Agent))
    const asked = vi.spyOn(store, 'poll')
    polls.wake(agent.row.number)
    expect(await held).toEqual({ envelopes: [], more: false, waitedSeconds: 50, otherPolls: [] })
    expect(asked).not.toHaveBeenCalled()
    // judged before the change, and held after it
    expect(await collect(50)).toEqual({ envelopes: [], more: false, waitedSeconds: 50, otherPolls: [] })
    expect([asked.mock.calls.length, polls.size]).toEqual([1, 0])
  })

  test('that was ended gives nothing, though mail has come', async () => {
    const held = collect(50)
    await until(true)
    await deliver()
    polls.end(agent.row.number)
    expect((await held).envelopes).toEqual([])
  })

  test('finds what came between its first look and its wait', async () => {
    const { store } = core.context
    const real = store.poll.bind(store)
    let looks = 0
    store.poll = async query => {
      const found = await real(query)
      looks += 1
      if (looks === 1) await deliver()
      return found
    }
    const { envelopes, waitedSeconds } = await collect(50)
    expect([envelopes.length, waitedSeconds, looks, polls.size]).toEqual([1, 50, 2, 0])
  })
})

describe('an acknowledgement', () => {
  const item = (id: number, more = {}) => ({ id, handle: undefined, dack: undefined, ...more })

  test('has 1 to 1000 items, with handle and confirmation together and of their sizes', async () => {
    const wrong = [
      [],
      Array.from({ length: 1001 }, (_, id) => item(id)),
      [item(1, { handle: random(16) })],
      [item(1, { dack: random(DACK_BYTES) })],
      [item(1, { handle: random(15), dack: random(DACK_BYTES) })],
      [item(1, { handle: random(16), dack: random(DACK_BYTES - 1) })],
    ]
    for (const items of wrong)
      expect(await refusedWith(() => mailboxes.ack(agent, items))).toBe('ackItemMalformed')
    const most = Array.from({ length: 1000 }, (_, id) => item(id))
    expect(await mailboxes.ack(agent, most)).toEqual({ acked: 0, stored: 0 })
  })

  test('gives its confirmation to who knows the handle, and marks it once', async () => {
    const { id, rid } = await deliver()
    const [handle, dack] = [random(16), random(DACK_BYTES)]
    const ask = async (of: Uint8Array) => (await mailboxes.status([{ rid, handle: of }], '192.0.2.1'))[0]
    expect(await ask(handle)).toEqual({ state: 'queued', dack: undefined })
    expect(await mailboxes.ack(agent, [item(id, { handle, dack })])).toEqual({ acked: 1, stored: 1 })
    expect(await ask(random(16))).toEqual({ state: 'done', dack: undefined })
    expect(await ask(handle)).toEqual({ state: 'done', dack })
    core.clock.ms += core.context.limits.deliveryLifeFetchedMs + 1
    while (await mailboxes.sweep(10));
    expect(await ask(handle)).toEqual({ state: 'unknown', dack: undefined })
  })
})

test('a question has 1 to 64 items of 16 bytes each', async () => {
  const one = { rid: random(16), handle: random(16) }
  const told = (items: (typeof one)[]) => refusedWith(() => mailboxes.status(items, '192.0.2.2'))
  for (const wrong of [
    [],
    Array(65).fill(one),
    [{ ...one, rid: random(15) }],
    [{ ...one, handle: random(17) }],
  ])
    expect(await told(wrong)).toBe('statusQueryMalformed')
  expect(await told(Array(64).fill(one))).toBeUndefined()
})

test.each([
  ['questions of one address', 'statusRate'],
  ['revocations of one agent', 'revokeRate'],
] as const)('%s are taken at their rate, and told how long to wait', async (_, rate) => {
  core.context.limits[rate] = { perSecond: 1, burst: 1 }
  const few = new Mailboxes(core.context, { agents, polls })
  const item = { rid: random(16), handle: random(16) }
  const once = () =>
    rate === 'statusRate' ? few.status([item], '192.0.2.3') : few.revoke(agent, [random(16)])
  expect(await refusedWith(once)).toBeUndefined()
  await expect(once()).rejects.toMatchObject({ code: 'rateLimited', facts: { retryAfterMs: 1000 } })
  core.clock.ms += 999
  await expect(once()).rejects.toMatchObject({ facts: { retryAfterMs: 1 } })
  core.clock.ms += 1
  expect(await refusedWith(once)).toBeUndefined()
})

test('a confirmation is kept so long after it was given first, however often it is asked for', async () => {
  const { id, rid } = await deliver()
  const [handle, dack] = [random(16), random(DACK_BYTES)]
  await mailboxes.ack(agent, [{ id, handle, dack }])
  const ask = async () => (await mailboxes.status([{ rid, handle }], '192.0.2.1'))[0]?.state
  expect(await ask()).toBe('done')
  core.clock.ms += core.context.limits.deliveryLifeFetchedMs - 1
  while (await mailboxes.sweep(10));
  expect(await ask()).toBe('done')
  core.clock.ms += 2
  while (await mailboxes.sweep(10));
  expect(await ask()).toBe('unknown')
})

test('an agent is seen by its poll, and again by the mail that ends its wait', async () => {
  const held = collect(1)
  await until(true)
  expect(agents.isQuiet(agent)).toBe(false)
  core.clock.ms += 2 * 3_600_000
  expect(agents.isQuiet(agent)).toBe(true)
  polls.wake(agent.row.number)
  await held
  expect(agents.isQuiet(agent)).toBe(false)
})

test('a mailbox takes so many revocations and is told how many it has', async () => {
  core.context.limits.revocationsMax = 3
  const revoke = (count: number) =>
    mailboxes.revoke(
      agent,
      Array.from({ length: count }, () => random(16)),
    )
  expect(await revoke(2)).toEqual({ revoked: 2, total: 2 })
  expect(await refusedWith(() => revoke(2))).toBe('revocationsFull')
  expect(await revoke(1)).toEqual({ revoked: 1, total: 3 })
})
