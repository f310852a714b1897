/** The one place where refusals of the core become codes, statuses, members and headers of wire 3 (hub API §7). */
import type { RouteRow } from '../../protocol/contract/route.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { Refusal as AnyRefusal } from '../../protocol/encoding/errors.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { type Code, type CodeRow, codes } from '../../protocol/wire3/codes.ts'
import { headers, WIRE, WIRE_RELEASE } from '../../protocol/wire3/headers.ts'
import { type Facts, type RefusalReason, refusalOf } from '../core/refusal.ts'
import type { RefusalAnswer } from '../http/pipeline.ts'

const MS_PER_SECOND = 1000
const JITTER_SECONDS = 5

const codeOf = {
  accessInvalid: 'access_invalid',
  actionConflict: 'bad_request',
  actionForbidden: 'bad_request',
  admissionRequired: 'admission_required',
  ackItemMalformed: 'bad_ack_item',
  bucketTooNarrow: 'bucket_too_narrow',
  capabilityNotSold: 'not_found',
  cardUnknown: 'not_found',
  challengeOutside: 'unauthorized',
  challengerUnknown: 'unauthorized',
  commitmentMismatch: 'requester_commit_mismatch',
  envelopeMalformed: 'bad_envelope',
  expiryTooFar: 'bad_exp',
  expired: 'expired',
  guestsFull: 'unavailable',
  headConflict: 'head_conflict',
  hubItself: 'bad_request',
  homeUnreachable: 'home_unreachable',
  hopExceeded: 'bad_request',
  identityDeactivated: 'aid_deactivated',
  inviteInvalid: 'admission_required',
  keyEventTimeOutside: 'kel_ts_out_of_window',
  keyLogForked: 'kel_fork',
  keyLogInvalid: 'kel_invalid',
  keyLogOlder: 'kel_rollback',
  keyRetired: 'key_retired',
  keyStateUnknown: 'unauthorized',
  keySetOlder: 'keys_rollback',
  kidStale: 'kid_stale',
  mailboxFull: 'mailbox_full',
  mailSealed: 'bad_request',
  notPeer: 'not_peer',
  overloaded: 'unavailable',
  powRequired: 'pow_required',
  probation: 'probation',
  receiptNotReviewable: 'receipt_not_reviewable',
  reviewExists: 'review_exists',
  reviewOfAnother: 'review_exists',
  reviewWindowClosed: 'review_window_closed',
  queuedTooOften: 'redelivery_limited',
  rateLimited: 'rate_limited',
  recipientUnknown: 'recipient_unknown',
  redeemedNowhere: 'bad_request',
  registrationQuota: 'registration_quota',
  replayed: 'replayed',
  requestMalformed: 'bad_request',
  resourceUnknown: 'not_found',
  revocationsFull: 'revocation_list_full',
  senderUnwanted: 'bad_request',
  sessionInvalid: 'session_invalid',
  signatureInvalid: 'unauthorized',
  sourceRate: 'source_rate',
  statusQueryMalformed: 'bad_status_query',
  strangersBusy: 'strangers_busy',
  supplyHalted: 'supply_halted',
  timeStale: 'ts_stale',
  tooLarge: 'too_large',
  tooLargeForStranger: 'too_large_for_stranger',
  unknownAgent: 'unknown_aid',
  unknownDestination: 'unknown_destination',
  voucherMissing: 'internal',
  witnessElsewhere: 'witness_not_this_hub',
} as const satisfies Record<RefusalReason, Code>

/** A refusal that only this line of the wire knows. */
export class WireRefusal extends AnyRefusal<Code> {
  override name = 'WireRefusal'
  readonly facts: Facts
  constructor(code: Code, facts: Facts = {}) {
    super(code, code)
    this.facts = facts
  }
}

/** The code of anything thrown; what has no name of its own is a bug and stays `undefined`. */
export function refusalCode(thrown: unknown): { code: Code; facts: Facts } | undefined {
  if (thrown instanceof WireRefusal) return thrown
  const refusal = refusalOf(thrown)
  return refusal && { code: codeOf[refusal.code], facts: refusal.facts }
}

/** Status, headers and body of a refusal. `spread` in [0, 1) moves retries of an overloaded hub apart. */
export function refusalAnswer(code: Code, facts: Facts, baseUrl: string, spread: number): RefusalAnswer {
  const row: CodeRow = codes[code]
  const members = memberValues(facts)
  const seconds = secondsOf(code, row, facts, spread)
  const body: Record<string, unknown> = {
    reason: code,
    error: sentence(row, members, { ...facts, baseUrl, seconds }),
  }
  for (const name of row.members) body[name] = members[name]
  return { status: row.status, headers: refusalHeaders(code, facts, seconds), body }
}

/** What a row adds to each of its refusals. */
export function refusedMembers(
  { refused }: RouteRow,
  code: Code,
  hub: string,
): Record<string, unknown> | undefined {
  if (refused === undefined) return undefined
  const filled = Object.entries(refused.members).map(([name, value]) => [
    name,
    value === '{network}' ? networkOf(hub) : value,
  ])
  return { ...Object.fromEntries(filled), [refused.reason]: code }
}

function refusalHeaders(code: Code, facts: Facts, seconds: number | undefined): Record<string, string> {
  const out: Record<string, string> = {}
  if (code === 'ts_stale' && facts.floorMs !== undefined) out[headers.floor] = String(facts.floorMs)
  if (seconds !== undefined) out['Retry-After'] = String(seconds)
  return out
}

/** After how many seconds it may go through, said in the header and in the sentence; undefined where time changes nothing. */
function secondsOf(
  code: Code,
  { retryAfter }: CodeRow,
  { retryAfterMs }: Facts,
  spread: number,
): number | undefined {
  if (retryAfter === undefined) return undefined
  const seconds =
    retryAfterMs === undefined ? retryAfter : Math.max(1, Math.ceil(retryAfterMs / MS_PER_SECOND))
  return code === 'unavailable' ? seconds + Math.floor(spread * JITTER_SECONDS) : seconds
}

const SPANS: [seconds: number, one: string][] = [
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
]

/** A time to wait in words, rounded up; under two of a unit the next smaller one is used. */
function inWords(seconds: number): string {
  const [span, one] = SPANS.find(([long]) => seconds === long || seconds >= 2 * long) ?? [1, 'second']
  const rounded = Math.ceil(seconds / span)
  return `${rounded} ${one}${rounded === 1 ? '' : 's'}`
}

function memberValues(facts: Facts): Record<string, unknown> {
  const { challenge } = facts
  return {
    aid: facts.aid,
    floor: facts.floorMs,
    stored_seq: facts.storedSeq,
    max_bits: facts.maxBits,
    ...headMembers(facts),
    required_wire: WIRE,
    required_svc: WIRE_RELEASE,
    challenge: challenge && {
      seed: toBase64url(challenge.seed),
      bits: challenge.bits,
      not_after: challenge.notAfterMs,
    },
  }
}

function headMembers({ heads }: Facts): Record<string, unknown> {
  if (heads === undefined) return {}
  const { own, witnessed } = heads
  return {
    seq: own.seq,
    head_id: cidText(own.id),
    witnessed_seq: witnessed.seq,
    witnessed_id: cidText(witnessed.id),
  }
}

type Said = Facts & { baseUrl: string; seconds: number | undefined }

function sentence(row: CodeRow, members: Record<string, unknown>, facts: Said): string {
  const values: Record<string, unknown> = {
    ...members,
    why: facts.why ?? row.why ?? 'its form is wrong',
    step: facts.step,
    limit: facts.limitBytes,
    part: facts.part ?? row.part ?? 'body',
    base_url: facts.baseUrl,
    wait: inWords(facts.seconds ?? 0),
  }
  // the usual step of a row has facts of its own
  const template = facts.step === undefined ? row.sentence.replace('{step}', row.step ?? '') : row.sentence
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}
