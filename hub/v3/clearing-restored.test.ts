/** Clearing with a hub that was restored from a backup (credits: between hubs): what it lost comes back as it was signed. */
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { ChainRecord } from '../../protocol/proof/evidence.ts'
import { networkOf, SettlementReceipt, transactionOf } from '../../protocol/proof/payment.ts'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { rotateIdentity } from '../core/identity.ts'
import { HOUR_MS } from '../core/limits.ts'
import { returnSupply } from '../core/supply/returned.ts'
import { raiseRestored } from '../store/sqlite/inspect.ts'
import { random, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { ask, balanceOf, grant, order, pass, payment, receiptOf } from '../testing/payments.ts'

let payers: TestHub
let payees: TestHub
let alice: TestAgent
let bob: TestAgent
beforeEach(async () => {
  payers = await startTestHub({ limits: { trialCredits: 0 }, inTheMorning: true })
  payees = await startTestHub({ limits: { trialCredits: 0 }, inTheMorning: true })
  alice = await registeredAgent(payers)
  bob = await registeredAgent(payees)
  await meet()
  await grant(payers, alice.aid, 100)
})
afterEach(async () => {
  await payers.close()
  await payees.close()
})

/** Each lists the other at its present address, and lets it owe something. */
async function meet(): Promise<void> {
  for (const [at, other] of [
    [payers, payees],
    [payees, payers],
  ] as const) {
    await at.running.hub.keptClearing.stop()
    const kel = toBase64url(encodeKel(other.running.hub.context.identity.kel.events))
    await at.running.order({ command: 'peers', add: { url: other.url, kel } })
    await at.running.order({ command: 'peers', limit: { aid: other.aid, credits: 1000 } })
  }
}

const rows = (hub: TestHub) => join(hub.directory, 'hub.db')
const saved = (hub: TestHub) => join(hub.directory, 'saved.db')
let savedMs: number
async function save(hub: TestHub): Promise<void> {
  savedMs = hub.clock.now()
  await hub.restart(() => copyFileSync(rows(hub), saved(hub)))
  await meet()
}
async function putBack(hub: TestHub): Promise<void> {
  await hub.restart(() => {
    for (const beside of ['-wal', '-shm']) rmSync(rows(hub) + beside, { force: true })
    copyFileSync(saved(hub), rows(hub))
    raiseRestored(rows(hub), {
      nowMs: hub.clock.now(),
      savedMs,
      release: 'test',
      clockSetting: CLOCK_SETTING,
    })
  })
  await meet()
}

const round = async (hub: TestHub) => {
  const { clearing, context } = hub.running.hub
  const [peer] = context.peers.all
  return peer === undefined ? 'no peer' : await clearing.round(peer)
}
/** As both do by themselves, until they agree. */
async function clear(): Promise<void> {
  for (let time = 0; time < 2; time += 1) for (const hub of [payers, payees]) await round(hub)
  expect([await round(payers), await round(payees)]).toEqual(['agrees', 'agrees'])
  expect(await books()).toEqual([true, true])
}
const books = () => Promise.all([payers, payees].map(hub => hub.running.hub.context.store.booksAgree()))
const owed = async () => {
  const figures = (at: TestHub, other: TestHub) => at.running.hub.context.store.peerFigures(other.aid)
  return [(await figures(payers, payees)).due, 0 - (await figures(payees, payers)).due]
}
const held = async (agent: TestAgent, hub: TestHub) =>
  (await hub.running.hub.context.store.holdings(agent.aid, hub.clock.now())).balance
const credits = async () => [await held(alice, payers), await held(bob, payees)]
const pay = async (amount: number) => {
  const paid = payment(alice, bob, amount)
  expect((await ask(payees, 'x402Settle', paid.request)).json['success']).toBe(true)
  return paid
}

describe('the hub of the payer was restored', () => {
  test('and takes the payment back from its own receipt', async () => {
    await pay(10)
    await save(payers)
    await pay(30)
    await clear()
    await putBack(payers)
    expect(await owed()).toEqual([10, 40])
    await clear()
    expect([await owed(), await credits()]).toEqual([
      [40, 40],
      [60, 40],
    ])
  })

  test('and its payer has spent the credits since: what is missing is issued, and said in the chain', async () => {
    await save(payers)
    await pay(30)
    await putBack(payers)
    const carol = await registeredAgent(payers)
    payers.clock.advance(60_000)
    expect((await ask(payers, 'x402Settle', payment(alice, carol, 90).request)).json['success']).toBe(true)
    await clear()
    expect([await owed(), await credits()]).toEqual([
      [30, 30],
      [0, 30],
    ])
    const { issued } = await payers.running.hub.context.store.creditTotals()
    expect(issued).toBe(120)
    const { entries } = await payers.running.hub.publication.records(0, 99)
    expect(entries.at(-1)?.change).toEqual({ aid: alice.aid, amount: 20, reason: 'restored' })
  })

  test('and lost two payments that weigh the same, so that the sums say nothing', async () => {
    await pay(30)
    await clear()
    await save(payers)
    const there = await pay(12)
    const back = payment(bob, alice, 12)
    expect((await ask(payers, 'x402Settle', back.request)).json['success']).toBe(true)
    await clear()
    await putBack(payers)
    expect(await owed()).toEqual([30, 30])
    await clear()
    const { clearing } = payers.running.hub
    const answered = vi.spyOn(clearing, 'answer')
    await round(payees)
    expect(answered.mock.calls.flatMap(([, { proofs }]) => proofs)).toEqual([])
    const { store } = payers.running.hub.context
    for (const { authorization } of [there, back])
      expect(await store.transfer(transactionOf(authorization))).toBeDefined()
    expect([await owed(), await credits()]).toEqual([
      [30, 30],
      [70, 30],
    ])
  })

  test('to before it had to do with its peer, and compares with it all the same', async () => {
    const concerns = async () => {
      const { clearing, context } = payers.running.hub
      const [peer] = context.peers.all
      return peer !== undefined && (await clearing.concerns(peer))
    }
    await save(payers)
    expect(await concerns()).toBe(false)
    await pay(30)
    await putBack(payers)
    expect(await concerns()).toBe(true)
    await clear()
    expect(await owed()).toEqual([30, 30])
  })

  test('and does not know its payer any more', async () => {
    await save(payers)
    const dora = await registeredAgent(payers)
    await grant(payers, dora.aid, 50)
    const paid = payment(dora, bob, 20)
    expect((await ask(payees, 'x402Settle', paid.request)).json['success']).toBe(true)
    await putBack(payers)
    await clear()
    expect([await owed(), await held(dora, payers), await held(bob, payees)]).toEqual([[20, 20], 0, 20])
  })

  test('and has the hold still open that was ended before', async () => {
    const paid = payment(alice, bob, 30, { holdSeconds: 3600 })
    await ask(payees, 'x402Settle', paid.request)
    await save(payers)
    expect((await ask(payees, 'x402Capture', order(bob, paid, 12))).json['success']).toBe(true)
    await putBack(payers)
    await clear()
    expect([await owed(), await credits()]).toEqual([
      [12, 12],
      [88, 12],
    ])
    expect((await payers.running.hub.context.store.openHold(new Uint8Array(36))) ?? 'none').toBe('none')
  })

  test('and has lost a hold: it opens it again from its own receipt, and its payee takes it', async () => {
    await save(payers)
    const paid = payment(alice, bob, 30, { holdSeconds: 3600 })
    await ask(payees, 'x402Settle', paid.request)
    await putBack(payers)
    const capture = () => ask(payees, 'x402Capture', order(bob, paid, 12))
    expect((await capture()).json['errorReason']).toBe('settlement_pending')
    expect(await held(alice, payers)).toBe(70)
    expect((await capture()).json['success']).toBe(true)
    expect([await owed(), await credits()]).toEqual([
      [12, 12],
      [88, 12],
    ])
    expect(await books()).toEqual([true, true])
  })

  test('and has lost a hold that is over: its payer keeps what it has, and the other hub is told', async () => {
    await save(payers)
    const paid = payment(alice, bob, 30, { holdSeconds: 60 })
    await ask(payees, 'x402Settle', paid.request)
    await putBack(payers)
    for (const hub of [payers, payees]) pass(hub, 2 * HOUR_MS)
    expect((await ask(payees, 'x402Capture', order(bob, paid, 12))).json['errorReason']).toBe(
      'settlement_pending',
    )
    const again = await ask(payees, 'x402Capture', order(bob, paid, 12))
    expect(again.json['errorReason']).toBe('hold_ended')
    expect([await owed(), await credits()]).toEqual([
      [0, 0],
      [100, 0],
    ])
    expect((await payees.running.hub.context.store.peerCredit(payers.aid)).open).toBe(0)
  })

  test('and lost a statement that it had booked', async () => {
    await pay(30)
    await save(payers)
    const paid = { aid: payers.aid, amount: 25, reference: 'transfer' }
    await payees.running.order({ command: 'peers', paid })
    await clear()
    expect(await owed()).toEqual([5, 5])
    await putBack(payers)
    expect(await owed()).toEqual([30, 5])
    await clear()
    expect(await owed()).toEqual([5, 5])
  })

  test('and a witness gave its chain back, with the record of that statement: it counts once', async () => {
    await pay(30)
    await save(payers)
    const paid = { aid: payers.aid, amount: 25, reference: 'transfer' }
    await payees.running.order({ command: 'peers', paid })
    await clear()
    const head = payers.running.hub.supply.head
    const [newest] = await payers.running.hub.context.store.supplyRecords(head.seq, 1)
    if (newest === undefined) throw new Error('no record')
    await putBack(payers)
    const { context, supply } = payers.running.hub
    const record = ChainRecord.decode(newest.record)
    await returnSupply(context, supply.head, [{ record, bytes: newest.record }])
    await payers.restart()
    await meet()
    expect(await owed()).toEqual([5, 5])
    await clear()
    const [peer] = payers.running.hub.context.peers.all
    const [bytes] = await payees.running.hub.context.store.clearedUnder('transfer')
    if (peer === undefined || bytes === undefined) throw new Error('nothing to show')
    for (let time = 0; time < 2; time += 1)
      await payers.running.hub.clearing.answer(peer, { due: 0, proofs: [{ kind: 'statement', bytes }] })
    expect(await owed()).toEqual([5, 5])
    const { retired } = await payers.running.hub.context.store.creditTotals()
    expect(retired).toBe(25)
  })

  test('and settles no authorization from before the restore', async () => {
    await save(payers)
    const before = payment(alice, bob, 10)
    await putBack(payers)
    const { json } = await ask(payees, 'x402Settle', before.request)
    expect([json['success'], json['errorReason']]).toEqual([false, 'expired'])
    await pay(5)
  })
})

/** Settles, with the receipt that the hub gave before. */
const show = (request: Record<string, unknown>, receipt: SettlementReceipt, hub = payers) => {
  const { paymentPayload } = request as { paymentPayload: Record<string, unknown> }
  const bytes = toBase64url(SettlementReceipt.encode(receipt))
  const extensions = { 'svc.settlement.receipt': bytes }
  return ask(hub, 'x402Settle', { ...request, paymentPayload: { ...paymentPayload, extensions } })
}

describe('an agent shows a restored hub what it signed', () => {
  test('of a payment: it is made as it was, once', async () => {
    const carol = await registeredAgent(payers)
    await save(payers)
    const paid = payment(alice, carol, 30)
    const first = await ask(payers, 'x402Settle', paid.request)
    await putBack(payers)
    expect((await ask(payers, 'x402Settle', paid.request)).json['errorReason']).toBe('expired')
    for (let time = 0; time < 2; time += 1)
      expect((await show(paid.request, receiptOf(first))).json).toEqual(first.json)
    expect([await held(alice, payers), await held(carol, payers)]).toEqual([70, 30])
    expect(await books()).toEqual([true, true])
  })

  test('of a hold: it is open again, and its payee takes it', async () => {
    const carol = await registeredAgent(payers)
    await save(payers)
    const paid = payment(alice, carol, 30, { holdSeconds: 3600 })
    const first = await ask(payers, 'x402Settle', paid.request)
    await putBack(payers)
    expect((await show(paid.request, receiptOf(first))).json['success']).toBe(true)
    expect((await ask(payers, 'x402Capture', order(carol, paid, 12))).json['success']).toBe(true)
    expect([await held(alice, payers), await held(carol, payers)]).toEqual([88, 12])
  })

  test('and nothing else: not that of another payment, of another key, or of another hub', async () => {
    const carol = await registeredAgent(payers)
    const made = receiptOf(await ask(payers, 'x402Settle', payment(alice, carol, 10).request))
    await save(payers)
    const paid = payment(alice, carol, 30)
    await putBack(payers)
    const { transaction } = receiptOf(await ask(payers, 'x402Settle', payment(alice, carol, 5).request)).body
    const body = { ...made.body, amount: 30, transaction: transactionOf(paid.authorization) }
    for (const forged of [
      made,
      SettlementReceipt.sign(random(32), body),
      SettlementReceipt.sign(payees.running.hub.context.identity.seed, { ...body, hub: payees.aid }),
      SettlementReceipt.sign(payers.running.hub.context.identity.seed, { ...body, transaction }),
    ])
      expect((await show(paid.request, forged)).json['errorReason']).toBe('expired')
    expect(await held(alice, payers)).toBe(85)
  })
})

describe('the hub of the payee was restored', () => {
  test('and books again what the other hub has signed, also from before both agreed', async () => {
    await pay(10)
    await save(payees)
    const paid = await pay(30)
    await clear()
    await putBack(payees)
    expect(await owed()).toEqual([40, 10])
    await clear()
    expect([await owed(), await credits()]).toEqual([
      [40, 40],
      [60, 40],
    ])
    const again = await ask(payees, 'x402Settle', paid.request)
    expect(again.json).toMatchObject({ success: true, amount: '30' })
    expect(await credits()).toEqual([60, 40])
  })

  test('and has lost a hold and its end: the order of its payee is answered with the end', async () => {
    await save(payees)
    const paid = payment(alice, bob, 30, { holdSeconds: 3600 })
    await ask(payees, 'x402Settle', paid.request)
    const capture = (amount: number) => ask(payees, 'x402Capture', order(bob, paid, amount))
    expect((await capture(12)).json['success']).toBe(true)
    await putBack(payees)
    await clear()
    expect((await capture(12)).json).toMatchObject({ success: true, amount: '12' })
    expect((await capture(13)).json['errorReason']).toBe('hold_ended')
    expect((await ask(payees, 'x402Release', order(bob, paid, 0))).json['errorReason']).toBe('hold_ended')
    expect((await ask(payees, 'x402Capture', order(alice, paid, 12))).json['errorReason']).toBe(
      'invalid_payload',
    )
    expect([await owed(), await credits()]).toEqual([
      [12, 12],
      [88, 12],
    ])
  })

  test('and has lost a hold: its payee shows what this hub signed, and takes it, also once its time to settle is over', async () => {
    await save(payees)
    const paid = payment(alice, bob, 30, { holdSeconds: 3600 })
    const first = receiptOf(await ask(payees, 'x402Settle', paid.request))
    await putBack(payees)
    for (const hub of [payers, payees]) pass(hub, HOUR_MS / 2)
    await clear()
    expect((await ask(payees, 'x402Settle', paid.request)).json['errorReason']).toBe('expired')
    const other = payment(alice, bob, 30, { holdSeconds: 3600 })
    await putBack(payees)
    expect((await show(other.request, first, payees)).json['errorReason']).toBe('expired')
    expect((await show(paid.request, first, payees)).json['success']).toBe(true)
    expect((await ask(payees, 'x402Capture', order(bob, paid, 12))).json['success']).toBe(true)
    expect([await owed(), await credits()]).toEqual([
      [12, 12],
      [88, 12],
    ])
    expect(await books()).toEqual([true, true])
  })

  test('to before the end, and so was the other one to before the hold: it is debited once', async () => {
    await save(payers)
    const paid = payment(alice, bob, 30, { holdSeconds: 3600 })
    await ask(payees, 'x402Settle', paid.request)
    await save(payees)
    const capture = () => ask(payees, 'x402Capture', order(bob, paid, 12))
    expect((await capture()).json['success']).toBe(true)
    await putBack(payers)
    await clear()
    await putBack(payees)
    await capture()
    expect(await held(alice, payers)).toBe(88)
    expect((await capture()).json).toMatchObject({ success: true, amount: '12' })
    await clear()
    expect([await owed(), await credits()]).toEqual([
      [12, 12],
      [88, 12],
    ])
  })

  test('and has lost its own statement, which comes back from the debtor', async () => {
    await pay(30)
    await save(payees)
    await payees.running.order({
      command: 'peers',
      paid: { aid: payers.aid, amount: 25, reference: 'transfer' },
    })
    await clear()
    await putBack(payees)
    expect(await owed()).toEqual([5, 30])
    await clear()
    expect(await owed()).toEqual([5, 5])
  })

  test('and gives no running number twice, nor loses a payment of the same amount', async () => {
    await pay(30)
    await save(payees)
    const paid = { aid: payers.aid, amount: 5, reference: 'one' }
    const first = await payees.running.order({ command: 'peers', paid })
    await round(payees)
    await putBack(payees)
    const second = await payees.running.order({ command: 'peers', paid: { ...paid, reference: 'two' } })
    expect(Number(second['number'])).toBeGreaterThan(Number(first['number']))
    await clear()
    expect(await owed()).toEqual([20, 20])
  })
})

test('a hub that lost nothing takes no receipt under a key that it has retired', async () => {
  const { identity } = payers.running.hub.context
  const { seed, seq } = identity
  const settledAt = payers.clock.now() - 60_000
  await payers.restart(() => void rotateIdentity(payers.directory, identity, payers.clock.now, random))
  await meet()
  const receipt = SettlementReceipt.sign(seed, {
    ...{ v: 1, transaction: new Uint8Array(36), kind: 0, payer: alice.aid, payee: bob.aid, amount: 50 },
    ...{ network: networkOf(payers.aid), settledAt, hub: payers.aid, hubKelSeq: seq },
    ...{ supplyHead: [0, new Uint8Array(36)], peer: payees.aid },
  })
  const { clearing, context } = payers.running.hub
  const [peer] = context.peers.all
  if (peer === undefined) throw new Error('no peer')
  const bytes = SettlementReceipt.encode(receipt)
  const { owed: answered } = await clearing.answer(peer, { due: 0, proofs: [{ kind: 'receipt', bytes }] })
  expect(answered).toBe(0)
  expect(payers.alerts.at(-1)?.facts).toMatchObject({ why: 'key state' })
  expect((await balanceOf(alice)).balance).toBe(100)
})
