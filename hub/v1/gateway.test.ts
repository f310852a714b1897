/** The gateway over wire 1 (the earlier line, §4.6): a price, a payment, a voucher; and no way to lose or double one. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { fromBase64, toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { cardText, type UnsignedCard } from '../../protocol/identity/card.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { signOpenCard } from '../../protocol/identity/open-card.ts'
import { networkOf, SettlementReceipt, transactionOf } from '../../protocol/proof/payment.ts'
import { callPurpose, Voucher } from '../../protocol/proof/voucher.ts'
import { StoreBroken } from '../store/port.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { grant, type Paid, payment } from '../testing/payments.ts'
import {
  expectReply,
  inBase64,
  OpenAgent,
  paymentHeader,
  Wire1Client,
  type Wire1Reply,
} from '../testing/wire1.ts'

const MINUTE_MS = 60_000
const REDEEM_AT = 'https://bob.example/redeem'

let hub: TestHub
let client: Wire1Client
let alice: OpenAgent
let bob: OpenAgent
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
})
afterAll(() => hub.close())
beforeEach(async () => {
  vi.restoreAllMocks()
  alice = await client.registered({ name: 'alice' })
  bob = await client.registered({ name: 'bob' })
  await sells(bob)
})

type Offered = { prices?: unknown; redeemAt?: string | undefined; uri?: string }

/** Numbers of cards rise. */
let cards = 0
/** The card of an agent, as its registration leaves it. */
async function sells(
  agent: OpenAgent,
  { prices = [{ capability: 'text.count', amount: 5 }], redeemAt, uri = 'svc.pricing' }: Offered = {
    redeemAt: REDEEM_AT,
  },
): Promise<void> {
  const plain = { url: 'https://bob.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
  const redeem = { url: redeemAt ?? '', protocolBinding: 'x402-redeem', protocolVersion: '2' }
  const card: UnsignedCard = {
    ...{ name: 'bob', description: 'counts words', version: '1' },
    supportedInterfaces: redeemAt === undefined ? [plain] : [plain, redeem],
    capabilities: { extensions: [{ uri, params: { prices: prices as never } }] },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    skills: [{ id: 'text.count', name: 'count', description: 'counts words', tags: ['text'] }],
  }
  const { seed, aid, log } = agent
  const signed = signOpenCard(card, { seed, aid, seq: log.seq, number: ++cards })
  const text = cardText(signed)
  const { outcome } = await hub.running.hub.context.store.putOpenCard({
    aid,
    seq: cards,
    kelSeq: log.seq,
    card: text,
  })
  expect(outcome).toBe('stored')
}

const path = (capability = 'text.count', { aid } = bob) =>
  `/x402/resource/${aid}/${encodeURIComponent(capability)}`
const ask = (capability?: string, of?: OpenAgent) => client.get(path(capability, of))
const buy = (paid: Paid, capability?: string, of?: OpenAgent): Promise<Wire1Reply> =>
  client.ask('GET', path(capability, of), undefined, { 'PAYMENT-SIGNATURE': paymentHeader(paid) })
const settle = (paid: Paid) => client.post('/x402/settle', inBase64(paid))
const balances = () =>
  Promise.all(
    [alice, bob].map(async ({ aid }) => (await client.get(`/agents/${aid}/balance`)).json['balance']),
  )
const shown = (reply: Wire1Reply, name: string): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(fromBase64(reply.headers.get(name) ?? '')))
const voucherIn = ({ json }: Wire1Reply) => Voucher.decode(fromBase64(String(json['voucher'])))

describe('without a payment', () => {
  test('the gateway answers 402 with the price of the card, in a header and in the body', async () => {
    const reply = await ask()
    const required = {
      x402Version: 2,
      accepts: [
        {
          ...{ scheme: 'svc-credit', network: networkOf(hub.aid), amount: '5', asset: 'credit' },
          ...{ payTo: bob.aid, maxTimeoutSeconds: 600 },
        },
      ],
      resource: { url: `${hub.url}${path()}`, description: expect.stringContaining('text.count') },
    }
    expect([reply.status, reply.json]).toEqual([
      402,
      { ...required, redeem_at: REDEEM_AT, how: expect.stringContaining('PAYMENT-SIGNATURE') },
    ])
    expect(shown(reply, 'payment-required')).toEqual(required)
    expect(reply.headers.get('payment-response')).toBeNull()
  })

  test('a capability of any characters has its price by its name', async () => {
    await sells(bob, { prices: [{ capability: 'a/b ü?', amount: 3 }], redeemAt: REDEEM_AT })
    expect((await ask('a/b ü?')).json['accepts']).toMatchObject([{ amount: '3' }])
  })

  test('a capability may have a name of 256 bytes, which its voucher has', async () => {
    const long = 'ü'.repeat(128)
    await sells(bob, { prices: [{ capability: long, amount: 5 }], redeemAt: REDEEM_AT })
    expect((await ask(long)).status).toBe(402)
    expect(voucherIn(await buy(payment(alice, bob, 5), long)).body.capability).toBe(long)
  })

  test.each([
    ['a capability without a price', () => ask('text.other')],
    ['an agent that is not here', () => ask('text.count', new OpenAgent(client))],
    ['an agent without a card', () => ask('text.count', alice)],
    ['a name that is no text', () => client.get(`/x402/resource/${bob.aid}/%ff`)],
  ])('%s is 404', async (_, asked) => {
    expect((await asked()).status).toBe(404)
  })

  test.each([
    ['of nothing', [{ capability: 'text.count', amount: 0 }]],
    ['of half a credit', [{ capability: 'text.count', amount: 1.5 }]],
    ['as text', [{ capability: 'text.count', amount: '5' }]],
    ['for a name over 256 bytes', [{ capability: 'x'.repeat(257), amount: 5 }]],
    ['in another form', { 'text.count': 5 }],
  ])('a price %s is none', async (_, prices) => {
    await sells(bob, { prices, redeemAt: REDEEM_AT })
    expect((await ask()).status).toBe(404)
    expect((await ask('x'.repeat(257))).status).toBe(404)
  })

  test('prices count under svc.pricing alone', async () => {
    await sells(bob, { redeemAt: REDEEM_AT, uri: 'https://other.example' })
    expect((await ask()).status).toBe(404)
  })

  test.each([
    ['names no x402-redeem interface', undefined],
    ['names one that is no web address', 'mailto:bob@bob.example'],
  ])('a provider whose card %s is 409 with a hint, and nothing is taken', async (_, redeemAt) => {
    await sells(bob, { redeemAt })
    for (const reply of [await ask(), await buy(payment(alice, bob, 5))])
      expect([reply.status, reply.json]).toEqual([
        409,
        { error: expect.any(String), hint: expect.stringContaining('x402-redeem') },
      ])
    expect(await balances()).toEqual([100, 100])
  })
})

describe('with a payment', () => {
  test('the gateway settles it and gives a voucher that the hub has signed', async () => {
    const purpose = callPurpose(contentId(utf8('{"args":{},"capability":"text.count"}')))
    const paid = payment(alice, bob, 5, { purpose })
    const reply = await buy(paid)
    expectReply('gateway', reply)
    const voucher = voucherIn(reply)
    const { issuedAt, notAfter } = voucher.body
    expect([reply.status, reply.json]).toEqual([
      200,
      {
        ...{ voucher: expect.any(String), redeem_at: REDEEM_AT, capability: 'text.count' },
        ...{ provider: bob.aid, transaction: paid.transaction },
        ...{ expires_at: new Date(notAfter).toISOString(), how: expect.stringContaining('redeem_at') },
      },
    ])
    expect(voucher.body).toEqual({
      ...{ v: 1, id: expect.any(Uint8Array), transaction: transactionOf(paid.authorization) },
      ...{ payer: alice.aid, provider: bob.aid, capability: 'text.count', purpose, amount: 5 },
      ...{ network: networkOf(hub.aid), issuedAt, notAfter: issuedAt + 10 * MINUTE_MS },
      ...{ hub: hub.aid, hubKelSeq: 0 },
    })
    const { kel } = hub.running.hub.context.identity
    expect(Voucher.verify(keyAt(kel, 0) as Uint8Array, voucher)).toBe(true)
    expect(await balances()).toEqual([95, 105])
    const response = shown(reply, 'payment-response') as { extensions: Record<string, string> }
    expect(response).toMatchObject({ success: true, payer: alice.aid, transaction: paid.transaction })
    const receipt = fromBase64(response.extensions['svc.settlement.receipt'] ?? '')
    expect(SettlementReceipt.decode(receipt).body).toMatchObject({ kind: 0, amount: 5 })
  })

  test('a repeat gives the same voucher and takes nothing, also many at once and after a restart', async () => {
    const paid = payment(alice, bob, 5)
    const replies = await Promise.all([1, 2, 3].map(() => buy(paid)))
    const [first] = replies
    for (const reply of replies) expect(reply.json).toEqual(first?.json)
    await hub.restart()
    const again = await buy(paid)
    expect(again.json).toEqual(first?.json)
    expect(again.headers.get('payment-response')).toBe(first?.headers.get('payment-response'))
    expect(await balances()).toEqual([95, 105])
  })

  test('a repeat gives it whatever became of card, price and provider', async () => {
    const paid = payment(alice, bob, 5)
    const first = await buy(paid)
    await sells(bob, { prices: [{ capability: 'text.count', amount: 50 }], redeemAt: 'https://new.example/' })
    expect((await buy(paid)).json).toEqual(first.json)
    await client.post(`/agents/${bob.aid}/deregister`, bob.sign('profile'))
    expect((await buy(paid)).json).toEqual(first.json)
  })

  test('a repeat gives it after the payer has rotated its key, and cannot pay under the old one', async () => {
    const paid = payment(alice, bob, 5)
    const first = await buy(paid)
    const late = payment(alice, bob, 5)
    alice.rotate()
    await alice.register()
    expect((await buy(paid)).json).toEqual(first.json)
    await refuses(await buy(late), 'invalid_signature', [95, 105])
    expect((await buy(payment(alice, bob, 5))).status).toBe(200)
  })

  test('two payments have two vouchers', async () => {
    const [one, two] = [await buy(payment(alice, bob, 5)), await buy(payment(alice, bob, 5))]
    expect(voucherIn(one).body.id).not.toEqual(voucherIn(two).body.id)
    expect(await balances()).toEqual([90, 110])
  })

  /** 402 again, with why, and nothing was taken. */
  async function refuses(reply: Wire1Reply, reason: string, left = [100, 100]): Promise<void> {
    expect([reply.status, reply.json['error'], reply.json['redeem_at']]).toEqual([
      402,
      expect.any(String),
      REDEEM_AT,
    ])
    expect(shown(reply, 'payment-response')).toMatchObject({ success: false, errorReason: reason })
    expect(shown(reply, 'payment-required')['accepts']).toHaveLength(1)
    expect(await balances()).toEqual(left)
  }

  test('of too little or too much, or to another, nothing is taken', async () => {
    await refuses(await buy(payment(alice, bob, 4)), 'malformed_payment')
    await refuses(await buy(payment(alice, bob, 6)), 'malformed_payment')
    const carol = await client.registered()
    await refuses(await buy(payment(alice, carol, 5)), 'malformed_payment')
  })

  test('of somebody without enough nothing is taken, and the same pays later', async () => {
    const poor = await client.registered()
    await settle(payment(poor, bob, 100))
    const paid = payment(poor, bob, 5)
    await refuses(await buy(paid), 'insufficient_funds', [100, 200])
    await grant(hub, poor.aid, 5)
    expect((await buy(paid)).status).toBe(200)
  })

  test('that is held, or gives another one back, nothing is bought', async () => {
    await refuses(await buy(payment(alice, bob, 5, { holdSeconds: 60 })), 'malformed_payment')
    const before = payment(bob, alice, 5)
    await settle(before)
    const refundOf = transactionOf(before.authorization)
    await refuses(await buy(payment(alice, bob, 5, { refundOf })), 'malformed_payment', [105, 95])
  })

  test('that was settled for something else gives no voucher: it would be spent twice', async () => {
    const paid = payment(alice, bob, 5)
    await settle(paid)
    await refuses(await buy(paid), 'malformed_payment', [95, 105])
  })

  test('that bought something else gives no other voucher', async () => {
    const prices = ['text.count', 'text.other'].map(capability => ({ capability, amount: 5 }))
    await sells(bob, { prices, redeemAt: REDEEM_AT })
    const paid = payment(alice, bob, 5)
    const first = await buy(paid)
    await refuses(await buy(paid, 'text.other'), 'malformed_payment', [95, 105])
    expect((await buy(paid)).json).toEqual(first.json)
  })

  test('the voucher is for who has the signature, not for who knows what was signed', async () => {
    const paid = payment(alice, bob, 5)
    await buy(paid)
    const { authorization } = paid
    const forged = { ...paid, authorization: { ...authorization, signature: new Uint8Array(64) } }
    await refuses(await buy(forged), 'invalid_signature', [95, 105])
  })

  test.each([
    ['no base64', 'a-b_'],
    ['no JSON', toBase64(utf8('x'))],
    ['no payment payload', toBase64(utf8('{"x402Version":2}'))],
  ])('whose header is %s the request is 400', async (_, given) => {
    const reply = await client.ask('GET', path(), undefined, { 'PAYMENT-SIGNATURE': given })
    expect([reply.status, reply.json]).toEqual([400, { error: expect.stringContaining('PAYMENT-SIGNATURE') }])
  })

  test('whose authorization is none, nothing is taken', async () => {
    const payload = inBase64(payment(alice, bob, 5))['paymentPayload'] as object
    for (const authorization of ['a-b_', 'AAAA']) {
      const given = toBase64(utf8(JSON.stringify({ ...payload, payload: { authorization } })))
      const reply = await client.ask('GET', path(), undefined, { 'PAYMENT-SIGNATURE': given })
      await refuses(reply, 'malformed_payment')
    }
  })
})

type Calls = Record<'voucher' | 'post', (of: unknown) => Promise<unknown>>

describe('a settlement that took the money and gave no voucher', () => {
  test.each([
    ['the store fails when the voucher is read', 'voucher', new Error('no page')],
    ['the disk fails after the commit', 'post', new StoreBroken('the disk is gone')],
  ] as const)(
    'because %s is 500 with its transaction; a repeat gives the voucher',
    async (_, what, fault) => {
      const { store } = hub.running.hub.context as unknown as { store: Calls }
      const real = store[what]
      let calls = 0
      vi.spyOn(store, what).mockImplementation(async of => {
        calls += 1
        const done = await real.call(store, of)
        // the first look finds none yet
        if (calls === (what === 'voucher' ? 2 : 1)) throw fault
        return done
      })
      const paid = payment(alice, bob, 5)
      const reply = await buy(paid)
      expect([reply.status, reply.json]).toEqual([
        500,
        {
          error: expect.stringContaining('no voucher'),
          hint: expect.stringContaining('again'),
          transaction: paid.transaction,
        },
      ])
      expect(await balances()).toEqual([95, 105])
      expect(hub.alerts.some(({ event }) => event.includes('voucher not given'))).toBe(true)
      const again = await buy(paid)
      expect([again.status, again.json['transaction']]).toEqual([200, paid.transaction])
      expect(await balances()).toEqual([95, 105])
    },
  )

  test('has no other way: payment and voucher are posted as one', async () => {
    const paid = payment(alice, bob, 5)
    const spy = vi.spyOn(hub.running.hub.context.store, 'post')
    await buy(paid)
    expect(spy.mock.calls.map(([posting]) => posting.voucher?.redeemAt)).toEqual([REDEEM_AT])
  })
})
