// project: programs

/** A payment over kill -9: wherever the hub dies, a repeat has it made, once, and the books agree (objects: payment). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { orderRunningHub } from '../operator/socket.ts'
import { booksAgree } from '../store/books.ts'
import { openReader } from '../store/sqlite/database.ts'
import { readSnapshot } from '../store/sqlite/ledger-reads.ts'
import { TestAgent } from '../testing/hub.ts'
import { ask, balanceOf, order, payment, redemption } from '../testing/payments.ts'
import { type HubChild, startHubChild } from '../testing/process.ts'

let directory: string
let alice: TestAgent
let bob: TestAgent
let hub: HubChild
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-hub-payments-'))
  hub = await startHubChild(directory)
  ;[alice, bob] = [await enrolled(), await enrolled()]
  const id = 'ab'.repeat(16)
  await orderRunningHub(directory, { command: 'grant', aid: alice.aid, amount: 900, reason: 'a test', id })
})
afterAll(async () => {
  hub.kill('SIGKILL')
  await hub.exited
  rmSync(directory, { recursive: true, force: true })
})

async function enrolled(): Promise<TestAgent> {
  const agent = new TestAgent(hub)
  await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  return agent
}

async function restart(fault?: string): Promise<void> {
  hub.kill('SIGKILL')
  await hub.exited
  hub = await startHubChild(directory, fault === undefined ? {} : { fault })
  for (const agent of [alice, bob]) agent.target = hub
}

/** Asks a hub that may die over it, and again one that does not. */
async function overDeath(fault: string, asking: () => Promise<unknown>): Promise<void> {
  await restart(fault)
  await asking().catch(() => undefined)
  await restart()
}

const amounts = async (): Promise<number[]> =>
  (await Promise.all([alice, bob].map(balanceOf))).map(({ balance }) => balance)

function expectBooksToAgree(): void {
  const reader = openReader(join(directory, 'hub.db'))
  expect(booksAgree(readSnapshot(reader))).toBe(true)
  reader.close()
}

const faults = ['hub.group.before-commit', 'hub.group.after-commit'].flatMap(name =>
  [1, 2, 3].map(time => `${name}:${time}`),
)

test.each([...faults, 'hub.x402Settle.before-answer:1'])(
  'a payment, with a death at %s',
  {
    timeout: 300_000,
  },
  async fault => {
    const [before = 0, beforeBob = 0] = await amounts()
    const paid = payment(alice, bob, 7)
    const settle = () => ask(hub, 'x402Settle', paid.request)
    await overDeath(fault, settle)
    const first = await settle()
    expect(first.json['success']).toBe(true)
    expect((await settle()).json).toEqual(first.json)
    expect(await amounts()).toEqual([before - 7, beforeBob + 7])
    expectBooksToAgree()
  },
)

test.each([...faults, 'hub.x402Redeem.before-answer:1'])(
  'a redemption, with a death at %s',
  {
    timeout: 300_000,
  },
  async fault => {
    const [before = 0] = await amounts()
    const taken = redemption(alice, 5, `reference ${fault}`)
    const redeem = () => ask(hub, 'x402Redeem', taken.request)
    await overDeath(fault, redeem)
    const first = await redeem()
    expect(first.json['success']).toBe(true)
    expect((await redeem()).json).toEqual(first.json)
    expect((await amounts())[0]).toBe(before - 5)
    expectBooksToAgree()
  },
)

test('a hold captured, with a death before the answer to either', async () => {
  const [before = 0, beforeBob = 0] = await amounts()
  const paid = payment(alice, bob, 9, { holdSeconds: 3600 })
  await overDeath('hub.x402Settle.before-answer:1', () => ask(hub, 'x402Settle', paid.request))
  expect((await ask(hub, 'x402Settle', paid.request)).json['success']).toBe(true)
  const capture = () => ask(hub, 'x402Capture', order(bob, paid, 4))
  await overDeath('hub.x402Capture.before-answer:1', capture)
  expect((await capture()).json['success']).toBe(true)
  expect(await amounts()).toEqual([before - 4, beforeBob + 4])
  expectBooksToAgree()
})
