/**
 * The verdict on a receipt with the provider's key history: valid, valid under a key retired since (with the evidence
 * that it was signed before), or invalid. Pure, so that the command line, the node and a page in a browser agree.
 */

import { contentId } from '../crypto/hash.ts'
import { equal } from '../encoding/bytes.ts'
import type { VerifiedKel } from '../identity/kel.ts'
import { witnessedAt } from '../identity/kel-witness.ts'
import { Attestation, type Receipt, receiptDigest, verifyReceipt } from './receipt.ts'

/** How long after the successor event's time a thing signed before may have reached its witness. */
export const RETIREMENT_GRACE_MS = 5 * 60_000

/**
 * A time at which somebody other than the signer had the receipt, and who says so; `unnamed`: the AID of a hub that
 * whoever asks has not named, which anybody may have made a moment before.
 */
export type TimeEvidence = { at: number; source: string; unnamed?: string }

/** What a receipt is held against: its documents, and a hub whose word on the time of a rotation counts. */
export type Given = { hub?: VerifiedKel; request?: Uint8Array; result?: Uint8Array }

/** Times in Unix milliseconds, objects §4; `why` is the first that fails: signature, request, result, time. */
export type Judgement =
  | { verdict: 'valid' }
  | { verdict: 'valid_retired_key'; retiredAt: number; evidence: TimeEvidence }
  | { verdict: 'open'; retiredAt: number; evidence: TimeEvidence & { unnamed: string } }
  | {
      verdict: 'invalid'
      why: 'signature' | 'request' | 'result' | 'no_evidence' | 'evidence_too_late'
      retiredAt?: number
    }

/**
 * Judges the provider's signature and, where they are given, whether `request` and `result` are what it was made over; `hub`, where known,
 * makes the retirement time the witness's and not the log's own.
 */
export function judgeReceipt(
  receipt: Receipt,
  provider: VerifiedKel,
  options: Given & { evidence?: TimeEvidence } = {},
): Judgement {
  if (verifyReceipt(receipt, provider) === undefined) return { verdict: 'invalid', why: 'signature' }
  if (options.request !== undefined && !requestMatches(receipt, options.request))
    return { verdict: 'invalid', why: 'request' }
  if (options.result !== undefined && !resultMatches(receipt, options.result))
    return { verdict: 'invalid', why: 'result' }
  const seq = receipt.body.providerKelSeq
  if (seq === provider.seq) return { verdict: 'valid' }
  const successor = provider.events[seq + 1] as VerifiedKel['events'][number]
  const witnessed = options.hub === undefined ? undefined : witnessedAt(provider, seq + 1, options.hub)
  const retiredAt = witnessed ?? successor.body.ts
  const { evidence } = options
  if (evidence === undefined) return { verdict: 'invalid', why: 'no_evidence', retiredAt }
  if (evidence.at >= retiredAt + RETIREMENT_GRACE_MS) {
    return { verdict: 'invalid', why: 'evidence_too_late', retiredAt }
  }
  const { unnamed } = evidence
  if (unnamed !== undefined) return { verdict: 'open', retiredAt, evidence: { ...evidence, unnamed } }
  return { verdict: 'valid_retired_key', retiredAt, evidence }
}

/**
 * When a hub had this receipt, by its own signed word, which it gives for a rating. Under its newest key only: whoever
 * has a key that the hub has retired could date such a word as he likes.
 */
export function attestedTime(
  attestation: Attestation,
  receipt: Receipt,
  hub: VerifiedKel,
): TimeEvidence | undefined {
  const { body } = attestation
  const isItsWord = body.hub === hub.aid && body.hubSeq === hub.seq
  if (!isItsWord || !equal(body.receiptDigest, receiptDigest(receipt.bodyBytes))) return undefined
  return Attestation.verify(hub.publicKey, attestation)
    ? { at: body.hubTs, source: `the attestation of the hub ${hub.aid}` }
    : undefined
}

/** One sentence for people: what the verdict means; `key`: how the newest key of the key history is to be called. */
export function sayJudgement(judgement: Judgement, key = 'its current key'): string {
  const date = (ms: number) => new Date(ms).toISOString()
  switch (judgement.verdict) {
    case 'valid':
      return `The provider signed this receipt with ${key}.`
    case 'valid_retired_key':
      return `The provider signed this receipt with a key retired at ${date(judgement.retiredAt)}; ${judgement.evidence.source} shows it from before (${date(judgement.evidence.at)}).`
    case 'open':
      return `The provider signed this receipt with a key retired at ${date(judgement.retiredAt)}. ${judgement.evidence.unnamed} says that it had it before (${date(judgement.evidence.at)}), which shows something only if you trust ${judgement.evidence.unnamed}: whoever has the old key can make such a hub.`
    default:
      return sayInvalid(judgement)
  }
}

function sayInvalid(judgement: Extract<Judgement, { verdict: 'invalid' }>): string {
  if (judgement.why === 'signature')
    return 'The signature does not hold: receipt or key history was altered, or they do not belong together.'
  if (judgement.why === 'request')
    return 'The provider signed this receipt for another request than the file that was given.'
  if (judgement.why === 'result')
    return 'The provider signed this receipt over another result than the file that was given.'
  const retired = new Date(judgement.retiredAt ?? 0).toISOString()
  return judgement.why === 'no_evidence'
    ? `Signed with a key retired at ${retired}, and nothing that was given shows that it was signed before; whoever has the old key could have made it since. Two things show it: the records of either side (verify by interaction), and the attestation of a hub, which the requester gets for a rating and which counts beside the key history of that hub (--hub <url>).`
    : `Signed with a key retired at ${retired}, and the evidence of its time is later than that.`
}

/** Whose signatures were shown and hold. */
export type Side = 'provider' | 'requester'

/** What the verdict does not say: whether both sides stand behind the receipt. */
export function saySides(sides: readonly Side[]): string {
  if (sides.length === 0) return ''
  return sides.includes('requester')
    ? 'The requester counter-signed it.'
    : "The requester's signature was not shown: a receipt does not tell strangers who asked. The requester's own chain does (svc evidence export)."
}

/** Whether these bytes are the request that the receipt names. */
export function requestMatches(receipt: Receipt, request: Uint8Array): boolean {
  return equal(contentId(request), receipt.body.requestCid)
}

/** Whether these bytes are the result that the receipt names. */
export function resultMatches(receipt: Receipt, result: Uint8Array): boolean {
  return equal(contentId(result), receipt.body.resultCid)
}
