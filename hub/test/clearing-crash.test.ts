// project: programs

/**
 * Clearing over kill -9: wherever either hub dies, both end with the same figures, each thing booked once, and the books of
 * both agree (credits: between hubs).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { orderRunningHub } from '../operator/socket.ts'
import { booksAgree } from '../store/books.ts'
import { openReader, openWriter } from '../store/sqlite/database.ts'
import { readSnapshot } from '../store/sqlite/ledger-reads.ts'
import { callRoute, TestAgent } from '../testing/hub.ts'
import { ask, balanceOf, payment } from '../testing/payments.ts'
import { type HubChild, startHubChild } from '../testing/process.ts'

/** A look every two seconds, ten seconds after a call that got no answer, on a loaded machine. */
const CLEARED_MS = 90_000

/** One of the first that a hub makes after its start: of what it is shown, and of what it has seen. */
const COMMITS = [2, 3].map(time => `hub.group.before-commit:${time}`)

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
  await ordered('payer', { command: 'grant', aid: alice.aid, ...given })
  await meet()
})
afterAll(async () => {
  for (const { hub, directory } of Object.values(places)) {
    hub.kill('SIGKILL')
    await hub.exited
    rmSync(directory, { recursive: true, force: true })
  }
})

const ordered = async (side: Side, order: Parameters<typeof orderRunningHub>[1]) =>
  await orderRunningHub(places[side].directory, order)

async function enrolled(side: Side): Promise<TestAgent> {
  const agent = new TestAgent(places[side].hub)
  await ordered(side, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  return agent
}

/** Each lists the other at its present address, lets it owe something, and clears with it soon. */
async function meet(): Promise<void> {
  for (const [side, other] of [
    ['payer', 'payee'],
    ['payee', 'payer'],
  ] as const) {
    const { hub } = places[other]
    const kel = String((await callRoute(hub, 'hubIdentity', undefined)).json['kel'])
    await ordered(side, { command: 'peers', add: { url: hub.url, kel } })
    await ordered(side, { command: 'peers', limit: { aid: hub.aid, credits: 900 } })
  }
}

async function end(side: Side): Promise<void> {
  const { hub } = places[side]
  hub.kill('SIGKILL')
  await hub.exited
}

async function start(side: Side, fault?: string): Promise<void> {
  const place = places[side]
  place.hub = await startHubChild(place.directory, { env: {}, ...(fault === undefined ? {} : { fault }) })
  const agent = side === 'payer' ? alice : bob
  agent.target = place.hub
}

/** What each thinks that the hub of the payer owes. */
function figures(): number[] {
  return (['payer', 'payee'] as const).map(side => {
    const reader = openReader(join(places[side].directory, 'hub.db'))
    const { totals, recount } = readSnapshot(reader)
    expect(booksAgree({ totals, recount })).toBe(true)
    reader.close()
    return side === 'payer' ? totals.dueToPeers : totals.owedByPeers
  })
}

/** One of them dies at the point and is started again; then both agree. */
async function clearOver(side: Side, fault: string, expected: number): Promise<void> {
  const other = side === 'payer' ? 'payee' : 'payer'
  await end(side)
  // one that dies at a commit may die before it has started
  const isStarted = await start(side, fault).then(
    () => true,
    () => false,
  )
  const { hub } = places[side]
  await meet().catch(() => undefined)
  const died = hub.exited.then(() => true)
  const isDead = await Promise.race([died, setTimeout(CLEARED_MS, false)])
  expect(isDead || !isStarted).toBe(true)
  await start(side)
  await end(other)
  await start(other)
  await meet()
  await vi.waitFor(() => expect(figures()).toEqual([expected, expected]), {
    timeout: CLEARED_MS,
    interval: 200,
  })
}

const amounts = async (): Promise<number[]> =>
  (await Promise.all([alice, bob].map(balanceOf))).map(({ balance }) => balance)

/** Asks anew while the hub of the payee takes no payments of the other one: it may not have seen yet that they agree. */
async function askUntilDead(amount: number): Promise<void> {
  const { exited } = places.payer.hub
  const asked = async () => {
    const answer = await ask(places.payee.hub, 'x402Settle', payment(alice, bob, amount).request).catch(
      String,
    )
    const died = await Promise.race([exited.then(() => true), setTimeout(2_000, false)])
    if (!died) throw new Error(`the hub of the payer was not asked: ${JSON.stringify(answer)}`)
  }
  await vi.waitFor(asked, { timeout: CLEARED_MS })
}

/** The hub of the payer makes it and dies over the answer; what the other one keeps of it is gone as after a refusal. */
async function makeUnanswered(amount: number): Promise<void> {
  await end('payer')
  await start('payer', 'hub.fedSettle.before-answer:1')
  await end('payee')
  await start('payee')
  await meet()
  await askUntilDead(amount)
  await end('payee')
  const writer = openWriter(join(places.payee.directory, 'hub.db'))
  writer.run("DELETE FROM ledger_peer_payment WHERE state = 'asked'")
  writer.close()
  for (const side of ['payee', 'payer'] as const) await start(side)
}

test.each([
  ['payee', 'hub.fedClear.before-answer:1'],
  ['payee', 'hub.fedClear.before-answer:2'],
  ['payer', 'hub.clearing.answered:1'],
  ['payer', 'hub.clearing.answered:2'],
  ...COMMITS.map(fault => ['payee', fault] as const),
] as const)(
  'a payment that the hub of the payee does not know, with a death of that of the %s at %s',
  { timeout: 4 * CLEARED_MS },
  async (side, fault) => {
    const [before = 0, beforeBob = 0] = await amounts()
    const [due = 0] = figures()
    await makeUnanswered(7)
    await clearOver(side, fault, due + 7)
    expect(await amounts()).toEqual([before - 7, beforeBob + 7])
  },
)

test.each([
  ['payer', 'hub.fedClear.before-answer:1'],
  ['payer', 'hub.fedClear.before-answer:2'],
  ['payee', 'hub.clearing.answered:1'],
  ['payee', 'hub.clearing.answered:2'],
  ...COMMITS.map(fault => ['payer', fault] as const),
] as const)(
  'a debt that was paid, with a death of the hub of the %s at %s',
  { timeout: 4 * CLEARED_MS },
  async (side, fault) => {
    await meet()
    const [due = 0] = figures()
    const reference = `${side} ${fault}`
    const paid = { aid: places.payer.hub.aid, amount: 2, reference }
    // the figures differ from here on, until the other hub has been shown the statement
    await end('payer')
    expect(await ordered('payee', { command: 'peers', paid })).toMatchObject({ ok: true })
    await start('payer')
    await clearOver(side, fault, due - 2)
    expect(await ordered('payee', { command: 'peers', paid })).toMatchObject({ result: { cleared: 0 } })
    expect(figures()).toEqual([due - 2, due - 2])
  },
)

test.each(['hub.group.before-commit:1', 'hub.group.after-commit:1'])(
  'an operator whose hub dies at %s says it again, and it is booked once',
  { timeout: 4 * CLEARED_MS },
  async fault => {
    const [due = 0] = figures()
    const paid = { aid: places.payer.hub.aid, amount: 3, reference: fault }
    await end('payer')
    await end('payee')
    await start('payee', fault).catch(() => undefined)
    await ordered('payee', { command: 'peers', paid }).catch(() => undefined)
    await end('payee')
    for (const side of ['payee', 'payer'] as const) await start(side)
    await meet()
    expect(await ordered('payee', { command: 'peers', paid })).toMatchObject({ ok: true })
    await vi.waitFor(() => expect(figures()).toEqual([due - 3, due - 3]), {
      timeout: CLEARED_MS,
      interval: 200,
    })
  },
)
