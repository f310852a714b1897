/** The account at a hub beside what this node signed and what the hub signed (node document §3.4), at once, on both sides. */
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { readIdentity } from '../../daemon/identity/identity.ts'
import type { Node } from '../../daemon/node.ts'
import { random, TestAgent } from '../../hub/testing/hub.ts'
import { ask, payment } from '../../hub/testing/payments.ts'
import { inboxIds, type Lab, never, openPair, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair({ inTheMorning: true }))
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await bob.handlers.priceSet({ capability: 'task', amount: 7 }, never)
})
afterAll(() => lab.close())
beforeEach(async () => {
  for (const node of [alice, bob])
    expect(await audit(node, { accept: true })).toMatchObject({ verified: true })
})

const audit = (node: Node, more: object = {}) => node.handlers.auditHub(more, never)
const reconcile = (node: Node) => node.handlers.reconcile({}, never)
const creditsOf = (node: Node) => {
  const { home } = node.ctx.hub
  if (home === undefined) throw new Error('no hub')
  return home.credits
}

/** A task that was paid for and answered, of which both sides hold the receipts. */
async function paidTask(task: string): Promise<string> {
  const before = new Set(await inboxIds(bob))
  await alice.handlers.delegate({ to: 'bob', task, pay: true, max_credits: 7 }, never)
  const waits = async () => {
    const fresh = (await inboxIds(bob)).filter(id => !before.has(id))
    const shown = await Promise.all(fresh.map(id => thread(bob, id)))
    return shown.find(one => one.payment?.state === 'held')?.interaction_id
  }
  await until('it is held', async () => (await waits()) !== undefined)
  const id = (await waits()) as string
  await bob.handlers.message({ interaction_id: id, text: 'done' }, never)
  for (const node of [alice, bob])
    await until('it is paid', async () => (await thread(node, id)).payment?.state === 'taken')
  return id
}

/** Puts the files of the hub back to before a payment that both sides hold the receipts of. */
async function loseOne(): Promise<void> {
  await paidTask('before the copy')
  const copy = mkdtempSync(join(tmpdir(), 'svc-copy-'))
  await lab.hub.restart(() => cpSync(lab.hub.directory, copy, { recursive: true }))
  await paidTask('after the copy')
  for (const node of [alice, bob]) {
    expect(await audit(node)).toMatchObject({ verified: true })
    expect(await reconcile(node)).toMatchObject({ agrees: true, missing: [] })
  }
  await lab.hub.restart(() => {
    rmSync(lab.hub.directory, { recursive: true })
    renameSync(copy, lab.hub.directory)
  })
}

test('a hub whose files went back to before a payment is told of by its payer, and gets it again from its payee', async () => {
  await loseOne()
  expect(await reconcile(alice)).toMatchObject({ agrees: false, missing: [{ kind: 'paid', amount: 7 }] })
  await until('the payee has them again', async () => (await reconcile(bob)).agrees)
  expect(await reconcile(alice)).toMatchObject({ agrees: true, missing: [] })
})

/** After the time of the authorization: what the hub signed of it alone lets it take it again. */
async function loseOneForLong(): Promise<void> {
  await loseOne()
  lab.hub.clock.advance(2 * 3_600_000)
  await until(
    'the hub is reached again',
    async () => (await reconcile(alice).catch(() => undefined)) !== undefined,
  )
}

test('one whose payment is over takes it again by the receipt that it had signed', async () => {
  await loseOneForLong()
  expect(await reconcile(alice)).toMatchObject({ agrees: false, missing: [{ kind: 'paid', amount: 7 }] })
  await until('the payee has them again', async () => (await reconcile(bob)).agrees)
  expect(await reconcile(alice)).toMatchObject({ agrees: true, missing: [] })
})

test('one that is shown nothing of it is told of by both sides at once, before any epoch', async () => {
  const credits = creditsOf(bob)
  const settle = credits.settle.bind(credits)
  const shown = vi.spyOn(credits, 'settle')
  shown.mockImplementation((authorization, quote, signal) => settle(authorization, quote, signal))
  await loseOneForLong()
  expect(await reconcile(alice)).toMatchObject({ agrees: false, missing: [{ kind: 'paid', amount: 7 }] })
  expect(await reconcile(bob)).toMatchObject({ agrees: false, missing: [{ kind: 'received', amount: 7 }] })
  expect((await audit(alice)).fault).toMatch(/was paid by this agent, and its ledger has no such entry/)
  expect((await audit(bob, { all: true })).fault).toMatch(
    /was paid to this agent, and its ledger has no such entry/,
  )
  shown.mockRestore()
})

test('a balance below what its entries come to is told at once, and accepted once a person says so', async () => {
  await paidTask('a task')
  expect(await audit(bob)).toMatchObject({ verified: true })
  const credits = creditsOf(bob)
  const honest = credits.account.bind(credits)
  credits.account = async (...given) => {
    const told = await honest(...given)
    return { ...told, balance: told.balance - 2 }
  }
  expect((await audit(bob)).fault).toMatch(
    /^its ledger comes to (\d+) credits for this agent, and its balance says \d+$/,
  )
  const { agrees, short } = await reconcile(bob)
  expect([agrees, short && short.sum - short.balance]).toEqual([false, 2])
  expect(await audit(bob, { accept: true })).toMatchObject({ verified: true })
  expect(await audit(bob)).toMatchObject({ verified: true })
  expect(await reconcile(bob)).toMatchObject({ agrees: true })
  credits.account = honest
})

test('an account that was last read longer ago than a hub shows it is not accused of what is not shown', async () => {
  await alice.handlers.redeem({ amount: 1 }, never)
  lab.hub.clock.advance(20 * 86_400_000)
  await until('the hub is reached again', async () => (await audit(alice).catch(() => undefined))?.verified)
  await paidTask('after a long pause')
  expect(await audit(alice)).toMatchObject({ verified: true })
  expect(await reconcile(alice)).toMatchObject({ agrees: true })
})

test('a redemption that came back without its id after a restore is the one that was signed, once', async () => {
  const { auth_id } = await alice.handlers.redeem({ amount: 3, reference: 'kept' }, never)
  const credits = creditsOf(alice)
  const honest = credits.entriesAfter.bind(credits)
  const restored = async (...given: Parameters<typeof honest>) =>
    (await honest(...given)).map(entry =>
      entry.transaction === auth_id ? { ...entry, transaction: undefined, counterparty: undefined } : entry,
    )
  credits.entriesAfter = restored
  expect(await reconcile(alice)).toMatchObject({ agrees: true, unknown: [], missing: [] })
  expect(await audit(alice)).toMatchObject({ verified: true })
  credits.entriesAfter = async (...given) => {
    const shown = await restored(...given)
    return shown.flatMap(entry =>
      entry.reason === 'redemption' && entry.transaction === undefined ? [entry, { ...entry }] : [entry],
    )
  }
  expect(await reconcile(alice)).toMatchObject({ agrees: false, unknown: [{ transaction: '', delta: -3 }] })
  credits.entriesAfter = async (...given) =>
    (await honest(...given)).filter(one => one.transaction !== auth_id)
  expect((await reconcile(alice)).missing).toMatchObject([{ transaction: auth_id, kind: 'redeemed' }])
  credits.entriesAfter = honest
})

test('what another program pays with the key of this node is told as that, until a person accepts it', async () => {
  const held = readIdentity(join(lab.folder, 'alice'), { now: lab.hub.clock.now, random })
  if (held?.aid !== alice.aid) throw new Error('no identity')
  const payer = Object.assign(new TestAgent(lab.hub), { log: held.log, seed: held.seed })
  const { request, transaction } = payment(payer, bob, 9)
  expect((await ask(lab.hub, 'x402Settle', request)).json['success']).toBe(true)
  expect(await reconcile(alice)).toMatchObject({ agrees: false, unknown: [{ transaction, delta: -9 }] })
  expect((await audit(alice)).fault).toBe(
    `it took 9 credits by ${transaction}, which this node did not sign: another program has the key of this identity, such as a payer of svc-x402, or the hub took what is not its own`,
  )
  expect(await audit(alice, { accept: true })).toMatchObject({ verified: true })
  expect(await reconcile(alice)).toMatchObject({ agrees: true })
})
