/** Refusals as the hub's core knows them: a reason and its facts. Each line maps them to its own codes and statuses. */
import { Refusal as AnyRefusal } from '../../protocol/encoding/errors.ts'
import type { SupplyHead } from '../store/ledger-port.ts'
import { StoreAway, StoreBroken, StoreFull, StoreLocked } from '../store/port.ts'

export type RefusalReason =
  | 'accessInvalid'
  | 'actionConflict'
  | 'actionForbidden'
  | 'admissionRequired'
  | 'ackItemMalformed'
  | 'bucketTooNarrow'
  | 'capabilityNotSold'
  | 'cardUnknown'
  | 'challengeOutside'
  | 'challengerUnknown'
  | 'commitmentMismatch'
  | 'envelopeMalformed'
  | 'expiryTooFar'
  | 'expired'
  | 'guestsFull'
  | 'hubItself'
  | 'headConflict'
  | 'homeUnreachable'
  | 'hopExceeded'
  | 'identityDeactivated'
  | 'inviteInvalid'
  | 'keyEventTimeOutside'
  | 'keyLogForked'
  | 'keyLogInvalid'
  | 'keyLogOlder'
  | 'keyRetired'
  | 'keyStateUnknown'
  | 'keySetOlder'
  | 'kidStale'
  | 'mailboxFull'
  | 'mailSealed'
  | 'notPeer'
  | 'overloaded'
  | 'powRequired'
  | 'probation'
  | 'queuedTooOften'
  | 'receiptNotReviewable'
  | 'reviewExists'
  | 'reviewOfAnother'
  | 'reviewWindowClosed'
  | 'rateLimited'
  | 'recipientUnknown'
  | 'redeemedNowhere'
  | 'registrationQuota'
  | 'replayed'
  | 'requestMalformed'
  | 'resourceUnknown'
  | 'revocationsFull'
  | 'senderUnwanted'
  | 'sessionInvalid'
  | 'signatureInvalid'
  | 'sourceRate'
  | 'statusQueryMalformed'
  | 'strangersBusy'
  | 'supplyHalted'
  | 'timeStale'
  | 'tooLarge'
  | 'tooLargeForStranger'
  | 'unknownAgent'
  | 'unknownDestination'
  | 'voucherMissing'
  | 'witnessElsewhere'

/** What keeps an AID out: admission is closed, its address range is refused, or the operator blocks or archived it. */
export type KeptOut = 'archived' | 'blocked' | 'closed' | 'range'

export type Facts = {
  /** For the operator alone; no line passes it on. */
  keptOut?: KeptOut
  /** Fills the sentence: what exactly is wrong. */
  why?: string
  /** Fills it as well: what to do next, where that is not the usual. */
  step?: string
  aid?: string
  /** The hub that an agent is at, where it is not this one. */
  homeHub?: string
  floorMs?: number
  storedSeq?: number
  maxBits?: number
  limitBytes?: number
  /** What of the request is over that limit, where it is not the body. */
  part?: string
  /** Of two records at one place of the supply chain: what stands here, and what a witness says. */
  heads?: { own: SupplyHead; witnessed: SupplyHead }
  challenge?: { seed: Uint8Array; bits: number; notAfterMs: number }
  retryAfterMs?: number
  /** Of a payment that may have been made. */
  transaction?: Uint8Array
}

/** The caller did something that has a name; crosses the wire. */
export class Refusal extends AnyRefusal<RefusalReason> {
  override name = 'Refusal'
  readonly facts: Facts
  constructor(reason: RefusalReason, facts: Facts = {}) {
    super(reason, facts.why ?? reason)
    this.facts = facts
  }
}

/** A hub without room takes what needs it as soon as there is some again, so callers ask soon. */
const NO_ROOM_RETRY_MS = 30_000

/** A database that was lost is back, or has a successor, within seconds. */
const AWAY_RETRY_MS = 5000

/** What a hub without room says; `forWhat` it has none. */
export const withoutRoom = (forWhat = 'what this would store'): Refusal =>
  new Refusal('overloaded', { why: `the hub has no room for ${forWhat}`, retryAfterMs: NO_ROOM_RETRY_MS })

/** The refusal that a caller gets for anything thrown; undefined for a bug. A store that takes no writes is overload. */
export function refusalOf(thrown: unknown): Refusal | undefined {
  if (thrown instanceof Refusal) return thrown
  if (thrown instanceof StoreFull) return withoutRoom()
  if (thrown instanceof StoreAway) return new Refusal('overloaded', { retryAfterMs: AWAY_RETRY_MS })
  if (thrown instanceof StoreLocked || thrown instanceof StoreBroken) return new Refusal('overloaded')
  return undefined
}
