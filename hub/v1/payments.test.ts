/** Payments over wire 1 (the earlier line, §4.6): what is paid, in which six words it is refused, and what is redeemed. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { fromBase64, toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { encodeKel, keyAt } from '../../protocol/identity/kel.ts'
import { networkOf, SettlementReceipt, transactionOf } from '../../protocol/proof/payment.ts'
import { failures } from '../../protocol/wire1/failures.ts'
import { rotateIdentity } from '../core/identity.ts'
import { PaymentRefused, paymentReasons } from '../core/ledger/refused.ts'
import { HOUR_MS } from '../core/limits.ts'
import { random, startTestHub, type TestHub } from '../testing/hub.ts'
import { grant, type Paid, payment, redemption } from '../testing/payments.ts'
import { expectReply, inBase64, OpenAgent, Wire1Client, type Wire1Reply } from '../testing/wire1.ts'

const MINUTE_MS = 60_000
const MIB = 1024 * 1024

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
})

const settle = (paid: Paid): Promise<Wire1Reply> => client.post('/x402/settle', inBase64(paid))
const verify = (paid: Paid): Promise<Wire1Reply> => client.post('/x402/verify', inBase64(paid))
const redeem = (paid: Paid): Promise<Wire1Reply> => client.post('/x402/redeem', inBase64(paid))
const balanceOf = async ({ aid }: OpenAgent) =>
  Number((await client.get(`/agents/${aid}/balance`)).json['balance'])
const balances = () => Promise.all([alice, bob].map(balanceOf))
const network = () => networkOf(hub.aid)

/** Neither pays nor may be paid, and both say the same, with a sentence. */
async function refuses(paid: Paid, reason: string): Promise<void> {
  const before = await balances()
  const verified = await verify(paid)
  expect(verified.json).toMatchObject({ isValid: false, invalidReason: reason })
  expectReply('x402Verify', verified)
  const settled = await settle(paid)
  expectReply('x402Settle', settled)
  const { status, json } = settled
  expect([status, json]).toEqual([
    200,
    {
      ...{ success: false, errorReason: reason, error: expect.any(String), transaction: '' },
      network: network(),
      payer: paid.authorization.body.payer,
    },
  ])
  expect(await balances()).toEqual(before)
}

describe('a payment', () => {
  test('moves credits once, and every repeat has the same answer with the signed receipt', async () => {
    const paid = payment(alice, bob, 30)
    const verified = await verify(paid)
    expect(verified.json).toEqual({ isValid: true, payer: alice.aid })
    expectReply('x402Verify', verified)
    const first = await settle(paid)
    expectReply('x402Settle', first)
    expect([first.status, first.json]).toEqual([
      200,
      {
        ...{ success: true, payer: alice.aid, transaction: paid.transaction, network: network() },
        amount: '30',
        extensions: { 'svc.settlement.receipt': expect.any(String) },
      },
    ])
    const extensions = first.json['extensions'] as Record<string, string>
    const receipt = SettlementReceipt.decode(fromBase64(extensions['svc.settlement.receipt'] ?? ''))
    expect(receipt.body).toMatchObject({ kind: 0, payer: alice.aid, payee: bob.aid, amount: 30 })
    expect(receipt.body.transaction).toEqual(transactionOf(paid.authorization))
    const { kel } = hub.running.hub.context.identity
    expect(SettlementReceipt.verify(keyAt(kel, 0) as Uint8Array, receipt)).toBe(true)
    expect((await settle(paid)).json).toEqual(first.json)
    expect(await balances()).toEqual([70, 130])
    expect((await verify(paid)).json).toMatchObject({ isValid: false, invalidReason: 'malformed_payment' })
  })

  test('needs no paymentRequirements, which are held to the authorization where they come along', async () => {
    const paid = payment(alice, bob, 5)
    const { paymentRequirements: terms, ...bare } = inBase64(paid)
    const other = { ...(terms as object), amount: '6' }
    const asked = await client.post('/x402/settle', { ...bare, paymentRequirements: other })
    expect([asked.status, asked.json['errorReason']]).toEqual([200, 'malformed_payment'])
    expect((await client.post('/x402/settle', bare)).json['success']).toBe(true)
  })

  test('that an agent shows with its receipt is given to a hub that may have lost it', async () => {
    const paid = payment(alice, bob, 5)
    const { extensions } = (await settle(paid)).json as { extensions: Record<string, string> }
    const takeBack = vi.spyOn(hub.running.hub.shownProofs, 'takeBack')
    const sent = inBase64(paid)
    const withReceipt = (given: unknown) =>
      client.post('/x402/settle', {
        ...sent,
        paymentPayload: {
          ...(sent['paymentPayload'] as object),
          extensions: { 'svc.settlement.receipt': given },
        },
      })
    expect((await withReceipt(extensions['svc.settlement.receipt'])).json['success']).toBe(true)
    const shown = takeBack.mock.calls.map(([, receipt]) => SettlementReceipt.decode(receipt).body.transaction)
    expect(shown).toEqual([transactionOf(paid.authorization)])
    for (const given of ['a-b_', 5]) expect((await withReceipt(given)).json['success']).toBe(true)
    expect(takeBack).toHaveBeenCalledTimes(1)
    expect(await balances()).toEqual([95, 105])
  })

  test('of a payer who has too little is 200 without success, and pays once there is enough', async () => {
    const paid = payment(alice, bob, 101)
    await refuses(paid, 'insufficient_funds')
    await grant(hub, alice.aid, 1)
    expect((await settle(paid)).json['success']).toBe(true)
    expect(await balances()).toEqual([0, 201])
  })

  test.each([
    ['the signature of somebody else', 'invalid_signature', () => payment(alice, bob, 1, { seed: bob.seed })],
    [
      'a time that is over by more than two minutes',
      'expired',
      () => {
        const notAfter = hub.clock.now() - 2 * MINUTE_MS - 1000
        return payment(alice, bob, 1, { notBefore: notAfter - HOUR_MS / 2, notAfter })
      },
    ],
    [
      'a time that is more than two minutes ahead',
      'expired',
      () => {
        const notBefore = hub.clock.now() + 2 * MINUTE_MS + 5000
        return payment(alice, bob, 1, { notBefore, notAfter: notBefore + MINUTE_MS })
      },
    ],
    ['a payer without an account', 'unknown_payer', () => payment(new OpenAgent(client), bob, 1)],
    [
      'the network of another hub',
      'network_mismatch',
      () => payment(alice, bob, 1, { network: networkOf(bob.aid) }),
    ],
    ['a payee that is not here', 'malformed_payment', () => payment(alice, new OpenAgent(client), 1)],
    ['a hold', 'malformed_payment', () => payment(alice, bob, 1, { holdSeconds: 60 })],
    ['payer and payee in one', 'malformed_payment', () => payment(alice, alice, 1)],
  ])('with %s is %s', async (_, reason, made) => refuses(made(), reason))

  test.each([
    ['within two minutes after its end', -MINUTE_MS],
    ['within two minutes before its start', MINUTE_MS],
  ])('%s is taken', async (_, offset) => {
    const at = hub.clock.now() + offset
    const paid = payment(alice, bob, 1, {
      notBefore: offset < 0 ? at - MINUTE_MS : at,
      notAfter: offset < 0 ? at : at + HOUR_MS / 2,
    })
    expect((await settle(paid)).json['success']).toBe(true)
  })

  test('whose authorization is no base64 or no authorization is 200, one that is no JSON object 400', async () => {
    const given = (authorization: string) => {
      const sent = inBase64(payment(alice, bob, 1))
      return {
        ...sent,
        paymentPayload: { ...(sent['paymentPayload'] as object), payload: { authorization } },
      }
    }
    for (const authorization of ['a-b_', '!', toBase64(utf8('nothing')), '']) {
      const { status, json } = await client.post('/x402/settle', given(authorization))
      expect([status, json['success'], json['errorReason'], json['payer']]).toEqual([
        200,
        false,
        'malformed_payment',
        undefined,
      ])
    }
    expect((await client.post('/x402/settle', [])).status).toBe(400)
    expect((await client.post('/x402/settle', { x402Version: 2 })).json).toEqual({
      error: expect.any(String),
    })
  })

  test.each([
    ['x402Version', { x402Version: 1 }],
    ['scheme', { scheme: 'exact' }],
  ])('of another %s is malformed_payment', async (_, change) => {
    const sent = inBase64(payment(alice, bob, 1))
    const payload = sent['paymentPayload'] as { accepted: object }
    const changed =
      'scheme' in change
        ? { ...sent, paymentPayload: { ...payload, accepted: { ...payload.accepted, ...change } } }
        : { ...sent, ...change }
    expect((await client.post('/x402/settle', changed)).json['errorReason']).toBe('malformed_payment')
  })

  test.each(Object.keys(paymentReasons) as (keyof typeof paymentReasons)[])(
    'that the core refuses as %s has one of six words',
    async reason => {
      const spy = vi.spyOn(hub.running.hub.credits, 'settle')
      spy.mockRejectedValueOnce(new PaymentRefused(reason))
      const { status, json } = await settle(payment(alice, bob, 1))
      const words = ['insufficient_funds', 'invalid_signature', 'expired', 'unknown_payer']
      const others =
        reason === 'network_mismatch' || reason === 'peer_limit' ? 'network_mismatch' : 'malformed_payment'
      const word = words.includes(reason) ? reason : others
      expect([status, json['errorReason']]).toEqual([200, word])
      expect(json['error']).toBe(new PaymentRefused(reason).message)
    },
  )

  test('is not made while the books do not agree, and the hub says so with 500', async () => {
    hub.running.hub.credits.stopped = true
    const { status, json } = await settle(payment(alice, bob, 1))
    hub.running.hub.credits.stopped = false
    expect([status, Object.keys(json)]).toEqual([failures.failed, ['error']])
  })

  test.each(['/x402/verify', '/x402/settle', '/x402/redeem', '/x402/witness', '/federation/clear'])(
    'has a body of at most 1 MiB at %s',
    async path => {
      const { status, json } = await client.post(path, { x: 'x'.repeat(MIB) })
      expect([status, json['error']]).toEqual([400, expect.stringContaining(String(MIB))])
    },
  )

  test('is for the networks that the hub names, which is its own alone without another line', async () => {
    const supported = await client.get('/x402/supported')
    expectReply('x402Supported', supported)
    expect(supported.json).toEqual({
      kinds: [{ x402Version: 2, scheme: 'svc-credit', network: network() }],
    })
  })
})

describe('a redemption', () => {
  const asRedemption = (paid: Paid, amount: number) => ({
    ...{ auth_id: paid.transaction, aid: alice.aid, amount, reference: 'invoice 1' },
    at: expect.stringMatching(/Z$/),
    receipt: expect.any(String),
  })

  test('retires credits for a reference, once, and is listed', async () => {
    const paid = redemption(alice, 40, 'invoice 1')
    const first = await redeem(paid)
    expectReply('x402Redeem', first)
    expect([first.status, first.json]).toEqual([200, { success: true, ...asRedemption(paid, 40) }])
    expect((await redeem(paid)).json).toEqual(first.json)
    expect(await balanceOf(alice)).toBe(60)
    const receipt = SettlementReceipt.decode(fromBase64(String(first.json['receipt'])))
    expect(receipt.body).toMatchObject({ kind: 4, payer: alice.aid, payee: hub.aid, amount: 40 })
    const listed = await client.get(`/agents/${alice.aid}/redemptions`)
    expectReply('redemptions', listed)
    expect(listed.json).toEqual({
      aid: alice.aid,
      redemptions: [asRedemption(paid, 40)],
    })
  })

  test('is one transaction: where its record cannot be written nothing is burned, and no 400 has a redemption', async () => {
    const paid = redemption(alice, 40, 'invoice 2')
    vi.spyOn(hub.running.hub.supply, 'withChange').mockResolvedValueOnce({ outcome: 'halted' })
    const { status, json } = await redeem(paid)
    expect([status, json]).toEqual([500, { error: expect.any(String) }])
    expect(await balanceOf(alice)).toBe(100)
    expect((await redeem(paid)).json['success']).toBe(true)
  })

  test.each([
    ['another reference than was signed', () => ({ ...inBase64(redemption(alice, 1, 'a')), reference: 'b' })],
    ['a payee that is not the hub', () => ({ ...inBase64(payment(alice, bob, 1)), reference: 'a' })],
  ])('with %s is 200 without success', async (_, made) => {
    const { status, json } = await client.post('/x402/redeem', made())
    expect([status, json['success'], json['errorReason']]).toEqual([200, false, 'malformed_payment'])
    expect(await balanceOf(alice)).toBe(100)
  })

  test('is not made by a settlement', async () => {
    await refuses(payment(alice, { aid: hub.aid }, 1), 'malformed_payment')
  })
})

describe('clearing', () => {
  const LIMIT = 1000
  let peer: TestHub
  beforeAll(async () => {
    peer = await startTestHub()
    const kel = toBase64url(encodeKel(peer.running.hub.context.identity.kel.events))
    await hub.running.order({ command: 'peers', add: { url: peer.url, kel } })
    await hub.running.order({ command: 'peers', limit: { aid: peer.aid, credits: LIMIT } })
  })
  afterAll(() => peer.close())

  /** The peer's word that it owes this hub what its agent paid to one here. */
  const receiptOf = (amount: number, by = peer, at = hub, seed = by.running.hub.context.identity.seed) =>
    SettlementReceipt.sign(seed, {
      ...{ v: 1, transaction: Uint8Array.from([1, 0x55, 0x12, 0x20, ...random(32)]), kind: 0 },
      ...{ payer: new OpenAgent(client).aid, payee: bob.aid, amount, network: networkOf(by.aid) },
      ...{ settledAt: hub.clock.now(), hub: by.aid, hubKelSeq: 0, peer: at.aid },
      supplyHead: [0, by.running.hub.supply.head.id],
    })
  const clear = (receipt: SettlementReceipt, peer_aid = peer.aid) =>
    client.post('/federation/clear', { peer_aid, receipt: toBase64(SettlementReceipt.encode(receipt)) })

  test('books what a peer signed that it owes, once, and tells what it owes then', async () => {
    const receipt = receiptOf(30)
    const cleared = await clear(receipt)
    expectReply('clear', cleared)
    expect(cleared.json).toEqual({ peer: peer.aid, owed: 30 })
    expect((await clear(receipt)).json).toEqual({ peer: peer.aid, owed: 30 })
    expect(await balanceOf(bob)).toBe(130)
    expect((await client.get('/x402/supply')).json['supply']).toMatchObject({
      ...{ owed_by_peers: 30, due_to_peers: 0, chain_agrees: true },
    })
  })

  test('answers 200 also where nothing is booked: owed tells', async () => {
    const { status, json } = await clear(receiptOf(LIMIT))
    expect([status, json]).toEqual([200, { peer: peer.aid, owed: 30 }])
  })

  test('takes no receipt without the signature of the hub that it names, nor one between others', async () => {
    const forged = await clear(receiptOf(1, peer, hub, random(32)))
    expect([forged.status, String(forged.json['error']).split(':')[0]]).toEqual([401, 'INVALID_SIGNATURE'])
    const { seed } = peer.running.hub.context.identity
    const between = SettlementReceipt.sign(seed, { ...receiptOf(1).body, hub: bob.aid })
    expect((await clear(between)).status).toBe(400)
    expect((await clear(receiptOf(1), bob.aid)).status).toBe(403)
    expect((await client.post('/federation/clear', { peer_aid: peer.aid, receipt: 'AAAA' })).status).toBe(400)
  })

  test('takes none under a key that the peer has retired, since nobody but a thief may have it', async () => {
    const receipt = receiptOf(1)
    const { peers } = hub.running.hub.context
    const newer = rotateIdentity(peer.directory, peer.running.hub.context.identity, hub.clock.now, random)
    peers.follow(peer.aid, newer.kel)
    expect((await clear(receipt)).status).toBe(401)
    const anew = SettlementReceipt.sign(newer.seed, { ...receipt.body, hubKelSeq: 1 })
    expect((await clear(anew)).json).toEqual({ peer: peer.aid, owed: 31 })
  })

  test('lists no network of a peer, and takes no payment in its credits', async () => {
    expect((await client.get('/x402/supported')).json['kinds']).toHaveLength(1)
    const paid = payment(alice, bob, 1, { network: networkOf(peer.aid) })
    const sent = inBase64(paid)
    const named = (terms: unknown) => ({ ...(terms as object), network: networkOf(peer.aid) })
    const payload = sent['paymentPayload'] as { accepted: object }
    const { json } = await client.post('/x402/settle', {
      ...sent,
      paymentRequirements: named(sent['paymentRequirements']),
      paymentPayload: { ...payload, accepted: named(payload.accepted) },
    })
    expect([json['success'], json['errorReason']]).toEqual([false, 'network_mismatch'])
  })
})
