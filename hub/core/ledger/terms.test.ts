/** What a payment request says, held to its authorization: which sentence it is refused with, and where each edge is. */
import { describe, expect, test } from 'vitest'
import { cidText } from '../../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../../protocol/encoding/bytes.ts'
import {
  Authorization,
  type AuthorizationBody,
  HOLD_MAX_MS,
  networkOf,
  redemptionPurpose,
  transactionOf,
} from '../../../protocol/proof/payment.ts'
import { agent, fixture } from '../../../protocol/testing/agents.ts'
import { wire3Routes } from '../../../protocol/wire3/routes.ts'
import { PaymentRefused } from './refused.ts'
import { checkReference, checkRules, type PaymentRequest, paymentOf, type Terms } from './terms.ts'

const NOW_MS = 1_800_000_000_000
const END_MS = NOW_MS + 60_000
const [alice, bob, hub] = ['alice', 'bob', 'the hub'].map(name => agent(name)) as [
  ReturnType<typeof agent>,
  ReturnType<typeof agent>,
  ReturnType<typeof agent>,
]
const NETWORK = networkOf(hub.aid)

const signed = (changes: Partial<AuthorizationBody> = {}): Authorization =>
  Authorization.sign(alice.identitySeed, {
    v: 1,
    payer: alice.aid,
    payerKelSeq: 0,
    payTo: bob.aid,
    amount: 30,
    network: NETWORK,
    nonce: new Uint8Array(16),
    notBefore: NOW_MS,
    notAfter: END_MS,
    ...changes,
  })
const terms = (changes: Partial<Terms> = {}): Terms => ({
  scheme: 'svc-credit',
  network: NETWORK,
  asset: 'credit',
  amount: '30',
  payTo: bob.aid,
  extra: undefined,
  ...changes,
})
const request = (changes: Partial<PaymentRequest> = {}, of = signed()): PaymentRequest => ({
  versions: [2, 2],
  accepted: terms(),
  required: terms(),
  authorization: Authorization.encode(of),
  ...changes,
})
/** Reason and sentence of a refusal; undefined where there is none. */
function said(action: () => unknown): string | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    if (error instanceof PaymentRefused) return `${error.code}: ${error.message}`
    throw error
  }
}
const of = (given: PaymentRequest) => said(() => paymentOf(given, hub.aid))
const asked = (hold_s: unknown) => terms({ extra: { hold_s } })
const ruled = (given: Partial<PaymentRequest>, body: Partial<AuthorizationBody> = {}) =>
  said(() => checkRules(request(given), signed(body).body, NOW_MS))

describe('the payment of a request', () => {
  test('is named by the content of its authorization', () => {
    const authorization = signed()
    const payment = paymentOf(request({}, authorization), hub.aid)
    expect(payment.transaction).toEqual(transactionOf(authorization))
    expect(payment.authorization.body).toEqual(authorization.body)
  })

  test('needs no terms of a payee where it is a redemption', () => {
    expect(of(request({ required: undefined }))).toBeUndefined()
  })

  test('is in a version, under a scheme and on the network that are served here', () => {
    expect(of(request({ versions: [2, 1] }))).toMatch(/^invalid_x402_version/)
    for (const side of ['accepted', 'required'] as const) {
      expect(of(request({ [side]: terms({ scheme: 'exact' }) }))).toMatch(/^unsupported_scheme/)
      expect(of(request({ [side]: terms({ network: networkOf(bob.aid) }) }))).toMatch(/^network_mismatch/)
    }
    expect(of(request({}, signed({ network: networkOf(bob.aid) })))).toMatch(/^network_mismatch/)
    const elsewhere = networkOf(bob.aid)
    const both = { accepted: terms({ network: elsewhere }), required: terms({ network: elsewhere }) }
    expect(of(request(both, signed({ network: elsewhere })))).toMatch(/^network_mismatch/)
  })

  test.each([
    [{ asset: 'usdc' }, 'the asset is not credit'],
    [{ amount: '31' }, 'another amount was authorized'],
    [{ amount: 'thirty' }, 'another amount was authorized'],
    [{ payTo: alice.aid }, 'another payee was authorized'],
  ])('says on both sides what was authorized, unlike %j', (changes, why) => {
    for (const side of ['accepted', 'required'] as const)
      expect(of(request({ [side]: terms(changes) }))).toMatch(new RegExp(`^invalid_payload: .*${why}$`))
  })

  test('is one of bytes that are an authorization', () => {
    expect(of(request({ authorization: new Uint8Array(3) }))).toMatch(/^malformed_payment/)
  })
})

describe('a hold', () => {
  const HOLD_MS = 600_000
  const held = (holdUntil: number) => ({ holdUntil })

  test('lasts as many seconds after its authorization as its payee asked', () => {
    expect(ruled({ required: asked(600) }, held(END_MS + HOLD_MS))).toBeUndefined()
    for (const off of [-1, 1])
      expect(ruled({ required: asked(600) }, held(END_MS + HOLD_MS + off))).toMatch(
        'lasts for another time than was asked for',
      )
  })

  test.each([
    ['nobody asked for it', undefined, HOLD_MS, 'the payee did not ask for a hold'],
    ['the time is a text', '600', HOLD_MS, 'hold_s is no whole number of seconds'],
    ['the time is a part of a second', 1.5, 1500, 'hold_s is no whole number of seconds'],
    ['the payer holds nothing', 600, undefined, 'the payee asked for a hold'],
  ])('is not made where %s', (_, seconds, lastsMs, why) => {
    const body = lastsMs === undefined ? {} : held(END_MS + lastsMs)
    const required = seconds === undefined ? terms() : asked(seconds)
    expect(ruled({ required }, body)).toMatch(new RegExp(`^invalid_payload: .*${why}$`))
  })

  test('lasts thirty days at most, to the second', () => {
    const seconds = HOLD_MAX_MS / 1000
    expect(seconds).toBe(30 * 24 * 3600)
    expect(ruled({ required: asked(seconds) }, held(END_MS + HOLD_MAX_MS))).toBeUndefined()
    expect(ruled({ required: asked(seconds + 1) }, held(END_MS + HOLD_MAX_MS + 1000))).toMatch(
      'a hold lasts 30 days at most',
    )
  })

  test('is not made once it would be over', () => {
    const body = { notBefore: NOW_MS - 120_000, notAfter: NOW_MS - 60_000 }
    expect(ruled({ required: asked(60) }, { ...body, holdUntil: NOW_MS })).toMatch(/^expired/)
    expect(
      ruled({ required: asked(60) }, { ...body, notAfter: body.notAfter + 1, holdUntil: NOW_MS + 1 }),
    ).toBeUndefined()
  })

  test('is neither a refund nor a redemption', () => {
    const body = { ...held(END_MS + HOLD_MS), refundOf: transactionOf(signed()) }
    expect(ruled({ required: asked(600) }, body)).toMatch('a refund is not held')
    const purpose = redemptionPurpose('invoice 7')
    const given = { required: undefined, reference: 'invoice 7' }
    expect(ruled(given, { ...held(END_MS + HOLD_MS), purpose })).toMatch('a redemption cannot be held')
    expect(ruled(given, { purpose })).toBeUndefined()
  })

  test('is not made where neither side spoke of one', () => {
    expect(ruled({})).toBeUndefined()
    expect(ruled({}, { refundOf: transactionOf(signed()) })).toBeUndefined()
  })
})

describe('the reference of a redemption', () => {
  test('is the one that its payer signed', () => {
    const { body } = signed({ purpose: redemptionPurpose('invoice 7') })
    expect(said(() => checkReference('invoice 7', body))).toBeUndefined()
    expect(said(() => checkReference('invoice 8', body))).toMatch('the purpose is not this reference')
    expect(said(() => checkReference('invoice 7', signed().body))).toMatch(
      'the purpose is not this reference',
    )
    expect(
      ruled({ required: undefined, reference: 'invoice 8' }, { purpose: body.purpose as Uint8Array }),
    ).toMatch('the purpose is not this reference')
  })

  test('gives nothing back', () => {
    const { body } = signed({ purpose: redemptionPurpose('x'), refundOf: transactionOf(signed()) })
    expect(said(() => checkReference('x', body))).toMatch('a redemption gives nothing back')
  })
})

describe('a recorded body of x402', () => {
  const vectors = fixture<{
    hub: string
    nowMs: number
    valid: { reason: string; transaction: string; request: unknown }[]
    invalid: { reason: string; fault: string; request: unknown }[]
  }>('payment/x402.json')
  /** The id of the payment, or the code of its refusal. */
  function outcomeOf(given: unknown): string {
    const parsed = wire3Routes.x402Settle.request.safeParse(given)
    if (!parsed.success) return 'request_malformed'
    const { x402Version, paymentPayload, paymentRequirements } = parsed.data
    const asked: PaymentRequest = {
      versions: [x402Version, paymentPayload.x402Version],
      accepted: { extra: undefined, ...paymentPayload.accepted },
      required: { extra: undefined, ...paymentRequirements },
      authorization: fromBase64url(paymentPayload.payload.authorization),
    }
    try {
      const { authorization, transaction } = paymentOf(asked, vectors.hub)
      checkRules(asked, authorization.body, vectors.nowMs)
      return cidText(transaction)
    } catch (error) {
      if (error instanceof PaymentRefused) return error.code
      throw error
    }
  }

  test.each(vectors.valid)('is taken: $reason', ({ request: given, transaction }) => {
    expect(outcomeOf(given)).toBe(transaction)
  })

  test.each(vectors.invalid)('is refused: $reason, $fault', ({ request: given, fault }) => {
    expect(outcomeOf(given)).toBe(fault)
  })
})
