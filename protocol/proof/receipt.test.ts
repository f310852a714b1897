import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sha256 } from '#crypto'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { type CborValue, decode, encode } from '../encoding/cbor.ts'
import { decodeKel, encodeKel, verifyKel } from '../identity/kel.ts'
import { agent, anyAid, anyHead, anyUint, bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import { statuses } from './effect.ts'
import {
  Attestation,
  CounterSignature,
  type CoverSide,
  counterSignatureHolds,
  coveredNumbers,
  decodeReviewable,
  encodeReviewable,
  type Held,
  MESSAGES_MAX,
  Receipt,
  ReceiptBody,
  Review,
  type ReviewableReceipt,
  receiptBodyHash,
  receiptDigest,
  receiptFault,
  requesterCommitment,
  transcriptDigest,
  verifyReceipt,
} from './receipt.ts'

type Reason<T> = T & { reason: string }
const receipts = fixture<{
  providerKel: string
  valid: Reason<{ receipt: string; digest: string; bodyHash: string; body: Record<string, unknown> }>[]
  invalid: Reason<{ fault: string; receipt: string }>[]
}>('receipt/receipts.json')
const counters = fixture<{
  requesterKel: string
  receipt: string
  cases: Reason<{ verdict: string; counterSignature: string }>[]
}>('receipt/counter-signatures.json')
type HeldText = Omit<
  Held,
  'interactionId' | 'commitment' | 'requestCid' | 'resultCid' | 'own' | 'peer' | 'lacked'
> & {
  interactionId: string
  commitment: string
  requestCid: string
  resultCid: string
  own: { number: number; digest: string; confirmed: boolean }[]
  peer: { number: number; digest: string }[]
  lacked: number[]
}
const comparisons = fixture<{
  held: HeldText
  cases: Reason<{ body: string; differs?: Partial<HeldText>; fault: string | null; number?: number }>[]
  commitments: { requester: string; interactionId: string; rsalt: string; commitment: string }[]
  transcripts: { requester: string[]; provider: string[]; digest: string }[]
  covers: { side: CoverSide; numbers: number[] }[]
}>('receipt/comparisons.json')
type ReviewText = { review: string; receiptDigest: string; rating: number; comment: string; ts: number }
const reviews = fixture<{
  reviewable: {
    item: string
    receipt: string
    counterSignature: string
    providerKel: string
    invalid: Reason<{ item: string }>[]
  }
  reviews: { valid: ReviewText[]; invalid: Reason<{ review: string }>[] }
  attestation: {
    hubKey: string
    attestation: string
    receiptDigest: string
    reviewHash: string
    hub: string
    hubSeq: number
    hubTs: number
    refused: Reason<{ attestation: string }>[]
    malformed: Reason<{ attestation: string }>[]
  }
}>('receipt/reviews.json')

const readLog = (hex: string) => verifyKel(decodeKel(fromHex(hex)))
/** Byte strings as hex, everything else as it is. */
const printed = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return toHex(value)
  if (Array.isArray(value)) return value.map(printed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, printed(member)]))
}

describe('a receipt', () => {
  const provider = readLog(receipts.providerKel)

  test.each(receipts.valid)('holds: $reason', ({ receipt, digest, bodyHash, body }) => {
    const read = Receipt.decode(fromHex(receipt))
    expect(verifyReceipt(read, provider)).toBe(read)
    expect(printed(read.body)).toEqual({ v: 1, ...body })
    expect(toHex(receiptDigest(read.bodyBytes))).toBe(digest)
    expect(toHex(receiptBodyHash(read.bodyBytes))).toBe(bodyHash)
    expect(toHex(Receipt.encode(read))).toBe(receipt)
  })

  test.each(receipts.invalid)('is refused: $reason', ({ fault, receipt }) => {
    const read = () => Receipt.decode(fromHex(receipt))
    if (fault === 'malformed') expect(read).toThrow(Malformed)
    else expect(verifyReceipt(read(), provider)).toBeUndefined()
  })
})

describe('a counter-signature', () => {
  const requester = readLog(counters.requesterKel)
  const receipt = Receipt.decode(fromHex(counters.receipt))

  test.each(counters.cases)('$reason: $verdict', ({ verdict, counterSignature }) => {
    const read = () =>
      counterSignatureHolds(CounterSignature.decode(fromHex(counterSignature)), receipt, requester)
    if (verdict === 'malformed') expect(read).toThrow(Malformed)
    else expect(read()).toBe(verdict === 'holds')
  })
})

describe('the requester compares a receipt with what it holds', () => {
  function heldWith(differs: Partial<HeldText> = {}): Held {
    const held = { ...comparisons.held, ...differs }
    return {
      ...held,
      interactionId: fromHex(held.interactionId),
      commitment: fromHex(held.commitment),
      requestCid: fromHex(held.requestCid),
      resultCid: fromHex(held.resultCid),
      own: new Map(held.own.map(one => [one.number, { ...one, digest: fromHex(one.digest) }])),
      peer: new Map(held.peer.map(one => [one.number, fromHex(one.digest)])),
      lacked: new Set(held.lacked),
    }
  }

  test.each(comparisons.cases)('$reason: $fault', ({ body, differs, fault, number }) => {
    const found = receiptFault(ReceiptBody.decode(fromHex(body)), heldWith(differs))
    if (fault === null) expect(found).toBeUndefined()
    else expect(found).toEqual(number === undefined ? { fault } : { fault, number })
  })

  test('every fault of the table has a case', () => {
    const faults = new Set(comparisons.cases.map(({ fault }) => fault ?? 'none'))
    expect([...faults].sort()).toEqual(
      'commitment dropped_message interaction key_state missing_message none provider request result settlement status times transcript uncovered_message'.split(
        ' ',
      ),
    )
  })
})

describe('what a receipt is made of', () => {
  test('the commitment is over requester, interaction and salt', () => {
    for (const { requester, interactionId, rsalt, commitment } of comparisons.commitments) {
      const made = requesterCommitment(requester, fromHex(interactionId), fromHex(rsalt))
      expect(toHex(made)).toBe(commitment)
    }
  })

  test('the transcript digest tells the two sides and the order apart', () => {
    for (const { requester, provider, digest } of comparisons.transcripts)
      expect(
        toHex(
          transcriptDigest(
            requester.map(hex => fromHex(hex)),
            provider.map(hex => fromHex(hex)),
          ),
        ),
      ).toBe(digest)
    expect(new Set(comparisons.transcripts.map(({ digest }) => digest)).size).toBe(4)
  })

  test.each(comparisons.covers)('a cover side $side names the numbers $numbers', ({ side, numbers }) => {
    expect(coveredNumbers(side)).toEqual(numbers)
  })

  test('nobody counts up to a number that no interaction reaches', () => {
    expect(coveredNumbers([MESSAGES_MAX, []]).length).toBe(MESSAGES_MAX)
    expect(() => coveredNumbers([MESSAGES_MAX + 1, []])).toThrow(Malformed)
    expect(() => coveredNumbers([Number.MAX_SAFE_INTEGER, []])).toThrow(Malformed)
  })
})

describe('a review', () => {
  const { reviewable, attestation } = reviews

  test('is uploaded with both signatures and the log of the provider in one item', () => {
    const read = decodeReviewable(fromHex(reviewable.item))
    expect(toHex(Receipt.encode(read.receipt))).toBe(reviewable.receipt)
    expect(toHex(CounterSignature.encode(read.counter))).toBe(reviewable.counterSignature)
    expect(toHex(encodeKel(read.providerKel))).toBe(reviewable.providerKel)
    expect(toHex(encodeReviewable(read))).toBe(reviewable.item)
  })

  test.each(reviewable.invalid)('is refused when the uploaded item is $reason', ({ item }) => {
    expect(() => decodeReviewable(fromHex(item))).toThrow(Malformed)
  })

  test('names a receipt, a rating and a comment', () => {
    for (const { review, ...members } of reviews.reviews.valid) {
      expect(printed(Review.decode(fromHex(review)))).toEqual({ v: 1, ...members })
      expect(toHex(Review.encode(Review.decode(fromHex(review))))).toBe(review)
    }
  })

  test.each(reviews.reviews.invalid)('is refused with $reason', ({ review }) => {
    expect(() => Review.decode(fromHex(review))).toThrow(Malformed)
  })

  test('is attested by the hub over the hash of its bytes', () => {
    const read = Attestation.decode(fromHex(attestation.attestation))
    expect(Attestation.verify(fromHex(attestation.hubKey), read)).toBe(true)
    const { receiptDigest, reviewHash, hub, hubSeq, hubTs } = attestation
    expect(printed(read.body)).toEqual({ receiptDigest, reviewHash, hub, hubSeq, hubTs })
    expect(toHex(sha256(fromHex((reviews.reviews.valid[0] as ReviewText).review)))).toBe(reviewHash)
  })

  test.each(attestation.refused)('has no attestation: $reason', ({ attestation: altered }) => {
    expect(Attestation.verify(fromHex(attestation.hubKey), Attestation.decode(fromHex(altered)))).toBe(false)
  })

  test.each(attestation.malformed)('has a malformed attestation: $reason', ({ attestation: altered }) => {
    expect(() => Attestation.decode(fromHex(altered))).toThrow(Malformed)
  })
})

describe('the three properties of a byte format hold', () => {
  const signer = agent('receipt properties')
  const side = fc
    .tuple(fc.nat(MESSAGES_MAX), fc.uniqueArray(fc.integer({ min: 1, max: MESSAGES_MAX }), { maxLength: 4 }))
    .map(([highest, numbers]): CoverSide => {
      return [highest, numbers.filter(n => n <= highest).sort((a, b) => a - b)]
    })
  const unsettled = fc.record({
    v: fc.constant(1 as const),
    interactionId: bytesOf(16),
    provider: anyAid,
    providerKelSeq: anyUint,
    requesterCommitment: bytesOf(32),
    requestCid: bytesOf(36),
    resultCid: bytesOf(36),
    start: anyUint,
    end: anyUint,
    status: fc.constantFrom(...statuses),
    providerHead: anyHead,
    cover: fc.tuple(side, side),
    transcriptDigest: bytesOf(32),
  })
  const body: fc.Arbitrary<ReceiptBody> = fc.oneof(
    unsettled,
    fc.tuple(unsettled, fc.string({ maxLength: 20 })).map(([rest, settlement]) => ({ ...rest, settlement })),
  )
  const receipt = body.map(value => Receipt.sign(signer.identitySeed, value))
  const counter = fc
    .record({ requester: anyAid, kelSeq: anyUint, head: anyHead, bodyHash: bytesOf(32) })
    .map(({ head: [chainLength, chainHead], ...rest }) =>
      CounterSignature.sign(signer.identitySeed, { ...rest, chainLength, chainHead }),
    )

  test('for receipts', () => checkByteFormat(Receipt, receipt, 100))
  test('for counter-signatures', () => checkByteFormat(CounterSignature, counter, 100))
  test('for reviewable receipts', () => {
    const given: fc.Arbitrary<ReviewableReceipt> = fc.record({
      receipt,
      counter,
      providerKel: fc.constant([...signer.log.events]),
    })
    checkByteFormat<ReviewableReceipt>({ encode: encodeReviewable, decode: decodeReviewable }, given, 60)
  })
  test('for reviews', () => {
    const review: fc.Arbitrary<Review> = fc.record({
      v: fc.constant(1 as const),
      receiptDigest: bytesOf(32),
      rating: fc.constantFrom<1 | 2 | 3 | 4 | 5>(1, 2, 3, 4, 5),
      comment: fc.string({ unit: fc.constantFrom(...'aZ0 \u0000\n\u2028€\u{1f600}'), maxLength: 40 }),
      ts: anyUint,
    })
    checkByteFormat(Review, review)
  })
  test('for attestations', () => {
    const attestation = fc
      .record({
        receiptDigest: bytesOf(32),
        reviewHash: bytesOf(32),
        hub: anyAid,
        hubSeq: anyUint,
        hubTs: anyUint,
      })
      .map(value => Attestation.sign(signer.identitySeed, value))
    checkByteFormat(Attestation, attestation, 100)
  })
  test('a log that is longer than a log may be is refused inside an upload too', () => {
    const [first, second, third, kel] = decode(fromHex(reviews.reviewable.item)) as CborValue[]
    const long = Array.from({ length: 1025 }, () => (kel as CborValue[])[0] as CborValue)
    const item = encode([first as CborValue, second as CborValue, third as CborValue, long])
    expect(() => decodeReviewable(item)).toThrow(Malformed)
  })
})
