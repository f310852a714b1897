// project: programs

/**
 * A payment across two hubs over kill -9: wherever either of them dies, a repeat has it made, once at each, and the books
 * of both agree (credits: between hubs).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { orderRunningHub } from '../operator/socket.ts'
import { booksAgree } from '../store/books.ts'
import { openReader } from '../store/sqlite/database.ts'
import { readSnapshot } from '../store/sqlite/ledger-reads.ts'
import { callRoute, type Reply, TestAgent } from '../testing/hub.ts'
import { ask, balanceOf, order, payment } from '../testing/payments.ts'
import { type HubChild, startHubChild } from '../testing/process.ts'

type Place = { directory: string; hub: HubChild }
type Side = 'payer' | 'payee'

const places = {} as Record<Side, Place>
let alice: TestAgent
let bob: TestAgent
beforeAll(async () => {
  for (const side of ['payer', 'payee'] as const) {
    const directory = mkdtempSync(join(tmpdir(), `svc-hub-${side}-`))
    places[side] = { directory, hub: await startHubChild(directory, { env: {} }) }
  }
  alice = await enrolled('payer')
  bob = await enrolled('payee')
  const given = { amount: 900, reason: 'a test', id: 'ab'.repeat(16) }
  await orderRunningHub(places.payer.directory, { command: 'grant', aid: alice.aid, ...given })
  await meet()
  const limit = { aid: places.payer.hub.aid, credits: 900 }
  await orderRunningHub(places.payee.directory, { command: 'peers', limit })
})
afterAll(async () => {
  for (const { hub, directory } of Object.values(places)) {
    hub.kill('SIGKILL')
    await hub.exited
    rmSync(directory, { recursive: true, force: true })
  }
})

async function enrolled(side: Side): Promise<TestAgent> {
  const { directory, hub } = places[side]
  const agent = new TestAgent(hub)
  await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  return agent
}

/** Each lists the other at its present address. */
async function meet(): Promise<void> {
  const { payer, payee } = places
  for (const [{ directory }, { hub }] of [
    [payer, payee],
    [payee, payer],
  ] as const) {
    const kel = String((await callRoute(hub, 'hubIdentity', undefined)).json['kel'])
    await orderRunningHub(directory, { command: 'peers', add: { url: hub.url, kel } })
  }
}

async function restart(side: Side, fault?: string): Promise<void> {
  const place = places[side]
  place.hub.kill('SIGKILL')
  await place.hub.exited
  // a peer that is killed is told of in the log
  place.hub = await startHubChild(place.directory, { env: {}, ...(fault === undefined ? {} : { fault }) })
  const agent = side === 'payer' ? alice : bob
  agent.target = place.hub
  await meet().catch(() => undefined)
}

/** Asks hubs of which one may die over it, and again when it lives. */
async function overDeath(side: Side, fault: string, asking: () => Promise<Reply>): Promise<Reply> {
  await restart(side, fault)
  // one that was not answered before begins nothing for ten seconds
  if (side === 'payer') await restart('payee')
  await asking().catch(() => undefined)
  await restart(side)
  return await asking()
}

const amounts = async (): Promise<number[]> =>
  (await Promise.all([alice, bob].map(balanceOf))).map(({ balance }) => balance)

function expectBooksToAgree(): void {
  for (const { directory } of Object.values(places)) {
    const reader = openReader(join(directory, 'hub.db'))
    expect(booksAgree(readSnapshot(reader))).toBe(true)
    reader.close()
  }
}

const commits = (most: number): string[] =>
  ['hub.group.before-commit', 'hub.group.after-commit'].flatMap(name =>
    Array.from({ length: most }, (_, time) => `${name}:${time + 1}`),
  )
const deaths: [Side, string][] = [
  ...[...commits(2), 'hub.fedSettle.before-answer:1'].map((fault): [Side, string] => ['payer', fault]),
  ...[...commits(3), 'hub.x402Settle.before-answer:1'].map((fault): [Side, string] => ['payee', fault]),
]

test.each(deaths)('a payment, with a death of the hub of the %s at %s', async (side, fault) => {
  const [before = 0, beforeBob = 0] = await amounts()
  const paid = payment(alice, bob, 7)
  const settle = () => ask(places.payee.hub, 'x402Settle', paid.request)
  const first = await overDeath(side, fault, settle)
  expect(first.json).toMatchObject({ success: true })
  expect((await settle()).json).toEqual(first.json)
  expect(await amounts()).toEqual([before - 7, beforeBob + 7])
  expectBooksToAgree()
})

test.each([
  ['payer', 'hub.fedSettle.before-answer:1'],
  ['payer', 'hub.group.after-commit:1'],
  ['payee', 'hub.group.before-commit:1'],
  ['payee', 'hub.group.after-commit:2'],
  ['payee', 'hub.x402Capture.before-answer:1'],
] as const)('a hold captured, with a death of the hub of the %s at %s', async (side, fault) => {
  const [before = 0, beforeBob = 0] = await amounts()
  const paid = payment(alice, bob, 9, { holdSeconds: 3600 })
  expect((await ask(places.payee.hub, 'x402Settle', paid.request)).json).toMatchObject({ success: true })
  const capture = () => ask(places.payee.hub, 'x402Capture', order(bob, paid, 4))
  const taken = await overDeath(side, fault, capture)
  expect(taken.json).toMatchObject({ success: true })
  expect((await capture()).json).toEqual(taken.json)
  expect(await amounts()).toEqual([before - 4, beforeBob + 4])
  expectBooksToAgree()
})
