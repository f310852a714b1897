/** Payments as x402 makes them (hub API §4.4, objects: payment): what is paid, what is refused and why, each once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { Authorization, networkOf, SettlementReceipt, transactionOf } from '../../protocol/proof/payment.ts'
import { END_EXTENSION } from '../../protocol/proof/quote.ts'
import { HOUR_MS } from '../core/limits.ts'
import {
  callRoute,
  type Reply,
  random,
  registeredAgent,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing/hub.ts'
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
  redemption,
  requestOf,
} from '../testing/payments.ts'

const MINUTE_MS = 60_000

let hub: TestHub
let alice: TestAgent
let bob: TestAgent
beforeAll(async () => {
  hub = await startTestHub({ limits: { trialCredits: 0 } })
})
afterAll(() => hub.close())
beforeEach(async () => {
  alice = await registeredAgent(hub)
  bob = await registeredAgent(hub)
  await grant(hub, alice.aid, 100)
})

const settle = ({ request }: Pick<Paid, 'request'>): Promise<Reply> => ask(hub, 'x402Settle', request)
const verify = ({ request }: Pick<Paid, 'request'>): Promise<Reply> => ask(hub, 'x402Verify', request)
const credits = async (...agents: TestAgent[]): Promise<number[]> =>
  await Promise.all(agents.map(async agent => (await balanceOf(agent)).balance))

/** Neither pays nor may be paid, and both say the same. */
async function refuses(paid: Pick<Paid, 'request'>, reason: string): Promise<void> {
  expect((await verify(paid)).json).toMatchObject({ isValid: false, invalidReason: reason })
  const { status, json } = await settle(paid)
  expect([status, json]).toEqual([
    200,
    {
      success: false,
      errorReason: reason,
      errorMessage: expect.any(String),
      transaction: '',
      network: networkOf(hub.aid),
    },
  ])
}

describe('an order to give credits', () => {
  const id = '5a'.repeat(16)
  const give = (agent: TestAgent, amount: number) =>
    hub.running.order({ command: 'grant', aid: agent.aid, amount, reason: 'a test', id })

  test('gives them once, however often it comes, and says so when its id stands for another', async () => {
    await give(alice, 7)
    await expect(give(alice, 7)).resolves.toMatchObject({
      granted: 0,
      balance: 107,
      note: expect.any(String),
    })
    await expect(give(alice, 8)).rejects.toThrow('was carried out already, as another grant')
    await expect(give(bob, 7)).rejects.toThrow('was carried out already, as another grant')
    expect(await credits(alice, bob)).toEqual([107, 0])
  })
})

describe('a payment', () => {
  test('moves credits once, and every later request gets the first receipt', async () => {
    const paid = payment(alice, bob, 30)
    expect((await verify(paid)).json).toEqual({ isValid: true, payer: alice.aid })
    const first = await settle(paid)
    expect(first.json).toMatchObject({
      success: true,
      transaction: paid.transaction,
      network: networkOf(hub.aid),
      payer: alice.aid,
      amount: '30',
    })
    expect((await settle(paid)).json).toEqual(first.json)
    expect(await credits(alice, bob)).toEqual([70, 30])
    expect((await verify(paid)).json).toMatchObject({ isValid: false, invalidReason: 'duplicate_settlement' })
  })

  test('is told in a receipt by the hub, over its newest supply record', async () => {
    const receipt = receiptOf(await settle(payment(alice, bob, 5)))
    const { kel, seq } = hub.running.hub.context.identity
    const head = hub.running.hub.supply.head
    expect(receipt.body).toMatchObject({
      kind: 0,
      payer: alice.aid,
      payee: bob.aid,
      amount: 5,
      hub: hub.aid,
      hubKelSeq: seq,
      supplyHead: [head.seq, head.id],
    })
    expect(SettlementReceipt.verify(keyAt(kel, seq) as Uint8Array, receipt)).toBe(true)
  })

  test('of twenty-five at the same moment with one authorization is made once', async () => {
    const paid = payment(alice, bob, 30)
    const replies = await Promise.all(Array.from({ length: 25 }, () => settle(paid)))
    const receipts = new Set(replies.map(({ json }) => JSON.stringify(json)))
    expect(receipts.size).toBe(1)
    expect(await credits(alice, bob)).toEqual([70, 30])
  })

  test('never spends more than there is, however many come at once', async () => {
    const replies = await Promise.all(Array.from({ length: 5 }, () => settle(payment(alice, bob, 30))))
    const made = replies.filter(({ json }) => json['success'] === true)
    expect(made).toHaveLength(3)
    const refused = replies.filter(({ json }) => json['errorReason'] === 'insufficient_funds')
    expect(refused).toHaveLength(2)
    expect(await credits(alice, bob)).toEqual([10, 90])
  })

  test('works for an agent that has left, to one that is registered', async () => {
    await alice.call('deregister', {}, { params: { aid: alice.aid } })
    expect((await settle(payment(alice, bob, 1))).json['success']).toBe(true)
    await refuses(payment(bob, alice, 1), 'invalid_payload')
    expect(await credits(alice, bob)).toEqual([99, 1])
  })
})

describe('a payment is refused', () => {
  const changed = (more: (paid: Paid) => Record<string, unknown>, paying: Paying = {}) => {
    const paid = payment(alice, bob, 30, paying)
    return { request: { ...paid.request, ...more(paid) } }
  }
  const terms = (paid: Paid): Record<string, unknown> =>
    paid.request['paymentRequirements'] as Record<string, unknown>
  const underTerms = (more: Record<string, unknown>, paying: Paying = {}) => {
    const paid = payment(alice, bob, 30, paying)
    return { request: requestOf(paid.authorization, { ...terms(paid), ...more }) }
  }

  test('as malformed_payment, when its authorization is none', async () => {
    const { authorization } = payment(alice, bob, 30)
    const payload = { authorization: 'AAAA' }
    await refuses(
      changed(({ request }) => ({
        paymentPayload: { ...(request['paymentPayload'] as object), payload },
      })),
      'malformed_payment',
    )
    expect(Authorization.encode(authorization).length).toBeLessThanOrEqual(512)
  })

  test('as invalid_x402_version, unsupported_scheme or network_mismatch', async () => {
    await refuses(
      changed(() => ({ x402Version: 1 })),
      'invalid_x402_version',
    )
    await refuses(underTerms({ scheme: 'exact' }), 'unsupported_scheme')
    await refuses(underTerms({ network: 'eip155:8453' }), 'network_mismatch')
    await refuses(underTerms({}, { network: networkOf(bob.aid) }), 'network_mismatch')
  })

  test('as invalid_payload, when request and authorization say different things', async () => {
    await refuses(underTerms({ asset: 'usdc' }), 'invalid_payload')
    for (const amount of ['31', '030', '0', '-30', '3e1', '9007199254740992', ''])
      await refuses(underTerms({ amount }), 'invalid_payload')
    await refuses(underTerms({ payTo: alice.aid }), 'invalid_payload')
    await refuses(
      changed(paid => ({ paymentRequirements: { ...terms(paid), amount: '29' } })),
      'invalid_payload',
    )
  })

  test('as unknown_payer, when nobody here has that key history, or it has ended', async () => {
    await refuses(payment(new TestAgent(hub), bob, 30), 'unknown_payer')
  })

  test('as expired, outside of its time and two minutes', async () => {
    const nowMs = hub.clock.now()
    const past = { notBefore: nowMs - HOUR_MS, notAfter: nowMs - 2 * MINUTE_MS - 5000 }
    await refuses(payment(alice, bob, 30, past), 'expired')
    const future = { notBefore: nowMs + 2 * MINUTE_MS + 5000, notAfter: nowMs + HOUR_MS }
    await refuses(payment(alice, bob, 30, future), 'expired')
    const nearly = { notBefore: nowMs - HOUR_MS, notAfter: nowMs - MINUTE_MS }
    expect((await settle(payment(alice, bob, 30, nearly))).json['success']).toBe(true)
  })

  test('as invalid_payload, to oneself, to the hub, or to nobody here', async () => {
    await refuses(payment(alice, alice, 30), 'invalid_payload')
    await refuses(payment(alice, hub, 30), 'invalid_payload')
    await refuses(payment(alice, new TestAgent(hub), 30), 'invalid_payload')
  })

  test('as invalid_signature, by another key, a retired one, or one that is not known yet', async () => {
    await refuses(payment(alice, bob, 30, { seed: random(32) }), 'invalid_signature')
    await refuses(payment(alice, bob, 30, { payerKelSeq: alice.log.seq + 1 }), 'invalid_signature')
    const before = payment(alice, bob, 30)
    alice.rotate()
    await alice.register()
    await refuses(before, 'invalid_signature')
    expect((await settle(payment(alice, bob, 30))).json['success']).toBe(true)
  })

  test('as insufficient_funds, only once its signature holds', async () => {
    await refuses(payment(alice, bob, 101), 'insufficient_funds')
    await refuses(payment(alice, bob, 101, { seed: random(32) }), 'invalid_signature')
  })

  test('as a request of a wrong form with its own code, and what a client of x402 reads beside it', async () => {
    const { request } = payment(alice, bob, 30)
    const { status, json } = await ask(hub, 'x402Settle', { ...request, more: 1 })
    expect([status, json]).toEqual([
      400,
      {
        reason: 'bad_request',
        error: expect.any(String),
        success: false,
        errorReason: 'bad_request',
        transaction: '',
        network: networkOf(hub.aid),
      },
    ])
    const verified = await ask(hub, 'x402Verify', {})
    expect(verified.json).toMatchObject({
      reason: 'bad_request',
      isValid: false,
      invalidReason: 'bad_request',
    })
    const old = await fetch(`${hub.url}/x402/settle`, { method: 'POST', body: '{}' })
    expect([old.status, await old.json()]).toEqual([
      426,
      expect.objectContaining({ reason: 'wire_too_old', success: false, errorReason: 'wire_too_old' }),
    ])
  })

  test('and what others put into extensions and extra does not matter', async () => {
    const paid = payment(alice, bob, 30)
    const more = { ...terms(paid), extra: { name: 'x', deep: { er: [1] } } }
    const request = requestOf(paid.authorization, more)
    const payload = {
      ...(request['paymentPayload'] as object),
      extensions: { 'payment-identifier': { info: {} } },
    }
    expect((await settle({ request: { ...request, paymentPayload: payload } })).json['success']).toBe(true)
  })
})

describe('a refund', () => {
  test('gives back what was paid, in all no more than that', async () => {
    const paid = payment(alice, bob, 30)
    await settle(paid)
    await grant(hub, bob.aid, 50)
    const back = (amount: number): Paid => payment(bob, alice, amount, { refundOf: transactionBytes(paid) })
    expect((await settle(back(20))).json['success']).toBe(true)
    await expect(settle(back(11))).resolves.toMatchObject({ json: { errorReason: 'invalid_payload' } })
    expect((await settle(back(10))).json['success']).toBe(true)
    expect(await credits(alice, bob)).toEqual([100, 50])
  })

  test('is no refund of a refund, of a payment between others, or of none', async () => {
    const paid = payment(alice, bob, 30)
    await settle(paid)
    const back = payment(bob, alice, 30, { refundOf: transactionBytes(paid) })
    await settle(back)
    await refuses(payment(alice, bob, 1, { refundOf: transactionBytes(back) }), 'invalid_payload')
    const carol = await registeredAgent(hub)
    await grant(hub, carol.aid, 5)
    await refuses(payment(carol, alice, 1, { refundOf: transactionBytes(paid) }), 'invalid_payload')
    const none = { refundOf: transactionBytes(payment(alice, bob, 1)) }
    await refuses(payment(bob, alice, 1, none), 'invalid_payload')
  })

  test('is never held: what is captured of one would be counted by nobody', async () => {
    const paid = payment(alice, bob, 10)
    await settle(paid)
    await grant(hub, bob.aid, 50)
    const back = { refundOf: transactionBytes(paid), holdSeconds: 60 }
    for (let i = 0; i < 2; i++) await refuses(payment(bob, alice, 10, back), 'invalid_payload')
    expect(await credits(alice, bob)).toEqual([90, 60])
  })

  test('reaches a payer that has left', async () => {
    const paid = payment(alice, bob, 30)
    await settle(paid)
    await alice.call('deregister', {}, { params: { aid: alice.aid } })
    const back = payment(bob, alice, 30, { refundOf: transactionBytes(paid) })
    expect((await settle(back)).json['success']).toBe(true)
  })
})

const transactionBytes = ({ authorization }: Paid): Uint8Array => transactionOf(authorization)

describe('a hold', () => {
  const held = (seconds = 600): Paid => payment(alice, bob, 30, { holdSeconds: seconds })

  test('takes the credits from the payer and gives them to nobody yet', async () => {
    const paid = held()
    const receipt = receiptOf(await settle(paid))
    expect(receipt.body).toMatchObject({ kind: 1, amount: 30, holdUntil: paid.authorization.body.holdUntil })
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 30 })
    expect(await credits(bob)).toEqual([0])
  })

  test('is made only as the payee asked for it', async () => {
    const paid = held()
    const asked = paid.request['paymentRequirements'] as Record<string, unknown>
    await refuses({ request: requestOf(paid.authorization, { ...asked, extra: {} }) }, 'invalid_payload')
    await refuses(
      { request: requestOf(paid.authorization, { ...asked, extra: { hold_s: 601 } }) },
      'invalid_payload',
    )
    const second = held(1)
    const terms = { ...(second.request['paymentRequirements'] as object), extra: { hold_s: 1.0000001 } }
    await refuses({ request: requestOf(second.authorization, terms) }, 'invalid_payload')
    const plain = payment(alice, bob, 30)
    await refuses({ request: requestOf(plain.authorization, asked) }, 'invalid_payload')
    await refuses(held(31 * 24 * 3600), 'invalid_payload')
  })

  test('is not made once its time would be over', async () => {
    const nowMs = hub.clock.now()
    const past = { notBefore: nowMs - 200_000, notAfter: nowMs - 110_000, holdSeconds: 60 }
    await refuses(payment(alice, bob, 30, past), 'expired')
    expect((await settle(payment(alice, bob, 30, { ...past, holdSeconds: 180 }))).json['success']).toBe(true)
  })

  test('of which more than a hundred have lapsed leaves its payer all of its credits', async () => {
    await grant(hub, alice.aid, 150)
    const holds = Array.from({ length: 250 }, () => payment(alice, bob, 1, { holdSeconds: 1 }))
    for (const one of holds) expect((await settle(one)).json['success']).toBe(true)
    pass(hub, HOUR_MS)
    expect(await balanceOf(alice)).toEqual({ balance: 250, held: 0 })
    expect((await settle(payment(alice, bob, 250))).json['success']).toBe(true)
  })

  test('is not ended by an identity that has ended, for which nobody could use it', async () => {
    const paid = held()
    await settle(paid)
    bob.end()
    expect((await callRoute(hub, 'pushKel', { aid: bob.aid, kel: bob.kel })).status).toBe(200)
    const given = await ask(hub, 'x402Capture', order(bob, paid, 30))
    expect(given.json['errorReason']).toBe('invalid_signature')
  })

  test('is captured by its payee, all or a part; the rest goes back', async () => {
    const paid = held()
    await settle(paid)
    const captured = await ask(hub, 'x402Capture', order(bob, paid, 20))
    expect(receiptOf(captured).body).toMatchObject({ kind: 2, amount: 20 })
    expect(await balanceOf(alice)).toEqual({ balance: 80, held: 0 })
    expect(await credits(bob)).toEqual([20])
    expect((await ask(hub, 'x402Capture', order(bob, paid, 20))).json).toEqual(captured.json)
    for (const [route, amount] of [
      ['x402Capture', 19],
      ['x402Release', 0],
    ] as const)
      expect((await ask(hub, route, order(bob, paid, amount))).json['errorReason']).toBe('hold_ended')
    const back = payment(bob, alice, 21, { refundOf: transactionBytes(paid) })
    await expect(settle(back)).resolves.toMatchObject({ json: { success: false } })
  })

  test('is released by its payee', async () => {
    const paid = held()
    await settle(paid)
    const released = await ask(hub, 'x402Release', order(bob, paid, 0))
    expect(receiptOf(released).body).toMatchObject({ kind: 3, amount: 30 })
    expect(await balanceOf(alice)).toEqual({ balance: 100, held: 0 })
    expect((await ask(hub, 'x402Release', order(bob, paid, 0))).json).toEqual(released.json)
    expect((await ask(hub, 'x402Capture', order(bob, paid, 30))).json['errorReason']).toBe('hold_ended')
  })

  test('ends by an order of its payee alone, for no more than it holds', async () => {
    const paid = held()
    await settle(paid)
    const reasonOf = async (route: 'x402Capture' | 'x402Release', given: unknown) =>
      (await ask(hub, route, given)).json['errorReason']
    expect(await reasonOf('x402Capture', order(alice, paid, 30))).toBe('invalid_payload')
    expect(await reasonOf('x402Capture', order(bob, paid, 31))).toBe('invalid_payload')
    expect(await reasonOf('x402Capture', order(bob, paid, 0))).toBe('invalid_payload')
    expect(await reasonOf('x402Release', order(bob, paid, 1))).toBe('invalid_payload')
    expect(await reasonOf('x402Capture', order(bob, payment(alice, bob, 1), 1))).toBe('invalid_payload')
    expect(await reasonOf('x402Capture', { order: 'AAAA' })).toBe('malformed_payment')
    expect(await reasonOf('x402Capture', order(bob, paid, 30, random(32)))).toBe('invalid_signature')
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 30 })
  })

  test('tells how it has ended beside its receipt, where that is asked for', async () => {
    const [captured, released, open] = [held(), held(), held()]
    for (const paid of [captured, released, open]) await settle(paid)
    await ask(hub, 'x402Capture', order(bob, captured, 10))
    await ask(hub, 'x402Release', order(bob, released, 0))
    const asked = async ({ request }: Paid) => {
      const paymentPayload = { ...(request['paymentPayload'] as object), extensions: { [END_EXTENSION]: {} } }
      return (await settle({ request: { ...request, paymentPayload } })).json['extensions'] as object
    }
    const bodyIn = (extensions: object) =>
      SettlementReceipt.decode(fromBase64url((extensions as Record<string, string>)[END_EXTENSION] ?? ''))
        .body
    expect(bodyIn(await asked(captured))).toMatchObject({ kind: 2, amount: 10 })
    expect(bodyIn(await asked(released))).toMatchObject({ kind: 3, amount: 30 })
    expect(Object.keys(await asked(open))).toEqual(['svc.settlement.receipt'])
    pass(hub, (open.authorization.body.holdUntil ?? 0) - hub.clock.now() + 1000)
    expect(bodyIn(await asked(open))).toMatchObject({ kind: 3, amount: 30 })
    const unasked = (await settle(captured)).json['extensions'] as object
    expect(Object.keys(unasked)).toEqual(['svc.settlement.receipt'])
  })

  test('lapses at its time: a millisecond before it can be captured, from then on it is back', async () => {
    const [early, late] = [held(60), held(60)]
    await settle(early)
    await settle(late)
    const until = early.authorization.body.holdUntil as number
    const store = hub.running.hub.context.store
    expect(await store.lapsedHolds(until - 1, 10, alice.aid)).toEqual([])
    expect((await ask(hub, 'x402Capture', order(bob, early, 30))).json['success']).toBe(true)
    pass(hub, until - hub.clock.now() + 1000)
    expect(await balanceOf(alice)).toEqual({ balance: 70, held: 0 })
    expect((await ask(hub, 'x402Capture', order(bob, late, 30))).json['errorReason']).toBe('hold_ended')
    expect((await settle(payment(alice, bob, 70))).json['success']).toBe(true)
    expect(await credits(alice, bob)).toEqual([0, 100])
  })

  test('that has lapsed is returned by the sweep, too', async () => {
    const paid = held(1)
    await settle(paid)
    pass(hub, HOUR_MS)
    await hub.running.hub.books.turn()
    expect(await hub.running.hub.context.store.openHold(transactionBytes(paid))).toBeUndefined()
    expect(await balanceOf(alice)).toEqual({ balance: 100, held: 0 })
  })
})

describe('a redemption', () => {
  test('takes credits out once, for the reference that was signed', async () => {
    const taken = redemption(alice, 40, 'invoice 7')
    const first = await ask(hub, 'x402Redeem', taken.request)
    expect(first.json).toMatchObject({
      success: true,
      transaction: taken.transaction,
      amount: '40',
      redemption: { auth_id: taken.transaction, aid: alice.aid, amount: 40, reference: 'invoice 7' },
    })
    expect((await ask(hub, 'x402Redeem', taken.request)).json).toEqual(first.json)
    expect(await credits(alice)).toEqual([60])
    const { json } = await alice.call('redemptions', undefined, { params: { aid: alice.aid } })
    expect(json['entries']).toEqual([
      expect.objectContaining({ auth_id: taken.transaction, amount: 40, reference: 'invoice 7' }),
    ])
  })

  test.each(['', ' ', 'two\nlines', 'a\0b'])(
    'is refused for the reference %j, which nobody could read',
    async text => {
      const { status, json } = await ask(hub, 'x402Redeem', redemption(alice, 1, text).request)
      expect([status, json['reason'], json['success']]).toEqual([400, 'bad_request', false])
    },
  )

  test('is refused with another reference, to another payee, over the balance, and through settle', async () => {
    const reasonOf = async (request: unknown) => (await ask(hub, 'x402Redeem', request)).json['errorReason']
    const taken = redemption(alice, 40, 'invoice 7')
    expect(await reasonOf({ ...taken.request, reference: 'invoice 8' })).toBe('invalid_payload')
    expect(await reasonOf(redemption(alice, 101, 'x').request)).toBe('insufficient_funds')
    const { x402Version, paymentPayload } = payment(alice, bob, 1).request
    expect(await reasonOf({ x402Version, paymentPayload, reference: 'x' })).toBe('invalid_payload')
    await refuses(payment(alice, hub, 40), 'invalid_payload')
    expect(await credits(alice)).toEqual([100])
  })
})

test('a payment is no redemption, a redemption no payment, and each says so', async () => {
  const paid = payment(alice, bob, 5)
  await settle(paid)
  const { x402Version, paymentPayload } = paid.request
  const asRedemption = await ask(hub, 'x402Redeem', { x402Version, paymentPayload, reference: 'INVOICE-77' })
  expect(asRedemption.json).toMatchObject({ success: false, errorReason: 'invalid_payload' })
  const taken = redemption(alice, 5, 'invoice 7')
  expect((await ask(hub, 'x402Redeem', taken.request)).json['success']).toBe(true)
  const other = await ask(hub, 'x402Redeem', { ...taken.request, reference: 'invoice 8' })
  expect(other.json['errorReason']).toBe('invalid_payload')
  const terms = (taken.request['paymentPayload'] as { accepted: Record<string, unknown> }).accepted
  const asPayment = await ask(hub, 'x402Settle', requestOf(taken.authorization, terms))
  expect(asPayment.json['errorReason']).toBe('invalid_payload')
})

test('the signature is looked at last: junk of a stranger costs none', async () => {
  const { verifier } = hub.running.hub.context
  let checks = 0
  const { verify: check } = verifier
  verifier.verify = (...given) => {
    checks += 1
    return check.apply(verifier, given)
  }
  try {
    const stranger = new TestAgent(hub)
    await settle(payment(stranger, bob, 1))
    await settle(payment(alice, stranger, 1))
    await settle(payment(alice, bob, 1, { notBefore: 1, notAfter: 2 }))
    await ask(hub, 'x402Capture', order(bob, payment(alice, bob, 1), 1))
    expect(checks).toBe(0)
    await settle(payment(alice, bob, 1))
    expect(checks).toBe(1)
  } finally {
    verifier.verify = check
  }
})
