/**
 * Receipts (objects: receipt, review): the provider signs what was asked, answered and covered, the requester
 * counter-signs the same body with its own chain head, so that each side holds the other's head.
 */
import { sha256 } from '#crypto'
import { COMMENT_BYTES_MAX } from '../contract/limits.ts'
import { CID_BYTES, labelledHash } from '../crypto/hash.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { equal, Malformed, toBase64url } from '../encoding/bytes.ts'
import { type CborValue, decode, encode } from '../encoding/cbor.ts'
import {
  bytes,
  checked,
  type Infer,
  list,
  literal,
  mapped,
  oneOf,
  optional,
  record,
  required,
  text,
  tuple,
  uint,
} from '../encoding/record.ts'
import { aid, aidBytes } from '../identity/aid.ts'
import { type KeyEvent, kelItem, keyAt, type VerifiedKel } from '../identity/kel.ts'
import { claimedHead, requirePossible } from './chain-head.ts'
import { statuses } from './effect.ts'

/** Numbered messages of one side; a cover that claims more is refused before anybody counts up to it. */
export const MESSAGES_MAX = 100_000
const MISSING_MAX = 1024
const RECEIPT_BYTES_MAX = 64 * 1024
const COMMITMENT_KEY = 5
/** How far the end of a receipt may be after now, in milliseconds, objects §11. */
export const RECEIPT_AHEAD_MAX_MS = 5 * 60_000
/** How far start and end may be before the requester's own, in milliseconds, objects §11. */
export const RECEIPT_BEHIND_MAX_MS = 10 * 60_000

/** Highest number of a side, and those up to it that are not covered, ascending. */
export type CoverSide = [highest: number, missing: number[]]
const coverSide = mapped(tuple<CoverSide>(uint, list(uint, MISSING_MAX)), checkedSide, checkedSide)

function checkedSide(side: CoverSide): CoverSide {
  const [highest, missing] = side
  if (highest > MESSAGES_MAX) throw new Malformed(`a cover lists more than ${MESSAGES_MAX} messages`)
  const ascend = missing.every((number, i) => number > (missing[i - 1] ?? 0) && number <= highest)
  if (!ascend) throw new Malformed('missing numbers of a cover must ascend and stay below its highest')
  return side
}

/** Keys 1 to 14 of a receipt, objects §11; an impossible cover or head throws {@link Malformed}. */
export const ReceiptBody = record('receipt', {
  v: required(1, literal(1)),
  interactionId: required(2, bytes(16)),
  provider: required(3, aid),
  providerKelSeq: required(4, uint),
  requesterCommitment: required(COMMITMENT_KEY, bytes(32)),
  requestCid: required(6, bytes(CID_BYTES)),
  resultCid: required(7, bytes(CID_BYTES)),
  start: required(8, uint),
  end: required(9, uint),
  status: required(10, oneOf(...statuses)),
  settlement: optional(11, text(128)),
  providerHead: required(12, claimedHead),
  /** Requester's side, then provider's. */
  cover: required(13, tuple<[CoverSide, CoverSide]>(coverSide, coverSide)),
  transcriptDigest: required(14, bytes(32)),
})
/** Ids of 16 bytes, digests of 32, content ids of 36; `start` and `end` in Unix milliseconds. */
export type ReceiptBody = Infer<typeof ReceiptBody>

/** `[body, sig]` by the provider's identity key, body of at most 64 KiB, objects §11. */
export const Receipt = signed('svc-receipt-p/v1', ReceiptBody, RECEIPT_BYTES_MAX)
/** As parsed: {@link verifyReceipt} checks its signature. */
export type Receipt = Signed<ReceiptBody>

/** Keys 1 to 5 of a counter-signature, objects §11; an impossible head throws {@link Malformed}. */
export const CounterBody = checked(
  record('counter-signature', {
    requester: required(1, aid),
    kelSeq: required(2, uint),
    chainLength: required(3, uint),
    chainHead: required(4, bytes(CID_BYTES)),
    bodyHash: required(5, bytes(32)),
  }),
  ({ chainLength, chainHead }) => requirePossible(chainLength, chainHead),
)
/** `chainLength` in records, `chainHead` of 36 bytes, `bodyHash` of 32. */
export type CounterBody = Infer<typeof CounterBody>

/** `[body, sig]` by the requester's identity key, body of at most 512 bytes, objects §11. */
export const CounterSignature = signed('svc-receipt-r/v1', CounterBody, 512)
/** As parsed: {@link counterSignatureHolds} checks its signature. */
export type CounterSignature = Signed<CounterBody>

/** H("svc-receipt-id/v1" ‖ 00 ‖ body): names a receipt, whoever signed it. */
export function receiptDigest(bodyBytes: Uint8Array): Uint8Array {
  return labelledHash('svc-receipt-id/v1', bodyBytes)
}

/** The name of a receipt as people and programs see it: its digest as base64url. */
export function receiptId(receipt: Receipt): string {
  return toBase64url(receiptDigest(receipt.bodyBytes))
}

/** H("svc-review/v1" ‖ 00 ‖ requester ‖ interaction ‖ rsalt): lets only the requester open it later. */
export function requesterCommitment(
  requester: string,
  interactionId: Uint8Array,
  rsalt: Uint8Array,
): Uint8Array {
  return labelledHash('svc-review/v1', aidBytes(requester), interactionId, rsalt)
}

/** Digest over exactly the covered messages of both sides, each ascending by number. */
export function transcriptDigest(
  requester: readonly Uint8Array[],
  provider: readonly Uint8Array[],
): Uint8Array {
  return labelledHash('svc-transcript/v1', encode([[...requester], [...provider]]))
}

/** The numbers a side of the cover names. */
export function coveredNumbers(side: CoverSide): number[] {
  const [highest, missing] = checkedSide(side)
  const absent = new Set(missing)
  const numbers = []
  for (let n = 1; n <= highest; n++) if (!absent.has(n)) numbers.push(n)
  return numbers
}

declare const verified: unique symbol
/** A receipt whose provider signature holds under the key state it names. */
export type VerifiedReceipt = Receipt & { readonly [verified]: true }

/** Checks the provider's signature under the key of the KEL seq that the receipt names; undefined when it fails. */
export function verifyReceipt(receipt: Receipt, provider: VerifiedKel): VerifiedReceipt | undefined {
  if (receipt.body.provider !== provider.aid) return undefined
  const key = keyAt(provider, receipt.body.providerKelSeq)
  return key !== undefined && Receipt.verify(key, receipt) ? (receipt as VerifiedReceipt) : undefined
}

/** Whether the counter-signature is the requester's and covers this very receipt. */
export function counterSignatureHolds(
  counter: CounterSignature,
  receipt: Receipt,
  requester: VerifiedKel,
): boolean {
  const key = counter.body.requester === requester.aid ? keyAt(requester, counter.body.kelSeq) : undefined
  return (
    key !== undefined &&
    equal(counter.body.bodyHash, receiptBodyHash(receipt.bodyBytes)) &&
    CounterSignature.verify(key, counter)
  )
}

/** H(body) as the counter-signature carries it. */
export function receiptBodyHash(bodyBytes: Uint8Array): Uint8Array {
  return sha256(bodyBytes)
}

/**
 * Whether one provider said two things about one interaction. A receipt that was made anew under another key has
 * another key state, end and chain head, and says the same.
 */
export function receiptsContradict(one: ReceiptBody, other: ReceiptBody): boolean {
  const about = { providerKelSeq: 0, end: 0, start: 0, providerHead: other.providerHead }
  const said = (body: ReceiptBody) => ReceiptBody.encode({ ...body, ...about })
  const same = one.provider === other.provider && equal(one.interactionId, other.interactionId)
  return same && !equal(said(one), said(other))
}

/** In what a receipt differs from what the requester holds, objects §11. */
export type ReceiptFault =
  | 'interaction'
  | 'provider'
  | 'key_state'
  | 'commitment'
  | 'request'
  | 'result'
  | 'status'
  | 'settlement'
  | 'times'
  | 'transcript'
  | 'missing_message'
  | 'uncovered_message'
  | 'dropped_message'

/** What the requester holds of the interaction, to be compared with the receipt. */
export type Held = {
  interactionId: Uint8Array
  provider: string
  providerKelSeq: number
  commitment: Uint8Array
  requestCid: Uint8Array
  resultCid: Uint8Array
  status: string
  settlement?: string
  now: number
  /** When this side delegated. */
  startedAt: number
  /** When this side made its own `end` or `accept-end`. */
  ownEndAt: number
  /** Message digests by number, and for own messages whether a verified confirmation is held. */
  own: ReadonlyMap<number, { digest: Uint8Array; confirmed: boolean }>
  peer: ReadonlyMap<number, Uint8Array>
  /** The provider's last number of the cut. */
  peerLast: number
  /** Numbers of the provider that this side's own `end` or `accept-end` named as missing. */
  lacked: ReadonlySet<number>
}

/** The first thing in which a receipt differs from what the requester holds; undefined when it may be signed. */
export function receiptFault(
  body: ReceiptBody,
  held: Held,
): { fault: ReceiptFault; number?: number } | undefined {
  const fault = memberFault(body, held)
  return fault === undefined ? coverFault(body, held) : { fault }
}

function memberFault(body: ReceiptBody, held: Held): ReceiptFault | undefined {
  if (!equal(body.interactionId, held.interactionId)) return 'interaction'
  if (body.provider !== held.provider) return 'provider'
  if (body.providerKelSeq !== held.providerKelSeq) return 'key_state'
  if (!equal(body.requesterCommitment, held.commitment)) return 'commitment'
  if (!equal(body.requestCid, held.requestCid)) return 'request'
  if (!equal(body.resultCid, held.resultCid)) return 'result'
  if (body.status !== held.status) return 'status'
  if (body.settlement !== held.settlement) return 'settlement'
  const late = body.end > held.now + RECEIPT_AHEAD_MAX_MS
  const early = body.end < held.ownEndAt - RECEIPT_BEHIND_MAX_MS
  const before = body.start < held.startedAt - RECEIPT_BEHIND_MAX_MS
  return body.start > body.end || before || late || early ? 'times' : undefined
}

function coverFault(body: ReceiptBody, held: Held): { fault: ReceiptFault; number?: number } | undefined {
  const [requesterSide, providerSide] = body.cover
  const own = coveredNumbers(requesterSide)
  const covered = new Set(own)
  for (const [number, message] of held.own) {
    if (!covered.has(number) && message.confirmed) return { fault: 'uncovered_message', number }
  }
  const theirs = coveredNumbers(providerSide)
  const dropped = droppedNumber(new Set(theirs), held)
  if (dropped !== undefined) return { fault: 'dropped_message', number: dropped }
  const ownDigests: Uint8Array[] = []
  for (const number of own) {
    const message = held.own.get(number)
    if (message === undefined) return { fault: 'missing_message', number }
    ownDigests.push(message.digest)
  }
  const peerDigests: Uint8Array[] = []
  for (const number of theirs) {
    const digest = held.peer.get(number)
    if (digest === undefined) return { fault: 'missing_message', number }
    peerDigests.push(digest)
  }
  const same = equal(body.transcriptDigest, transcriptDigest(ownDigests, peerDigests))
  return same ? undefined : { fault: 'transcript' }
}

/** A provider can't disown what it said: what is held of it, and was not named as missing, is covered. */
function droppedNumber(covered: ReadonlySet<number>, held: Held): number | undefined {
  const dropped = [...held.peer.keys()].filter(
    number => number <= held.peerLast && !covered.has(number) && !held.lacked.has(number),
  )
  return dropped.length === 0 ? undefined : Math.min(...dropped)
}

/** What a reviewer uploads: both signatures and the provider's log, as one item. */
export type ReviewableReceipt = { receipt: Receipt; counter: CounterSignature; providerKel: KeyEvent[] }

/** `[receipt body, provider's sig, counter-signature, provider's log]`, objects §12. */
export function encodeReviewable(given: ReviewableReceipt): Uint8Array {
  const [body, signature] = Receipt.write(given.receipt) as [Uint8Array, Uint8Array]
  return encode([body, signature, CounterSignature.write(given.counter), kelItem.write(given.providerKel)])
}

/** A receipt that carries no commitment of its requester, so that nobody can show to be the one. */
export class NoCommitment extends Malformed {
  override name = 'NoCommitment'
}

/** Throws {@link NoCommitment} or {@link Malformed}; signatures are not verified (objects §12). */
export function decodeReviewable(received: Uint8Array): ReviewableReceipt {
  const [body, signature, counter, providerKel] = tuple<[CborValue, CborValue, CounterSignature, KeyEvent[]]>(
    { read: value => value, write: value => value },
    { read: value => value, write: value => value },
    CounterSignature,
    kelItem,
  ).read(decode(received), 'reviewable receipt')
  if (body instanceof Uint8Array && lacksCommitment(decode(body)))
    throw new NoCommitment('the receipt carries no commitment')
  return { receipt: Receipt.read([body, signature], 'receipt'), counter, providerKel }
}

const lacksCommitment = (body: CborValue): boolean => body instanceof Map && !body.has(COMMITMENT_KEY)

const ReviewBody = record('review', {
  v: required(1, literal(1)),
  receiptDigest: required(2, bytes(32)),
  rating: required(3, oneOf(1, 2, 3, 4, 5)),
  comment: required(4, text(COMMENT_BYTES_MAX)),
  ts: required(5, uint),
})
/** A rating of a receipt; unsigned, because the upload is signed and the attestation binds its bytes. */
export const Review = ReviewBody
/** `rating` 1 to 5, `comment` of at most 4,096 bytes, `ts` in Unix milliseconds (objects §12). */
export type Review = Infer<typeof ReviewBody>

/** Digests of 32 bytes, `hubTs` in Unix milliseconds by the hub's clock, objects §12. */
export const AttestationBody = record('attestation', {
  receiptDigest: required(1, bytes(32)),
  reviewHash: required(2, bytes(32)),
  hub: required(3, aid),
  hubSeq: required(4, uint),
  hubTs: required(5, uint),
})
/** `[body, sig]` by the hub's identity key, body of at most 256 bytes, objects §12. */
export const Attestation = signed('svc-attest/v1', AttestationBody, 256)
/** As parsed: {@link attestedTime} in judge.ts checks its signature. */
export type Attestation = Signed<Infer<typeof AttestationBody>>
