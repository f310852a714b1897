/** Payments from an account at one hub to an agent of another (hub API §4.4, §4.6; credits: between hubs). */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { Authorization, networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { END_EXTENSION } from '../../protocol/proof/quote.ts'
import { HOUR_MS } from '../core/limits.ts'
import { Refusal } from '../core/refusal.ts'
import { SignedPeerCalls } from '../peers/calls.ts'
import type { PeerCredit } from '../store/peer-payment-port.ts'
import { type Reply, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import {
  ask,
  balanceOf,
  grant,
  order,
  type Paid,
  type Paying,
  pass,
  payment,
  receiptOf,
} from '../testing/payments.ts'

const LIMIT = 100

/** The hub of the payer, and that of the payee, to which it may owe so much. */
let payers: TestHub
let payees: TestHub
let alice: TestAgent
let bob: TestAgent
/** What earlier tests left. */
let base: PeerCredit
beforeAll(async () => {
  payers = await startTestHub({ limits: { trialCredits: 0 } })
  payees = await startTestHub({ limits: { trialCredits: 0, peerRate: { perSecond: 4, burst: 400 } } })
  // what each would book or ask for by itself is left to the tests
  for (const hub of [payers, payees]) await hub.running.hub.context.memory.leader.stop()
})
afterAll(async () => {
  await payers.close()
  await payees.close()
})
beforeEach(async () => {
  vi.restoreAllMocks()
  list(payers, payees)
  base = await payees.running.hub.context.store.peerCredit(payers.aid)
  list(payees, payers, LIMIT + base.owes + base.open)
  alice = await registeredAgent(payers)
  bob = await registeredAgent(payees)
  await grant(payers, alice.aid, 100)
})

function list(at: TestHub, other: TestHub, creditLimit?: number): void {
  const { kel } = other.running.hub.context.identity
  at.running.hub.context.peers.replace([
    { aid: other.aid, url: other.url, log: kel, ...(creditLimit === undefined ? {} : { creditLimit }) },
  ])
}

const pay = (amount: number, more: Paying = {}, to = bob): Paid => payment(alice, to, amount, more)
const settle = ({ request }: Paid) => ask(payees, 'x402Settle', request)
const credits = async (): Promise<number[]> => [
  (await balanceOf(alice)).balance,
  (await balanceOf(bob)).balance,
]
const peerReceipt = (json: Record<string, unknown>) =>
  SettlementReceipt.decode(
    fromBase64url((json['extensions'] as Record<string, string>)['svc.peer.receipt'] as string),
  )
const books = async () => [await payers, payees].map(hub => hub.running.hub.context.store.booksAgree())
const reasonOf = ({ json }: Reply): unknown => json['errorReason']
const bytesIn = ({ json }: Reply, name: string): Uint8Array =>
  fromBase64url((json['extensions'] as Record<string, string>)[name] as string)
const receiptBytes = (reply: Reply) => bytesIn(reply, 'svc.settlement.receipt')
const peerReceiptBytes = (reply: Reply) => bytesIn(reply, 'svc.peer.receipt')
/** An agent of one hub as it has moved to another. */
async function registeredAsAt(hub: TestHub, agent: TestAgent): Promise<TestAgent> {
  return await registeredAgent(hub, moved =>
    Object.assign(moved, { seed: agent.seed, nextSeed: agent.nextSeed, log: agent.log }),
  )
}
/** What a peer asks for that claims an agent which is not its own. */
async function stolen({ authorization }: Paid, holdSeconds?: number) {
  const { context } = payees.running.hub
  const [peer] = context.peers.all
  if (peer === undefined) throw new Error('no peer is listed')
  const asked = { authorization: Authorization.encode(authorization), holdSeconds, asksEnd: false }
  return await new SignedPeerCalls(context).settle(peer, asked)
}
/** What the hub of the payee does by itself. */
async function askDue(): Promise<void> {
  const { peerPayments, context } = payees.running.hub
  for (const row of await context.store.duePeerPayments(payees.clock.now(), 9))
    await peerPayments.askAgain(row).catch(() => undefined)
}
/** What this test brought about. */
async function owed(): Promise<PeerCredit> {
  const { owes, open } = await payees.running.hub.context.store.peerCredit(payers.aid)
  return { owes: owes - base.owes, open: open - base.open }
}

describe('a payment across two hubs', () => {
  test('moves the credits at both, and both sign it and name each other', async () => {
    const { json } = await settle(pay(30))
    expect(json).toMatchObject({
      success: true,
      network: networkOf(payers.aid),
      payer: alice.aid,
      amount: '30',
    })
    expect(await credits()).toEqual([70, 30])
    const [own, other] = [receiptOf({ json } as never).body, peerReceipt(json).body]
    expect([own.hub, own.peer, own.network]).toEqual([payees.aid, payers.aid, networkOf(payers.aid)])
    expect([other.hub, other.peer, other.kind, other.amount]).toEqual([payers.aid, payees.aid, 0, 30])
    const { kel, seq } = payers.running.hub.context.identity
    expect(SettlementReceipt.verify(keyAt(kel, seq) as Uint8Array, peerReceipt(json))).toBe(true)
    expect(await owed()).toEqual({ owes: 30, open: 0 })
    expect(await Promise.all(await books())).toEqual([true, true])
  })

  test('is made once, however often and at which hub it is asked for', async () => {
    const paid = pay(30)
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => settle(paid)))
    for (const { json } of [...others, await settle(paid)]) expect(json).toEqual(first?.json)
    expect(receiptOf(await ask(payers, 'x402Settle', paid.request)).body.peer).toBe(payees.aid)
    expect(await credits()).toEqual([70, 30])
    expect((await ask(payees, 'x402Verify', paid.request)).json).toMatchObject({
      invalidReason: 'duplicate_settlement',
    })
  })

  test('that was made at the hub of the payer alone is not made again for another hub', async () => {
    const carol = await registeredAgent(payers)
    const paid = pay(30, {}, carol)
    expect((await ask(payers, 'x402Settle', paid.request)).json['success']).toBe(true)
    const row = await registeredAsAt(payees, carol)
    expect(reasonOf(await settle(paid))).toBe('duplicate_settlement')
    expect((await balanceOf(row)).balance).toBe(0)
    expect((await owed()).open).toBe(0)
  })

  test('to an agent that lives at the hub of the payer is made for no other hub, and then for that agent', async () => {
    const carol = await registeredAgent(payers)
    const paid = pay(30, {}, carol)
    expect(await stolen(paid)).toMatchObject({ refused: 'invalid_payload' })
    expect((await ask(payers, 'x402Settle', paid.request)).json['success']).toBe(true)
    expect((await balanceOf(carol)).balance).toBe(30)
  })

  test('takes the credits of an agent along to its new hub', async () => {
    const moved = await registeredAsAt(payees, alice)
    expect((await settle(pay(40, {}, moved))).json['success']).toBe(true)
    expect([(await balanceOf(alice)).balance, (await balanceOf(moved)).balance]).toEqual([60, 40])
    const entry = async (agent: TestAgent) =>
      (
        (await agent.call('ledger', undefined, { params: { aid: agent.aid } })).json['entries'] as unknown[]
      )[0]
    expect(await entry(alice)).toMatchObject({ delta: -40, counterparty: payees.aid })
    expect(await entry(moved)).toMatchObject({ delta: 40, counterparty: payers.aid })
  })

  test('is refused as the hub of the payer refuses it, and nothing of it stays', async () => {
    const stranger = new TestAgent(payers)
    await ask(payers, 'x402Settle', pay(1, {}, await registeredAgent(payers)).request)
    const cases: [Paid, string][] = [
      [pay(LIMIT, {}, bob), 'insufficient_funds'],
      [payment(stranger, bob, 1), 'unknown_payer'],
      [pay(1, { seed: stranger.seed }), 'invalid_signature'],
    ]
    for (const [paid, reason] of cases) expect(reasonOf(await settle(paid))).toBe(reason)
    expect([await credits(), (await owed()).open]).toEqual([[99, 0], 0])
  })

  test('is not asked for where the hub of the payee sees that it cannot be', async () => {
    const asked = vi.spyOn(SignedPeerCalls.prototype, 'settle')
    const nowMs = payees.clock.now()
    const stranger = new TestAgent(payees)
    const cases: [Paid, string][] = [
      [pay(LIMIT + 1), 'peer_limit'],
      [pay(1, {}, stranger), 'invalid_payload'],
      [pay(1, { notBefore: nowMs - HOUR_MS, notAfter: nowMs - HOUR_MS / 2 }), 'expired'],
      [pay(1, { holdUntil: nowMs + 2 * HOUR_MS }), 'invalid_payload'],
    ]
    for (const [paid, reason] of cases) {
      expect((await ask(payees, 'x402Verify', paid.request)).json['invalidReason']).toBe(reason)
      expect(reasonOf(await settle(paid))).toBe(reason)
    }
    expect(asked).not.toHaveBeenCalled()
  })

  test('is not made in the credits of a peer that may owe nothing, nor named as possible', async () => {
    const networks = async () =>
      ((await ask(payees, 'x402Supported' as never, undefined)).json['kinds'] as { network: string }[]).map(
        ({ network }) => network,
      )
    expect(await networks()).toEqual([payees, payers].map(({ aid }) => networkOf(aid)))
    list(payees, payers)
    expect(await networks()).toEqual([networkOf(payees.aid)])
    expect(reasonOf(await settle(pay(1)))).toBe('peer_limit')
  })

  test('is given back across the two hubs, once and no more than was paid, also by a hub that may owe nothing', async () => {
    const paid = pay(30)
    await settle(paid)
    const refundOf = SettlementReceipt.decode(receiptBytes(await settle(paid))).body.transaction
    await grant(payees, bob.aid, 50)
    const back = (amount: number) => payment(bob, alice, amount, { refundOf })
    const refund = (given: Paid) => ask(payers, 'x402Settle', given.request)
    expect((await refund(back(20))).json['success']).toBe(true)
    expect(reasonOf(await refund(back(11)))).toBe('invalid_payload')
    expect((await refund(back(10))).json['success']).toBe(true)
    expect(await credits()).toEqual([100, 50])
    expect(await Promise.all(await books())).toEqual([true, true])
  })
})

test('a flood of payments leaves a peer three quarters of what it is asked otherwise', async () => {
  const { burst } = payees.running.hub.context.limits.peerRate
  const asked = vi
    .spyOn(SignedPeerCalls.prototype, 'settle')
    .mockResolvedValue({ refused: 'invalid_signature' })
  const forged = () => pay(1, { seed: bob.seed })
  const startedMs = performance.now()
  const replies = await Promise.all(Array.from({ length: burst / 2 }, () => settle(forged())))
  const lastedSeconds = (performance.now() - startedMs) / 1000
  expect(asked.mock.calls.length).toBeLessThan(burst / 4 + lastedSeconds + 2)
  expect(reasonOf(replies.at(-1) as Reply)).toBe('settlement_pending')
  asked.mockRestore()
  for (const hub of [payers, payees]) hub.clock.advance(HOUR_MS / 2)
  expect((await settle(pay(1))).json['success']).toBe(true)
})

describe('while the hub of the payer gives no answer', () => {
  /** Lost on the way there, or on the way back: the peer has made it or not. */
  const losing = (when: 'before' | 'after') => {
    const { settle: real } = SignedPeerCalls.prototype
    return vi.spyOn(SignedPeerCalls.prototype, 'settle').mockImplementationOnce(async function (
      this: SignedPeerCalls,
      ...given
    ) {
      if (when === 'after') await real.apply(this, given)
      throw new Refusal('homeUnreachable')
    })
  }

  test.each(['before', 'after'] as const)(
    'a payment is pending, keeps its amount, and is made once when it is asked for again (answer lost %s)',
    async when => {
      losing(when)
      const paid = pay(30)
      const pending = await settle(paid)
      expect([reasonOf(pending), pending.json['transaction']]).toEqual([
        'settlement_pending',
        paid.transaction,
      ])
      expect([(await owed()).open, (await balanceOf(bob)).balance]).toEqual([30, 0])
      expect(reasonOf(await settle(pay(LIMIT - 29)))).toBe('peer_limit')
      expect((await settle(paid)).json['success']).toBe(true)
      expect([await credits(), (await owed()).open]).toEqual([[70, 30], 0])
    },
  )

  test.each([
    ['before', [100, 0]],
    ['after', [70, 30]],
  ] as const)(
    'nobody asks again: after its time the hub of the payee does, and it is as the other one made it (lost %s)',
    async (when, expected) => {
      losing(when)
      await settle(pay(30))
      for (const hub of [payers, payees]) pass(hub, HOUR_MS)
      await askDue()
      expect([await credits(), (await owed()).open]).toEqual([expected, 0])
    },
  )

  test.each([
    ['takes its limit back', (): void => list(payees, payers, 0), (): void => undefined],
    ['takes it off the list', () => payees.running.hub.context.peers.replace([]), () => list(payees, payers)],
  ] as const)('a payment goes on although the operator %s meanwhile', async (_, change, again) => {
    const [made, lost] = [pay(10), pay(20)]
    const receipt = (await settle(made)).json
    losing('after')
    await settle(lost)
    change()
    expect((await settle(made)).json).toEqual(receipt)
    const isListed = payees.running.hub.context.peers.all.length > 0
    expect(reasonOf(await settle(pay(1)))).toBe(isListed ? 'peer_limit' : 'network_mismatch')
    if (!isListed) expect((await settle(lost)).json).toMatchObject({ transaction: lost.transaction })
    again()
    expect((await settle(lost)).json['success']).toBe(true)
    expect(await credits()).toEqual([70, 30])
  })

  test('nothing new is begun for ten seconds', async () => {
    payees.running.hub.context.peers.contact(payers.aid).fault = { ms: payees.clock.now(), why: 'away' }
    expect(reasonOf(await settle(pay(1)))).toBe('settlement_pending')
    expect((await owed()).open).toBe(0)
    payees.clock.advance(10_000)
    payers.clock.advance(10_000)
    expect((await settle(pay(1))).json['success']).toBe(true)
  })

  test('nor for longer where the clock has been set back since', async () => {
    const ms = payees.clock.now() + 2 * 24 * HOUR_MS
    payees.running.hub.context.peers.contact(payers.aid).fault = { ms, why: 'away' }
    expect((await settle(pay(1))).json['success']).toBe(true)
  })
})

test('what the hub of the payer signs of another payment, or for another hub, makes none', async () => {
  const made = receiptBytes(
    await ask(payers, 'x402Settle', pay(5, {}, await registeredAgent(payers)).request),
  )
  const other = peerReceiptBytes(await settle(pay(7)))
  const before = await credits()
  for (const receipt of [made, other, new Uint8Array(9)]) {
    vi.spyOn(SignedPeerCalls.prototype, 'settle').mockResolvedValueOnce({ receipt, end: undefined })
    expect(reasonOf(await settle(pay(3)))).toBe('settlement_pending')
  }
  expect(await credits()).toEqual(before)
})

describe('a hold across two hubs', () => {
  const held = async (amount = 30): Promise<Paid> => {
    const paid = pay(amount, { holdSeconds: 3600 })
    expect(receiptOf(await settle(paid)).body).toMatchObject({ kind: 1, peer: payers.aid })
    return paid
  }
  const end = (paid: Paid, amount: number, by = bob, at = payees) =>
    ask(at, amount === 0 ? 'x402Release' : 'x402Capture', order(by, paid, amount))

  test('posts nothing at the hub of the payee until its payee takes what it asks for', async () => {
    const paid = await held()
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 30 })
    expect([(await balanceOf(bob)).balance, (await owed()).open]).toEqual([0, 30])
    const taken = await end(paid, 12)
    expect([receiptOf(taken).body.kind, peerReceipt(taken.json).body.kind]).toEqual([2, 2])
    expect([await credits(), (await owed()).open]).toEqual([[88, 12], 0])
    expect((await end(paid, 12)).json).toEqual(taken.json)
    expect(reasonOf(await end(paid, 11))).toBe('hold_ended')
    expect(receiptOf(await settle(paid)).body.kind).toBe(1)
    expect(await Promise.all(await books())).toEqual([true, true])
  })

  test('is given back by its payee, which moves nothing between the hubs', async () => {
    const paid = await held()
    expect(receiptOf(await end(paid, 0)).body.kind).toBe(3)
    expect([await credits(), await owed()]).toEqual([[100, 0], { owes: 0, open: 0 }])
  })

  test('of which nobody knows yet whether it was made is ended by no order', async () => {
    const lost = new Refusal('homeUnreachable')
    vi.spyOn(SignedPeerCalls.prototype, 'settle').mockRejectedValueOnce(lost).mockRejectedValueOnce(lost)
    const paid = pay(30, { holdSeconds: 3600 })
    await settle(paid)
    expect(reasonOf(await end(paid, 9))).toBe('settlement_pending')
    await settle(paid)
    expect(receiptOf(await end(paid, 9)).body.kind).toBe(2)
  })

  test('of which this hub has no answer is asked about when its payee gives an order, and for nobody else', async () => {
    const peers = vi.spyOn(SignedPeerCalls.prototype, 'settle')
    peers.mockRejectedValueOnce(new Refusal('homeUnreachable'))
    const paid = pay(30, { holdSeconds: 3600 })
    await settle(paid)
    peers.mockClear()
    const stranger = await registeredAgent(payees)
    expect(reasonOf(await end(paid, 9, stranger))).toBe('settlement_pending')
    const forged = order(bob, paid, 9, stranger.seed)
    expect(reasonOf(await ask(payees, 'x402Capture', forged))).toBe('invalid_signature')
    expect(peers).not.toHaveBeenCalled()
    expect(receiptOf(await end(paid, 9)).body.kind).toBe(2)
    expect([await credits(), (await owed()).open]).toEqual([[91, 9], 0])
  })

  test('is ended by its payee alone, at its own hub', async () => {
    const paid = await held()
    const stranger = await registeredAgent(payees)
    expect(reasonOf(await end(paid, 5, stranger))).toBe('invalid_payload')
    const forged = order(bob, paid, 5, stranger.seed)
    expect(reasonOf(await ask(payees, 'x402Capture', forged))).toBe('invalid_signature')
    expect(reasonOf(await end(paid, 5, bob, payers))).toBe('invalid_payload')
    expect(reasonOf(await end(paid, 31))).toBe('invalid_payload')
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 30 })
  })

  test('whose order got no answer is ended by the hub, which asks again by itself', async () => {
    const paid = await held()
    vi.spyOn(SignedPeerCalls.prototype, 'settle').mockRejectedValueOnce(new Refusal('homeUnreachable'))
    expect(reasonOf(await end(paid, 9))).toBe('settlement_pending')
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 30 })
    for (const hub of [payers, payees]) hub.clock.advance(20_000)
    await askDue()
    expect(await credits()).toEqual([91, 9])
    expect(receiptOf(await end(paid, 9)).body.kind).toBe(2)
  })

  test('that the other hub refuses to end stays open', async () => {
    const paid = await held()
    vi.spyOn(SignedPeerCalls.prototype, 'settle').mockResolvedValueOnce({ refused: 'hold_ended' })
    expect(reasonOf(await end(paid, 9))).toBe('settlement_pending')
    expect((await owed()).open).toBe(30)
    expect(receiptOf(await end(paid, 9)).body.kind).toBe(2)
  })

  test('that lapsed is known to be given back, and an order that came late is refused with that', async () => {
    const paid = await held()
    const asking = { ...paid.request, paymentPayload: { ...(paid.request['paymentPayload'] as object) } }
    Object.assign(asking.paymentPayload, { extensions: { [END_EXTENSION]: {} } })
    for (const hub of [payers, payees]) pass(hub, 3 * HOUR_MS)
    await askDue()
    const { json } = await ask(payees, 'x402Settle', asking)
    const told = (json['extensions'] as Record<string, string>)[END_EXTENSION] as string
    expect(SettlementReceipt.decode(fromBase64url(told)).body).toMatchObject({ kind: 3, hub: payees.aid })
    expect(reasonOf(await end(paid, 9))).toBe('hold_ended')
    expect(await credits()).toEqual([100, 0])
  })

  test('that the other hub lost stays open, and the operator is told once a day', async () => {
    await held()
    await held(20)
    for (const hub of [payers, payees]) pass(hub, 3 * HOUR_MS)
    payees.alerts.length = 0
    vi.spyOn(SignedPeerCalls.prototype, 'settle').mockResolvedValue({ refused: 'expired' })
    for (let time = 0; time < 3; time++) {
      await askDue()
      payees.clock.advance(20_000)
    }
    expect(payees.alerts.filter(({ event }) => event.includes('how a hold ended'))).toEqual([
      {
        event: 'a peer does not say how a hold ended that is over',
        facts: { peer: payers.url, why: 'expired' },
      },
    ])
    expect((await owed()).open).toBe(50)
    vi.restoreAllMocks()
    payers.clock.advance(60_000)
    await askDue()
    expect((await owed()).open).toBe(0)
  })

  test('that was taken is given back across the two hubs, up to what was taken', async () => {
    list(payers, payees, LIMIT)
    const paid = await held()
    const refundOf = receiptOf(await end(paid, 12)).body.transaction
    await grant(payees, bob.aid, 50)
    const refund = (amount: number) =>
      ask(payers, 'x402Settle', payment(bob, alice, amount, { refundOf }).request)
    expect(reasonOf(await refund(13))).toBe('invalid_payload')
    expect((await refund(12)).json['success']).toBe(true)
    expect(await credits()).toEqual([100, 50])
  })
})
