import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CREDITS_MAX } from '../contract/limits.ts'
import { cidText, contentId } from '../crypto/hash.ts'
import { fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { agent, anyAid, anyUint, bytesOf, checkByteFormat, fixture, NOW_MS } from '../testing/agents.ts'
import { networkOf } from './payment.ts'
import { callPurpose, VOUCHER_BYTES_MAX, VOUCHER_LIFE_MS, Voucher, type VoucherBody } from './voucher.ts'

type Case = { reason: string; voucher: string }
const vectors = fixture<{
  seed: string
  publicKey: string
  valid: (Case & { body: Record<string, unknown> })[]
  invalid: Case[]
  unsigned: Case[]
  purposes: { request: string; requestCid: string; purpose: string }[]
}>('payment/vouchers.json')
const seed = fromHex(vectors.seed)
const publicKey = fromHex(vectors.publicKey)

const body = (more: Partial<VoucherBody> = {}): VoucherBody => ({
  v: 1,
  id: new Uint8Array(16),
  transaction: contentId(utf8('an authorization')),
  payer: agent('payer').aid,
  provider: agent('provider').aid,
  capability: 'text.count',
  amount: 5,
  network: networkOf(agent('hub').aid),
  issuedAt: NOW_MS,
  notAfter: NOW_MS + VOUCHER_LIFE_MS,
  hub: agent('hub').aid,
  hubKelSeq: 0,
  ...more,
})

describe('a voucher', () => {
  test.each(vectors.valid)('is read: $reason', ({ voucher, body: expected }) => {
    const read = Voucher.decode(fromHex(voucher))
    const shown = Object.entries(read.body).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? toHex(value) : value,
    ])
    expect(Object.fromEntries(shown)).toEqual(expected)
    expect(Voucher.verify(publicKey, read)).toBe(true)
    expect(toHex(Voucher.encode(Voucher.sign(seed, read.body)))).toBe(voucher)
    expect(fromHex(voucher).length).toBeLessThanOrEqual(VOUCHER_BYTES_MAX)
  })

  test.each(vectors.invalid)('is refused with $reason', ({ voucher }) => {
    expect(() => Voucher.decode(fromHex(voucher))).toThrow(Malformed)
  })

  test.each(vectors.unsigned)('does not hold with $reason', ({ voucher }) => {
    expect(Voucher.verify(publicKey, Voucher.decode(fromHex(voucher)))).toBe(false)
  })

  test('is not signed where a reader would refuse it', () => {
    expect(() => Voucher.sign(seed, body({ capability: '' }))).toThrow(Malformed)
    expect(() => Voucher.sign(seed, body({ network: 'hub:somewhere' }))).toThrow(Malformed)
    expect(() => Voucher.sign(seed, body({ notAfter: NOW_MS + VOUCHER_LIFE_MS + 1 }))).toThrow(Malformed)
  })

  test('has the three properties of a byte format', () => {
    const any = fc
      .record(
        {
          id: bytesOf(16),
          payer: anyAid,
          provider: anyAid,
          capability: fc.string({ minLength: 1, maxLength: 64 }),
          purpose: bytesOf(32),
          amount: fc.integer({ min: 1, max: CREDITS_MAX }),
          hubKelSeq: anyUint,
        },
        { requiredKeys: ['id', 'payer', 'provider', 'capability', 'amount', 'hubKelSeq'] },
      )
      .map(members => Voucher.sign(seed, body(members)))
    checkByteFormat(Voucher, any, 50)
  })
})

test.each(vectors.purposes)('the purpose of a call pins $request', ({ request, requestCid, purpose }) => {
  const cid = contentId(utf8(request))
  expect(cidText(cid)).toBe(requestCid)
  expect(toHex(callPurpose(cid))).toBe(purpose)
})
