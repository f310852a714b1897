/** Clearing between two hubs (hub API §4.6; credits: between hubs): each says what it owes, and shows what was signed. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { ClearingStatement } from '../../protocol/proof/clearing.ts'
import {
  networkOf,
  type SettlementBody,
  SettlementReceipt,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { DAY_MS } from '../core/limits.ts'
import { Refusal } from '../core/refusal.ts'
import { epochOfNothing } from '../core/supply/epochs.ts'
import { checkPeers } from '../operator/doctor-peers.ts'
import { clearingInFile } from '../operator/doctor-store.ts'
import { SignedPeerCalls } from '../peers/calls.ts'
import { type Reply, random, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { ask, balanceOf, grant, order, type Paid, type Paying, pass, payment } from '../testing/payments.ts'

const LIMIT = 1000

/** The hub of the payer, and that of the payee, to which it may owe so much. */
let payers: TestHub
let payees: TestHub
let alice: TestAgent
let bob: TestAgent
beforeAll(async () => {
  payers = await startTestHub({ limits: { trialCredits: 0 } })
  payees = await startTestHub({ limits: { trialCredits: 0 } })
})
afterAll(async () => {
  await payers.close()
  await payees.close()
})
beforeEach(async () => {
  vi.restoreAllMocks()
  // rounds run where a test says so
  for (const hub of [payers, payees]) await hub.running.hub.keptClearing.stop()
  await list(payers, payees, LIMIT)
  await list(payees, payers, LIMIT)
  await agree()
  alice = await registeredAgent(payers)
  bob = await registeredAgent(payees)
  await grant(payers, alice.aid, 100)
})

async function list(at: TestHub, other: TestHub, credits = 0): Promise<void> {
  const kel = toBase64url(encodeKel(other.running.hub.context.identity.kel.events))
  await at.running.order({ command: 'peers', add: { url: other.url, kel } })
  await at.running.order({ command: 'peers', limit: { aid: other.aid, credits } })
}

const other = (hub: TestHub): TestHub => (hub === payers ? payees : payers)
const peerAt = (hub: TestHub) => hub.running.hub.context.peers.all[0] as NonNullable<ReturnType<typeof find>>
const find = (hub: TestHub) => hub.running.hub.context.peers.all[0]
const round = (hub: TestHub) => hub.running.hub.clearing.round(peerAt(hub))
const stateAt = (hub: TestHub) => hub.running.hub.context.store.clearing(other(hub).aid)
const dueAt = async (hub: TestHub) => (await hub.running.hub.context.store.peerFigures(other(hub).aid)).due
/** What the hub of the payer thinks that it owes, and what the other one thinks. */
const owed = async () => [await dueAt(payers), -(await dueAt(payees)) || 0]
const books = () => Promise.all([payers, payees].map(hub => hub.running.hub.context.store.booksAgree()))
const reopen = (hub: TestHub) => hub.running.order({ command: 'peers', reopen: other(hub).aid })
/** Nothing of an earlier test stands between both. */
async function agree(): Promise<void> {
  for (const hub of [payers, payees]) await round(hub)
  for (const hub of [payers, payees]) if ((await stateAt(hub)).stoppedMs !== undefined) await reopen(hub)
  for (const hub of [payers, payees]) await round(hub)
}

const pay = (amount: number, more: Paying = {}): Paid => payment(alice, bob, amount, more)
const settle = ({ request }: Paid) => ask(payees, 'x402Settle', request)
const reasonOf = ({ json }: Reply): unknown => json['errorReason']
const credits = () => Promise.all([alice, bob].map(async agent => (await balanceOf(agent)).balance))
/** The hub of the payer makes a payment; the answer gets lost, and what the other one kept of it as well. */
async function forgotten(paid: Paid): Promise<void> {
  const { settle: real } = SignedPeerCalls.prototype
  vi.spyOn(SignedPeerCalls.prototype, 'settle').mockImplementationOnce(async function (
    this: SignedPeerCalls,
    ...given
  ) {
    await real.apply(this, given)
    throw new Refusal('homeUnreachable')
  })
  await settle(paid)
  await payees.running.hub.context.store.dropPeerPayment(transactionOf(paid.authorization))
}

/** A receipt under the key of a hub. */
function signedBy(hub: TestHub, more: Partial<SettlementBody>, seed?: Uint8Array): SettlementReceipt {
  const { identity } = hub.running.hub.context
  return SettlementReceipt.sign(seed ?? identity.seed, {
    v: 1,
    transaction: Uint8Array.of(1, 0x71, 0x12, 0x20, ...random(32)),
    kind: 0,
    payer: alice.aid,
    payee: bob.aid,
    amount: 5,
    network: networkOf(hub.aid),
    settledAt: hub.clock.now(),
    hub: hub.aid,
    hubKelSeq: identity.seq,
    supplyHead: [0, Uint8Array.of(1, 0x71, 0x12, 0x20, ...random(32))],
    peer: other(hub).aid,
    ...more,
  })
}
/** What a hub is shown by its peer, and what it says then. */
const shown = async (at: TestHub, kind: 'receipt' | 'statement', bytes: Uint8Array) =>
  (await at.running.hub.clearing.answer(peerAt(at), { due: 0, proofs: [{ kind, bytes }] })).owed

describe('a payment of which the answer was lost', () => {
  test('and which the hub of the payee keeps no more is booked when the other hub shows its receipt', async () => {
    const [before = 0] = await owed()
    const paid = pay(30)
    await forgotten(paid)
    expect(await credits()).toEqual([70, 0])
    expect(await owed()).toEqual([before + 30, before])
    expect(await round(payers)).toBe('agrees')
    expect(await credits()).toEqual([70, 30])
    expect(await owed()).toEqual([before + 30, before + 30])
    expect(await books()).toEqual([true, true])
    const again = await settle(paid)
    expect(again.json).toMatchObject({ success: true, amount: '30' })
    expect(await credits()).toEqual([70, 30])
  })

  test('is booked once, however often it is shown', async () => {
    await forgotten(pay(30))
    const show = vi.spyOn(SignedPeerCalls.prototype, 'clear')
    await round(payers)
    const proof = show.mock.calls.map(([, told]) => told.proof).find(one => one?.kind === 'receipt')
    for (let time = 0; time < 3; time += 1) await shown(payees, 'receipt', proof?.bytes as Uint8Array)
    expect(await credits()).toEqual([70, 30])
  })

  test('and which its own hub still asks about ends as it was made', async () => {
    const { settle: real } = SignedPeerCalls.prototype
    vi.spyOn(SignedPeerCalls.prototype, 'settle').mockImplementationOnce(async function (
      this: SignedPeerCalls,
      ...given
    ) {
      await real.apply(this, given)
      throw new Refusal('homeUnreachable')
    })
    const paid = pay(30)
    expect(reasonOf(await settle(paid))).toBe('settlement_pending')
    expect(await round(payees)).not.toBe('differs')
    expect(await round(payers)).toBe('agrees')
    expect(await credits()).toEqual([70, 30])
    expect((await payees.running.hub.context.store.peerCredit(payers.aid)).open).toBe(0)
    expect((await settle(paid)).json['success']).toBe(true)
    expect(await credits()).toEqual([70, 30])
  })

  test('is booked by the first of two rounds that meet', async () => {
    await forgotten(pay(30))
    await Promise.all([round(payers), round(payees), round(payers)])
    expect(await credits()).toEqual([70, 30])
    expect(await books()).toEqual([true, true])
  })

  test('goes to an account whose agent is not registered any more', async () => {
    await forgotten(pay(30))
    await bob.call('deregister', {}, { params: { aid: bob.aid } })
    expect(await round(payers)).toBe('agrees')
    expect((await balanceOf(bob)).balance).toBe(30)
  })

  test('is not booked above what the peer may owe, until its operator allows more', async () => {
    await forgotten(pay(30))
    await list(payees, payers, 0)
    expect(await round(payers)).toBe('differs')
    expectTold(payees, 'receipt', 'the peer would owe more than its limit')
    await list(payees, payers, LIMIT)
    expect(await round(payers)).toBe('agrees')
    expect(await credits()).toEqual([70, 30])
  })
})

test('a slow hub that refuses a second request and then makes the first one is cleared', async () => {
  const { settle: real } = SignedPeerCalls.prototype
  const paid = pay(30)
  const late = Promise.withResolvers<void>()
  const made = Promise.withResolvers<void>()
  vi.spyOn(SignedPeerCalls.prototype, 'settle')
    .mockImplementationOnce(async function (this: SignedPeerCalls, ...given) {
      void late.promise.then(() => real.apply(this, given)).then(() => made.resolve())
      throw new Refusal('homeUnreachable')
    })
    .mockResolvedValueOnce({ refused: 'insufficient_funds' })
  expect(reasonOf(await settle(paid))).toBe('settlement_pending')
  expect(reasonOf(await settle(paid))).toBe('insufficient_funds')
  late.resolve()
  await made.promise
  expect(await credits()).toEqual([70, 0])
  expect(await round(payers)).toBe('agrees')
  expect(await credits()).toEqual([70, 30])
  expect(await books()).toEqual([true, true])
})

test('what was taken of a hold is cleared as well', async () => {
  const paid = pay(30, { holdSeconds: 3600 })
  await settle(paid)
  const { settle: real } = SignedPeerCalls.prototype
  vi.spyOn(SignedPeerCalls.prototype, 'settle').mockImplementationOnce(async function (
    this: SignedPeerCalls,
    ...given
  ) {
    await real.apply(this, given)
    throw new Refusal('homeUnreachable')
  })
  expect(reasonOf(await ask(payees, 'x402Capture', order(bob, paid, 12)))).toBe('settlement_pending')
  expect(await round(payers)).toBe('agrees')
  expect(await credits()).toEqual([88, 12])
  expect((await ask(payees, 'x402Capture', order(bob, paid, 12))).json['success']).toBe(true)
  expect(await books()).toEqual([true, true])
})

function expectTold(hub: TestHub, kind: string, why: string): void {
  const event = `a peer shows a ${kind} that is not booked`
  const told = hub.alerts.filter(one => one.event === event).map(({ facts }) => facts['why'])
  expect(told).toContain(why)
}

describe('what does not hold changes no book', () => {
  const cases: [string, string, () => SettlementReceipt][] = [
    ['under another key', 'signature', () => signedBy(payers, {}, random(32))],
    ['for another hub', 'hub', () => signedBy(payers, { peer: new TestAgent(payers).aid })],
    ['of another hub', 'network', () => signedBy(payers, { hub: new TestAgent(payers).aid })],
    ['that names no other hub', 'hub', () => signedBy(payers, { peer: undefined } as never)],
    [
      'in the credits of another network',
      'network',
      () => signedBy(payers, { network: networkOf(payees.aid) }),
    ],
    ['of a hold that was given back', 'kind', () => signedBy(payers, { kind: 3 })],
    ['of a key state that is not there', 'signature', () => signedBy(payers, { hubKelSeq: 7 })],
    ['of this hub, under another key', 'signature', () => signedBy(payees, {}, random(32))],
  ]
  test.each(cases)('a receipt %s (%s)', async (_, why, made) => {
    const [, before] = await owed()
    expect(await shown(payees, 'receipt', SettlementReceipt.encode(made()))).toBe(before)
    expectTold(payees, 'receipt', why)
    expect(await credits()).toEqual([100, 0])
  })

  test('is told to the operator once a minute', async () => {
    const told = () => payees.alerts.filter(({ facts }) => facts['why'] === 'network').length
    for (let time = 0; time < 20; time += 1)
      await shown(
        payees,
        'receipt',
        SettlementReceipt.encode(signedBy(payers, { network: networkOf(payees.aid) })),
      )
    expect(told()).toBeLessThan(10)
  })

  test('bytes that are no receipt are refused', async () => {
    const hub = payees.running.hub
    await expect(
      hub.clearing.answer(peerAt(payees), { due: 0, proofs: [{ kind: 'receipt', bytes: random(9) }] }),
    ).rejects.toThrow(Refusal)
  })
})

describe('hubs that say different things', () => {
  const somebody = { kind: 'agent' as const, name: new TestAgent({ clock: { now: () => 0 } } as never).aid }
  const moved = async (amount: number): Promise<void> => {
    const peer = { kind: 'peer' as const, name: payers.aid }
    const [from, to] = amount > 0 ? [peer, somebody] : [somebody, peer]
    const move = { from, to, amount: Math.abs(amount) }
    const { store } = payees.running.hub.context
    const posting = {
      id: random(32),
      reason: 'restored' as const,
      atMs: payees.clock.now(),
      amount: move.amount,
    }
    expect((await store.post({ ...posting, moves: [move] })).outcome).toBe('posted')
  }
  let different = 0
  /** A credit at the hub of the payee of which there is no proof. */
  const differ = async (amount = 3): Promise<void> => {
    different += amount
    await moved(amount)
  }
  afterEach(async () => {
    if (different > 0) await moved(-different)
    different = 0
  })
  const stop = async () => {
    for (let time = 0; time < 3; time += 1) expect(await round(payers)).toBe('differs')
  }

  test('are told after the third look, with both figures, and nothing new crosses', async () => {
    const [before = 0] = await owed()
    await settle(pay(10))
    await differ()
    payers.alerts.length = 0
    for (let time = 0; time < 2; time += 1) await round(payers)
    expect((await stateAt(payers)).stoppedMs).toBeUndefined()
    await round(payers)
    expect(payers.alerts.at(-1)).toMatchObject({
      event: 'a peer says something else of what this hub owes it; no new payment crosses',
      facts: { due: before + 10, owed: before + 13 },
    })
    expect((await settle(pay(5))).json).toMatchObject({
      errorReason: 'network_mismatch',
      errorMessage: 'no payment is made on that network here: the hub of the payer says so',
    })
  })

  test('let what was there before go on: receipts, ends of holds', async () => {
    const made = pay(10)
    const first = await settle(made)
    const held = pay(20, { holdSeconds: 3600 })
    await settle(held)
    await differ()
    await stop()
    for (let time = 0; time < 3; time += 1) await round(payees)
    expect((await settle(made)).json).toEqual(first.json)
    expect((await ask(payees, 'x402Capture', order(bob, held, 6))).json['success']).toBe(true)
    const says =
      'no payment is made on that network here: payments with that hub are stopped until its operator and that of this hub agree'
    const { request } = pay(5)
    expect((await ask(payees, 'x402Settle', request)).json).toMatchObject({
      errorReason: 'network_mismatch',
      errorMessage: says,
    })
    expect((await ask(payees, 'x402Verify', request)).json).toMatchObject({
      invalidReason: 'network_mismatch',
      invalidMessage: says,
    })
    const networks = (await ask(payees, 'x402Supported' as never, undefined)).json['kinds'] as unknown[]
    expect(networks).toHaveLength(1)
  })

  test('pay again by themselves once both say the same', async () => {
    await differ()
    await stop()
    await moved(-different)
    different = 0
    expect(await round(payers)).toBe('agrees')
    expect((await stateAt(payers)).stoppedMs).toBeUndefined()
    expect((await settle(pay(5))).json['success']).toBe(true)
  })

  test('pay again once an operator has said so, and look no more at that difference', async () => {
    await differ()
    await stop()
    await reopen(payers)
    expect((await settle(pay(5))).json['success']).toBe(true)
    expect(await round(payers)).toBe('agrees')
    expect((await stateAt(payers)).accepted).toBe(3)
    const looks = vi.fn()
    payers.running.hub.clearing.onDiffers(looks)
    await round(payees)
    expect(looks).not.toHaveBeenCalled()
    await differ(4)
    await stop()
    expect(reasonOf(await settle(pay(5)))).toBe('network_mismatch')
  })

  test('wait for what is under way before they say that they differ', async () => {
    const { settle: real } = SignedPeerCalls.prototype
    await list(payers, payees, LIMIT)
    await grant(payees, bob.aid, 50)
    const back = payment(bob, alice, 7)
    vi.spyOn(SignedPeerCalls.prototype, 'settle').mockImplementationOnce(async function (
      this: SignedPeerCalls,
      ...given
    ) {
      await real.apply(this, given)
      throw new Refusal('homeUnreachable')
    })
    expect(reasonOf(await ask(payers, 'x402Settle', back.request))).toBe('settlement_pending')
    expect(await round(payers)).toBe('waits')
    expect(await round(payees)).toBe('agrees')
  })
})

describe('a debt that was paid outside', () => {
  const paidOut = (amount: number, reference: string) =>
    payees.running.order({ command: 'peers', paid: { aid: payers.aid, amount, reference } })

  test('is booked once by both, and the law of the books holds in both houses', async () => {
    await settle(pay(40))
    const [before = 0] = await owed()
    const totals = () =>
      Promise.all([payers, payees].map(hub => hub.running.hub.context.store.creditTotals()))
    const [payersBefore, payeesBefore] = await totals()
    expect(await paidOut(25, 'transfer 1')).toMatchObject({ cleared: 25 })
    expect(await owed()).toEqual([before, before - 25])
    expect(await round(payees)).toBe('agrees')
    expect(await owed()).toEqual([before - 25, before - 25])
    const [payersAfter, payeesAfter] = await totals()
    expect((payersAfter?.retired ?? 0) - (payersBefore?.retired ?? 0)).toBe(25)
    expect((payeesAfter?.issued ?? 0) - (payeesBefore?.issued ?? 0)).toBe(25)
    expect(await books()).toEqual([true, true])
    expect(await credits()).toEqual([60, 40])
  })

  test('is booked once however often its operator says so, and the statement arrives', async () => {
    await settle(pay(40))
    const [before = 0] = await owed()
    await paidOut(10, 'transfer 2')
    expect(await paidOut(10, 'transfer 2')).toMatchObject({ cleared: 0 })
    await expect(paidOut(11, 'transfer 2')).rejects.toThrow(/10 credits/)
    const sent = vi.spyOn(SignedPeerCalls.prototype, 'clear')
    await round(payees)
    const bytes = sent.mock.calls.map(([, told]) => told.proof).find(one => one?.kind === 'statement')?.bytes
    for (let time = 0; time < 3; time += 1) await shown(payers, 'statement', bytes as Uint8Array)
    expect(await owed()).toEqual([before - 10, before - 10])
  })

  test('of which the answer is lost is shown again', async () => {
    await settle(pay(40))
    const [before = 0] = await owed()
    await paidOut(10, 'transfer 3')
    for (const when of ['before', 'after'] as const) {
      const { clear: real } = SignedPeerCalls.prototype
      const lost = vi.spyOn(SignedPeerCalls.prototype, 'clear').mockImplementation(async function (
        this: SignedPeerCalls,
        ...given
      ) {
        if (given[1].proof === undefined) return await real.apply(this, given)
        if (when === 'after') await real.apply(this, given)
        throw new Refusal('homeUnreachable')
      })
      await expect(round(payees)).rejects.toThrow(Refusal)
      lost.mockRestore()
    }
    expect(await round(payees)).toBe('agrees')
    expect(await owed()).toEqual([before - 10, before - 10])
  })

  test('is at most what is owed', async () => {
    const [, before = 0] = await owed()
    await expect(paidOut(before + 1, 'transfer 4')).rejects.toThrow(`owes ${before}`)
  })

  test('counts with a statement that holds alone', async () => {
    await settle(pay(40))
    const [before = 0] = await owed()
    const { identity } = payees.running.hub.context
    const body = {
      ...{ v: 1 as const, creditor: payees.aid, creditorKelSeq: identity.seq, debtor: payers.aid },
      ...{ amount: 5, reference: 'x', number: 1, at: payees.clock.now() },
    }
    const cases: [string, object, Uint8Array?][] = [
      ['signature', {}, random(32)],
      ['amount', { amount: before + 1 }],
      ['parties', { debtor: new TestAgent(payers).aid }],
      ['parties', { creditor: payers.aid }],
      ['signature', { creditorKelSeq: 4 }],
    ]
    for (const [why, more, seed] of cases) {
      const forged = ClearingStatement.sign(seed ?? identity.seed, { ...body, ...more })
      await shown(payers, 'statement', ClearingStatement.encode(forged))
      expectTold(payers, 'statement', why)
    }
    expect((await owed())[0]).toBe(before)
    const first = ClearingStatement.sign(identity.seed, body)
    const second = ClearingStatement.sign(identity.seed, { ...body, amount: 6 })
    await shown(payers, 'statement', ClearingStatement.encode(first))
    await shown(payers, 'statement', ClearingStatement.encode(second))
    expect((await owed())[0]).toBe(before - 5)
    // the creditor takes its own back, which another test begins with
    await shown(payees, 'statement', ClearingStatement.encode(first))
    expect(await owed()).toEqual([before - 5, before - 5])
  })
})

describe('an operator sees', () => {
  const listed = async (at: TestHub) => {
    const { peers } = (await at.running.order({ command: 'peers' })) as { peers: Record<string, unknown>[] }
    return peers[0] as Record<string, unknown>
  }
  const doctor = async () =>
    (
      await checkPeers(payees.directory, payees.aid, {
        clearingOf: clearingInFile(payees.directory, false),
        own: [],
      })
    ).map(({ state, found }) => `${state}: ${found}`)

  test('that both agree, and since when', async () => {
    await settle(pay(10))
    await round(payees)
    const due = await dueAt(payees)
    expect((await listed(payees))['clearing']).toMatchObject({ state: 'agrees', due, owed: due })
  })

  test('that they differ, and after the third look that nothing crosses, until they reopen', async () => {
    const { store } = payees.running.hub.context
    const state = await store.clearing(payers.aid)
    const seen = { ...state, atMs: payees.clock.now(), due: -7, owed: -4, rounds: 1 }
    await store.putClearing(seen)
    expect((await listed(payees))['clearing']).toMatchObject({ state: 'differs', due: -7, owed: -4 })
    await store.putClearing({ ...seen, rounds: 3, stoppedMs: payees.clock.now() })
    expect((await listed(payees))['clearing']).toMatchObject({ state: 'stopped', due: -7, owed: -4 })
    expect((await doctor()).at(-1)).toBe(
      `wrong: no new payment crosses to ${payers.url}: this hub owes it -7 credits by its own books, and -4 by those of the peer (below 0: is owed)`,
    )
    await reopen(payees)
    expect((await listed(payees))['clearing']).toMatchObject({ state: 'differs', accepted: 3 })
    await store.putClearing({ ...state, stoppedMs: undefined })
    expect(await reopen(payees)).toMatchObject({
      note: 'payments with this peer were not stopped; nothing was changed',
    })
    expect(await stateAt(payees)).toMatchObject({ accepted: state.accepted, rounds: state.rounds })
  })

  test('what stays owed after a peer was taken off the list', async () => {
    await settle(pay(10))
    const note = async (hub: TestHub) => {
      const [peer] = hub.running.hub.context.peers.all
      const { note } = await hub.running.order({ command: 'peers', remove: other(hub).aid })
      hub.running.hub.context.peers.replace(peer === undefined ? [] : [peer])
      return note
    }
    const debt = await dueAt(payers)
    expect(debt).toBeGreaterThan(0)
    expect(await note(payees)).toBe(`it owes this hub ${debt} credits; list it again to clear that`)
    expect(await note(payers)).toBe(`this hub owes it ${debt} credits; list it again to clear that`)
  })

  test('a peer that published less than it owes', async () => {
    await settle(pay(10))
    const { publishedDebts, context } = payees.running.hub
    const check = () => publishedDebts.check(peerAt(payees))
    await context.store.putClearing({ ...(await stateAt(payees)), epoch: undefined })
    await check()
    expect((await stateAt(payees)).epoch).toMatchObject({ claim: 0 })
    expect((await listed(payees))['published']).toBeUndefined()
    // an epoch of a day that is over since, in which the peer already owed as much
    for (const hub of [payers, payees]) pass(hub, 2 * DAY_MS)
    await settle(payment(alice, bob, 1))
    await payers.running.hub.books.turn()
    const { supply } = payers.running.hub
    payees.alerts.length = 0
    await check()
    const shownEpoch = (await stateAt(payees)).epoch
    expect(shownEpoch?.published).toBeGreaterThanOrEqual(shownEpoch?.claim ?? 0)
    expect(payees.alerts).toEqual([])
    await supply.appendEpoch(async () => ({
      epoch: { ...epochOfNothing((shownEpoch?.day ?? 0) + 1).epoch },
      pieces: [],
    }))
    for (const hub of [payers, payees]) pass(hub, DAY_MS)
    await check()
    expect(payees.alerts.at(-1)).toMatchObject({
      event: 'a peer published that it owes less than it owes this hub',
    })
    expect((await listed(payees))['published']).toMatchObject({ due_to_peers: 0 })
    expect((await doctor()).at(-1)).toMatch(
      /^wrong: .* published on day \d+ that it owes its peers 0 credits/,
    )
  })

  test('an epoch that the peer has not signed', async () => {
    const record = await new SignedPeerCalls(payees.running.hub.context).epoch({
      ...peerAt(payees),
      url: payees.url,
    })
    vi.spyOn(SignedPeerCalls.prototype, 'epoch').mockResolvedValueOnce(record)
    await payees.running.hub.publishedDebts.check(peerAt(payees))
    expect(payees.alerts.at(-1)).toMatchObject({ event: 'a peer shows an epoch that does not hold' })
  })
})
