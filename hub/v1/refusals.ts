/** The one place where refusals of the core become statuses and sentences of wire 1. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { Refusal as AnyRefusal } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { type Failure, failures, fedLabels } from '../../protocol/wire1/failures.ts'
import { WIRE1 } from '../../protocol/wire1/headers.ts'
import { type Facts, type RefusalReason, refusalOf } from '../core/refusal.ts'
import type { RefusalAnswer } from '../http/pipeline.ts'

const MS_PER_SECOND = 1000

/** What one refusal is here: its kind and its sentence, in which `{why}` and `{aid}` are filled. */
type Told = readonly [Failure, string]

/** A word by which a client tells why a challenge does not hold, then a sentence for people. */
const unauthorized = (word: string, sentence: string): Told => ['unauthorized', `${word}: ${sentence}`]
/** What this wire never meets; were it met, it would be a bug. */
const elsewhere: Told = [
  'failed',
  'the hub failed to handle the request; retry, and tell the operator if it stays',
]
const malformed: Told = ['malformed', 'the request is not accepted: {why}; correct it and send it again']
const busy: Told = ['failed', 'the hub cannot take this now: {why}; try again later']

const told = {
  accessInvalid: elsewhere,
  actionConflict: ['conflict', 'this cannot be done now: {why}; read the card again'],
  actionForbidden: ['forbidden', '{why}; ask its creator or its assignee'],
  admissionRequired: ['forbidden', '{aid} is not registered here, and only the operator can let it in'],
  ackItemMalformed: malformed,
  bucketTooNarrow: elsewhere,
  capabilityNotSold: ['unknown', 'this agent sells no such capability here; look at its card'],
  cardUnknown: ['unknown', 'no card has this id; check it'],
  challengeOutside: [
    'stale_challenge',
    "stale or future-dated challenge: its time is more than 5 minutes from this hub's clock; set the clock and sign again",
  ],
  challengerUnknown: unauthorized(
    'UNKNOWN_AID',
    'this hub holds no key history of the signer; register first',
  ),
  commitmentMismatch: malformed,
  envelopeMalformed: malformed,
  expiryTooFar: elsewhere,
  expired: elsewhere,
  guestsFull: ['full', 'as many visitors are here as this hub takes; try again later'],
  headConflict: ['conflict', 'another record stands at this place of the supply chain; compare both'],
  hubItself: ['forbidden', 'this is the hub itself, which is none of its agents; name an agent'],
  homeUnreachable: ['peer_failed', 'the hub of the recipient did not answer; try again later'],
  hopExceeded: ['hop_exceeded', '{why}; deliver it at its own hub'],
  identityDeactivated: unauthorized('REVOKED_KEY', 'this identity has ended; use another one'),
  inviteInvalid: ['forbidden', 'this invitation lets nobody in: it is unknown, used, over or was taken back'],
  keyEventTimeOutside: [
    'malformed',
    'the key history is dated later than the time of this hub; set the clock right, and make an identity that no hub has seen anew',
  ],
  keyLogForked: [
    'malformed',
    'the key history conflicts with the one held here; do not use this copy of the identity',
  ],
  keyLogInvalid: [
    'malformed',
    'the key history does not verify: {why}; send the whole history as it was written',
  ],
  keyLogOlder: unauthorized(
    'KEY_STATE_DOWNGRADE',
    'the key history is shorter than the one held here; send the newest one',
  ),
  keyRetired: unauthorized('REVOKED_KEY', 'the key that signed was rotated away; sign with the newest key'),
  keySetOlder: elsewhere,
  keyStateUnknown: unauthorized(
    'KEY_STATE_DOWNGRADE',
    'this hub does not hold that key state; register the longer history',
  ),
  kidStale: elsewhere,
  mailboxFull: busy,
  mailSealed: ['forbidden', 'the mail of {aid} is sealed at this hub, and is never opened again'],
  notPeer: ['forbidden', 'this is no peer of this hub; ask its operator to list that hub'],
  overloaded: ['failed', 'the hub has too much to do now; try again later'],
  powRequired: elsewhere,
  probation: elsewhere,
  receiptNotReviewable: malformed,
  reviewExists: ['malformed', 'this task has a review already; the first one stays'],
  reviewOfAnother: ['conflict', 'this task has a review of somebody else already; the first one stays'],
  reviewWindowClosed: malformed,
  queuedTooOften: busy,
  rateLimited: ['failed', 'this address sends too much at once; try again later'],
  recipientUnknown: ['unknown', 'recipient not registered; check the AID'],
  redeemedNowhere: [
    'conflict',
    'this agent names no address at which it takes vouchers, so nothing was paid',
  ],
  registrationQuota: busy,
  replayed: elsewhere,
  requestMalformed: malformed,
  resourceUnknown: ['unknown', 'nothing is at this address; check method and path'],
  revocationsFull: elsewhere,
  senderUnwanted: [
    'forbidden',
    'this agent takes mail of those alone whom the operator of this hub named; ask it to name you',
  ],
  sessionInvalid: elsewhere,
  signatureInvalid: unauthorized(
    'INVALID_SIGNATURE',
    'the signature does not hold; sign exactly what is sent, with the newest key',
  ),
  sourceRate: busy,
  statusQueryMalformed: malformed,
  strangersBusy: busy,
  supplyHalted: busy,
  timeStale: elsewhere,
  tooLarge: ['malformed', 'the {part} is larger than {limit} bytes; send less at once'],
  tooLargeForStranger: elsewhere,
  unknownAgent: ['unknown', 'no agent with this AID is known here; check the AID'],
  unknownDestination: ['unknown', 'recipient not registered; check the AID'],
  voucherMissing: [
    'failed',
    'the hub failed when the payment was perhaps made already, and gives no voucher now',
  ],
  witnessElsewhere: malformed,
} as const satisfies Record<RefusalReason, Told>

/** Each reason that clients of this wire meet: what it is here, its sentence, and the hint beside it. */
export const refusalRows = () =>
  (Object.entries(told) as [RefusalReason, Told][])
    .filter(([, row]) => row !== elsewhere)
    .map(([reason, [kind, sentence]]) => ({
      ...{ reason, kind, sentence },
      ...hintOf({ code: reason, facts: { aid: '<AID>' } }),
    }))

/** What only this wire refuses. */
export class Wire1Refusal extends AnyRefusal<Failure> {
  override name = 'Wire1Refusal'
}

/** Those that may say what there is too much of, or what stands between two hubs. */
const explained: Readonly<Partial<Record<RefusalReason, Told>>> = {
  homeUnreachable: ['peer_failed', '{why}'],
  overloaded: busy,
  rateLimited: busy,
}

export type ToldRefusal = { code: Failure; facts: Facts & { sentence?: string; hint?: string } }

/** The kind of failure of anything thrown, with its sentence; undefined for a bug. */
export function refusalTold(thrown: unknown): ToldRefusal | undefined {
  if (thrown instanceof Wire1Refusal) return { code: thrown.code, facts: { sentence: thrown.message } }
  const refusal = refusalOf(thrown)
  if (refusal === undefined) return undefined
  const ofWhy = refusal.facts.why === undefined ? undefined : explained[refusal.code]
  const [code, sentence] = ofWhy ?? told[refusal.code]
  return { code, facts: { ...refusal.facts, sentence: filled(sentence, refusal.facts), ...hintOf(refusal) } }
}

const filled = (sentence: string, { why, aid, part, limitBytes }: Facts): string =>
  sentence.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(
      { why: why ?? 'its form is wrong', aid: aid ?? 'the agent', part: part ?? 'body', limit: limitBytes }[
        name
      ],
    ),
  )

/** What somebody does next who is not let in. */
function hintOf({ code, facts }: { code: RefusalReason; facts: Facts }): { hint?: string } {
  if (code === 'admissionRequired')
    return {
      hint: `ask the operator to run: svc-hub ${facts.keptOut === 'archived' ? 'unarchive' : 'admit'} ${facts.aid}`,
    }
  if (code === 'inviteInvalid') return { hint: 'ask the operator for another one: svc-hub invite new' }
  if (code === 'redeemedNowhere')
    return { hint: 'ask its owner to name an interface with the protocolBinding x402-redeem on the card' }
  if (code === 'voucherMissing')
    return { hint: 'send the same payment again: it gives the voucher, and nothing is taken twice' }
  if (code === 'mailSealed')
    return { hint: 'register over wire 3 instead: svc hub-register <url> without --wire' }
  return {}
}

/** The whole answer: a sentence, and on some a hint, or where the agent is. Between hubs: a label and the sentence. */
export function refusalAnswer({ code, facts }: ToldRefusal, errors?: 'fed'): RefusalAnswer {
  const { sentence = elsewhere[1], hint, homeHub, retryAfterMs, transaction } = facts
  return {
    status: failures[code],
    headers:
      retryAfterMs === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfterMs / MS_PER_SECOND)) },
    body:
      errors === 'fed'
        ? { error: fedLabels[code], detail: sentence }
        : {
            error: sentence,
            ...present({ hint, home_hub: homeHub, transaction: transaction && cidText(transaction) }),
          },
  }
}

/** A request of a wire that this hub does not speak yet. */
export const tooNew = (): Wire1Refusal =>
  new Wire1Refusal(
    'too_new',
    `this hub speaks wire ${WIRE1} here; use its address for the newer wire, or lower the version`,
  )
