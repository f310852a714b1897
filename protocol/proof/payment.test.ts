/** Payments: authorizations, settlement receipts, orders about holds, and the hashes that bind them to their use. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CREDITS_MAX } from '../contract/limits.ts'
import { cidText, parseCid } from '../crypto/hash.ts'
import type { Signed } from '../crypto/signed.ts'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { decodeKel, keyAt, type VerifiedKel, verifyKel } from '../identity/kel.ts'
import { anyAid, anyUint, bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import {
  AUTHORIZATION_BYTES_MAX,
  Authorization,
  type AuthorizationBody,
  amountOfText,
  HoldOrder,
  hubOfNetwork,
  networkOf,
  paidMark,
  purposeOf,
  redemptionPurpose,
  SettlementReceipt,
  transactionOf,
} from './payment.ts'

type Case<N extends string> = { reason: string; body: Record<string, unknown> } & Record<N, string>
type Bad<N extends string> = { reason: string } & Record<N, string>
/** Well-formed; `fault` null: it holds beside this history. */
type Judged<N extends string> = { kel: string; cases: (Bad<N> & { fault: string | null })[] }
const authorizations = fixture<{
  seed: string
  publicKey: string
  valid: (Case<'authorization'> & { transaction: string })[]
  invalid: Bad<'authorization'>[]
  refused: Judged<'authorization'> & { hub: string }
  purposes: { paySalt: string; interactionId: string; requestCid: string; purpose: string }[]
  redemptions: { reference: string; purpose: string }[]
  marks: { paySalt: string; transaction: string; mark: string }[]
}>('payment/authorizations.json')
type Keys = { seed: string; publicKey: string }
const settlements = fixture<{
  hub: Keys
  payee: Keys
  receipts: { valid: Case<'receipt'>[]; invalid: Bad<'receipt'>[] }
  orders: { valid: Case<'order'>[]; invalid: Bad<'order'>[]; refused: Judged<'order'> }
}>('payment/settlements.json')

/** Bytes as hex, as the vectors have them. */
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return toHex(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** The first thing for which a signed body does not hold under the key state that its signer has now. */
function signerFault<T>(
  log: VerifiedKel,
  codec: { verify(key: Uint8Array, signed: Signed<T>): boolean },
  { object, signer, kelSeq }: { object: Signed<T>; signer: string; kelSeq: number },
): string | null {
  if (signer !== log.aid) return 'signer'
  const key = kelSeq === log.seq ? keyAt(log, kelSeq) : undefined
  if (key === undefined) return 'key_state'
  return codec.verify(key, object) ? null : 'signature'
}

describe('an authorization', () => {
  const { seed, publicKey, refused } = authorizations
  const payer = verifyKel(decodeKel(fromHex(refused.kel)))
  test.each(refused.cases)('that is well-formed, $reason: $fault', ({ authorization, fault }) => {
    const object = Authorization.decode(fromHex(authorization))
    const { payer: signer, payerKelSeq: kelSeq, network } = object.body
    const found = signerFault(payer, Authorization, { object, signer, kelSeq })
    expect(found ?? (hubOfNetwork(network) === refused.hub ? null : 'network')).toBe(fault)
    expect(toHex(Authorization.encode(object))).toBe(authorization)
  })

  test.each(authorizations.valid)('of $reason', ({ authorization, body, transaction }) => {
    const read = Authorization.decode(fromHex(authorization))
    expect(plain(read.body)).toEqual(body)
    expect(toHex(Authorization.encode(read))).toBe(authorization)
    expect(cidText(transactionOf(read))).toBe(transaction)
    expect(Authorization.verify(fromHex(publicKey), read)).toBe(true)
    expect(toHex(Authorization.encode(Authorization.sign(fromHex(seed), read.body)))).toBe(authorization)
    expect(fromHex(authorization).length).toBeLessThanOrEqual(AUTHORIZATION_BYTES_MAX)
  })

  test.each(authorizations.invalid)('is refused with $reason', ({ authorization }) => {
    expect(() => Authorization.decode(fromHex(authorization))).toThrow(Malformed)
  })

  test('that could not be read is not written', () => {
    const [first] = authorizations.valid
    const { body } = Authorization.decode(fromHex(first?.authorization ?? ''))
    for (const wrong of [
      { amount: 0 },
      { notAfter: body.notBefore - 1 },
      { network: 'hub:x' },
      { holdUntil: 1 },
    ])
      expect(() => Authorization.sign(fromHex(seed), { ...body, ...wrong })).toThrow(Malformed)
  })

  test('has the three properties of a byte format', () => {
    const body: fc.Arbitrary<AuthorizationBody> = fc
      .record({
        v: fc.constant(1 as const),
        payer: anyAid,
        payerKelSeq: anyUint,
        payTo: anyAid,
        amount: fc.integer({ min: 1, max: CREDITS_MAX }),
        network: anyAid.map(networkOf),
        nonce: bytesOf(16),
        notBefore: fc.integer({ min: 0, max: 2 ** 48 }),
        lasts: fc.integer({ min: 0, max: 3_600_000 }),
        purpose: bytesOf(32),
      })
      .map(({ lasts, ...rest }) => ({ ...rest, notAfter: rest.notBefore + lasts }))
    const any = body.map((given): Signed<AuthorizationBody> => Authorization.sign(fromHex(seed), given))
    checkByteFormat(Authorization, any, 50)
  })
})

describe('a settlement receipt', () => {
  const { hub, receipts } = settlements
  test.each(receipts.valid)('of kind $reason', ({ receipt, body }) => {
    const read = SettlementReceipt.decode(fromHex(receipt))
    expect(plain(read.body)).toEqual(body)
    expect(toHex(SettlementReceipt.encode(read))).toBe(receipt)
    expect(SettlementReceipt.verify(fromHex(hub.publicKey), read)).toBe(true)
    expect(toHex(SettlementReceipt.encode(SettlementReceipt.sign(fromHex(hub.seed), read.body)))).toBe(
      receipt,
    )
  })

  test.each(receipts.invalid)('is refused with $reason', ({ receipt }) => {
    expect(() => SettlementReceipt.decode(fromHex(receipt))).toThrow(Malformed)
  })

  test('has the three properties of a byte format', () => {
    const [first] = receipts.valid
    const { body } = SettlementReceipt.decode(fromHex(first?.receipt ?? ''))
    const any = fc
      .record({
        payer: anyAid,
        payee: anyAid,
        settledAt: anyUint,
        amount: fc.integer({ min: 1, max: CREDITS_MAX }),
      })
      .map(changed => SettlementReceipt.sign(fromHex(hub.seed), { ...body, ...changed }))
    checkByteFormat(SettlementReceipt, any, 50)
  })
})

describe('an order about a hold', () => {
  const { payee, orders } = settlements
  const log = verifyKel(decodeKel(fromHex(orders.refused.kel)))
  test.each(orders.refused.cases)('that is well-formed, $reason: $fault', ({ order, fault }) => {
    const object = HoldOrder.decode(fromHex(order))
    const { payee: signer, payeeKelSeq: kelSeq } = object.body
    expect(signerFault(log, HoldOrder, { object, signer, kelSeq })).toBe(fault)
  })

  test.each(orders.valid)('that $reason', ({ order, body }) => {
    const read = HoldOrder.decode(fromHex(order))
    expect(plain(read.body)).toEqual(body)
    expect(toHex(HoldOrder.encode(read))).toBe(order)
    expect(HoldOrder.verify(fromHex(payee.publicKey), read)).toBe(true)
  })

  test.each(orders.invalid)('is refused with $reason', ({ order }) => {
    expect(() => HoldOrder.decode(fromHex(order))).toThrow(Malformed)
  })

  test('has the three properties of a byte format', () => {
    const [first] = orders.valid
    const { body } = HoldOrder.decode(fromHex(first?.order ?? ''))
    const any = fc
      .record({ amount: anyUint, payee: anyAid, madeAt: anyUint })
      .map(changed => HoldOrder.sign(fromHex(payee.seed), { ...body, ...changed }))
    checkByteFormat(HoldOrder, any, 50)
  })
})

describe('what a payment is for', () => {
  test('is a hash under a salt that only the two sides have', () => {
    for (const { paySalt, interactionId, requestCid, purpose } of authorizations.purposes)
      expect(toHex(purposeOf(fromHex(paySalt), fromHex(interactionId), parseCid(requestCid)))).toBe(purpose)
    for (const { reference, purpose } of authorizations.redemptions)
      expect(toHex(redemptionPurpose(reference))).toBe(purpose)
    for (const { paySalt, transaction, mark } of authorizations.marks)
      expect(toHex(paidMark(fromHex(paySalt), parseCid(transaction)))).toBe(mark)
  })
})

describe('amounts and networks as text', () => {
  test('an amount is from 1 to 2^53 - 1, in digits alone', () => {
    expect([amountOfText('1'), amountOfText('9007199254740991')]).toEqual([1, CREDITS_MAX])
    const wrong = ['0', '', '01', '-1', '+1', '1.0', '1e3', ' 1', '9007199254740992', '10000000000000000']
    expect(wrong.filter(text => amountOfText(text) !== undefined)).toEqual([])
  })

  test('a network names a hub, or none', () => {
    const aid = String(authorizations.valid[0]?.body['payer'])
    expect(hubOfNetwork(networkOf(aid))).toBe(aid)
    for (const network of ['', 'hub:', `hub:${aid}x`, `xhub:${aid}`, aid, 'eip155:1'])
      expect(hubOfNetwork(network)).toBeUndefined()
  })
})
