import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { decodeKel, verifyKel } from '../identity/kel.ts'
import { agent, checkByteFormat, fixture } from '../testing/agents.ts'
import { decodeShared, encodeShared, holdsOpenReview, OpenReview } from './open-review.ts'
import { CounterSignature, Receipt } from './receipt.ts'

type Valid = {
  review: string
  receiptDigest: string
  rating: number
  comment: string
  ts: number
  reviewer: string
  reviewerKelSeq: number
}
const { reviewerKel, shared, valid, invalid, unbound } = fixture<{
  reviewerKel: string
  shared: {
    item: string
    receipt: string
    counterSignature: string
    invalid: { item: string; reason: string }[]
  }
  valid: Valid[]
  invalid: { review: string; reason: string }[]
  unbound: { review: string; receipt: string; reason: string }[]
}>('receipt/open-reviews.json')
const log = verifyKel(decodeKel(fromHex(reviewerKel)))
const receipt = decodeShared(fromHex(shared.item))

describe('an open review', () => {
  test.each(valid)('holds with its receipt: rating $rating', ({ review, receiptDigest, ...members }) => {
    const read = OpenReview.decode(fromHex(review))
    const { receiptDigest: digest, ...body } = read.body
    expect([toHex(digest), body]).toEqual([receiptDigest, { v: 1, ...members }])
    expect(holdsOpenReview(read, receipt, log)).toBe(true)
    expect(toHex(OpenReview.encode(read))).toBe(review)
  })

  test.each(invalid)('is malformed with $reason', ({ review }) => {
    expect(() => OpenReview.decode(fromHex(review))).toThrow(Malformed)
  })

  test.each(unbound)('does not hold under $reason', ({ review, receipt: item }) => {
    expect(holdsOpenReview(OpenReview.decode(fromHex(review)), decodeShared(fromHex(item)), log)).toBe(false)
  })

  test('is shown beside a receipt that both sides signed', () => {
    expect(toHex(Receipt.encode(receipt.receipt))).toBe(shared.receipt)
    expect(toHex(CounterSignature.encode(receipt.counter))).toBe(shared.counterSignature)
    expect(toHex(encodeShared(receipt))).toBe(shared.item)
  })

  test.each(shared.invalid)('is refused where the receipt is $reason', ({ item }) => {
    expect(() => decodeShared(fromHex(item))).toThrow(Malformed)
  })
})

describe('the three properties of a byte format hold', () => {
  const signer = agent('open review properties')
  const uint = fc.maxSafeNat()

  test('for open reviews', () => {
    const reviews = fc
      .record({
        v: fc.constant(1 as const),
        receiptDigest: fc.uint8Array({ minLength: 32, maxLength: 32 }),
        rating: fc.constantFrom<1 | 2 | 3 | 4 | 5>(1, 2, 3, 4, 5),
        comment: fc.string({ unit: fc.constantFrom(...'aZ0 \u0000\n\u2028€\u{1f600}'), maxLength: 40 }),
        ts: uint,
        reviewer: fc.constant(signer.aid),
        reviewerKelSeq: uint,
      })
      .map(body => OpenReview.sign(signer.identitySeed, body))
    checkByteFormat(OpenReview, reviews, 100)
  })

  test('for receipts of both sides', () => {
    const counters = fc
      .tuple(uint, fc.uint8Array({ minLength: 32, maxLength: 32 }))
      .map(([kelSeq, bodyHash]) =>
        CounterSignature.sign(signer.identitySeed, { ...receipt.counter.body, kelSeq, bodyHash }),
      )
    const items = counters.map(counter => ({ receipt: receipt.receipt, counter }))
    checkByteFormat({ encode: encodeShared, decode: decodeShared }, items, 60)
  })
})
