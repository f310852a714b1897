/** Every limit of the hub with its default (hub API §8); the operator's configuration may change each. */

import { KEL_EVENTS_MAX } from '../../protocol/identity/kel.ts'
import type { Rate } from './ports/rates.ts'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const ENVELOPE_BYTES_MAX = 96 * MIB
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Furthest distance between a request's time and the hub's clock. */
export const CLOCK_WINDOW_MS = 5 * MINUTE_MS
/** An agent that collected nothing for so long is quiet. */
export const QUIET_AFTER_MS = HOUR_MS
/** Bytes of envelopes in one poll answer, unless the first alone is larger. */
export const POLL_BYTES_MAX = 4 * MIB
/** Envelopes from this size on lie in files. */
export const INLINE_BYTES_MAX = 64 * KIB
/** What a listing reads for one answer, unless its first row alone is larger; the next page goes on there. */
export const LIST_BYTES_MAX = 256 * KIB
export const LIST_ROWS_MAX = 1000
/** Directory entries in one answer, and their bytes, unless the first alone is larger. */
export const BUCKET_ENTRIES_MAX = 256
export const BUCKET_BYTES_MAX = 512 * KIB
export const POW_BITS_MIN = 22

export type Limits = {
  mailboxEnvelopesMax: number
  mailboxBytesMax: number
  /** All mail together that the hub can read. */
  openMailBytesMax: number
  envelopeBytesMax: number
  /** An undelivered envelope is kept no longer. */
  envelopeLifeMs: number
  /** Times that one envelope may be queued within a day. */
  queuedPerDayMax: number
  /** A delivery confirmation is kept for so long, and for so long after its sender has fetched it. */
  deliveryLifeMs: number
  deliveryLifeFetchedMs: number
  revocationsMax: number
  revocationLifeMs: number
  strangerPerMinute: number
  strangerEnvelopesMax: number
  strangerBytesMax: number
  /** Of a recipient's limits for non-contacts, what one sender may use. */
  senderPerMinuteMax: number
  senderWaitingMax: number
  probationMs: number
  /** Reviews are taken for so long after a task has ended. */
  reviewWindowMs: number
  /** What a new account is given; 0 gives nothing. */
  trialCredits: number
  /** When so many were given in a UTC day, accounts that came by work wait for theirs. */
  trialBudget: number
  powBits: number
  registrationsPerDay: number
  sessionQuota: number
  sessionsPerMinute: number
  sessionsPerAgentMax: number
  sessionLifeMs: number
  /** Envelopes on their way in, of which one address and one recipient have half. */
  bytesInFlightMax: number
  /** Letters that the hub can read, on their way in; one address has half of it, or one of the largest. */
  openMailBytesInFlightMax: number
  /** Bodies of all other routes on their way in, of which one address has an eighth. */
  jsonBytesInFlightMax: number
  heldPollsMax: number
  /** Longest time for which a poll may be held (RFC 7240 `wait`). */
  pollWaitSecondsMax: number
  verificationsMax: number
  connectionsMax: number
  /** Of these, what one address holds; a proxy on this machine holds as many as there are. */
  connectionsPerAddressMax: number
  bodyBytesPerSecondMin: number
  /** A body may come as slowly as it likes for so long. */
  bodyGraceMs: number
  /** The database file grows no further; unlimited where undefined. */
  storeBytesMax: number | undefined
  statusRate: Rate
  pushRate: Rate
  bucketRate: Rate
  revokeRate: Rate
  /** All requests of a peer hub together. */
  peerRate: Rate
  /** Questions whether registration is open, which come without proof of work but cost signatures. */
  checkRate: Rate
  /** New events of key logs that are verified for one AID, and for one address. */
  keyEventRate: Rate
  /** All requests of an address together. */
  requestRate: Rate
}

export const defaultLimits: Limits = {
  mailboxEnvelopesMax: 5000,
  mailboxBytesMax: GIB,
  openMailBytesMax: 4 * GIB,
  envelopeBytesMax: ENVELOPE_BYTES_MAX,
  envelopeLifeMs: 14 * DAY_MS,
  queuedPerDayMax: 8,
  deliveryLifeMs: 7 * DAY_MS,
  deliveryLifeFetchedMs: DAY_MS,
  revocationsMax: 100_000,
  revocationLifeMs: 31 * DAY_MS,
  strangerPerMinute: 30,
  strangerEnvelopesMax: 500,
  strangerBytesMax: 64 * MIB,
  senderPerMinuteMax: 3,
  senderWaitingMax: 20,
  probationMs: 72 * HOUR_MS,
  reviewWindowMs: 30 * DAY_MS,
  trialCredits: 100,
  trialBudget: 10_000,
  powBits: POW_BITS_MIN,
  registrationsPerDay: 20,
  sessionQuota: 200,
  sessionsPerMinute: 10,
  sessionsPerAgentMax: 4,
  sessionLifeMs: HOUR_MS,
  bytesInFlightMax: 256 * MIB,
  openMailBytesInFlightMax: 2 * GIB,
  jsonBytesInFlightMax: 64 * MIB,
  heldPollsMax: 4096,
  pollWaitSecondsMax: 55,
  verificationsMax: 256,
  connectionsMax: 8192,
  connectionsPerAddressMax: 256,
  bodyBytesPerSecondMin: 16 * KIB,
  bodyGraceMs: 10 * SECOND_MS,
  storeBytesMax: undefined,
  statusRate: { perSecond: 10, burst: 50 },
  pushRate: { perSecond: 1, burst: 20 },
  bucketRate: { perSecond: 5, burst: 50 },
  peerRate: { perSecond: 200, burst: 2000 },
  revokeRate: { perSecond: 1, burst: 10 },
  checkRate: { perSecond: 1, burst: 20 },
  keyEventRate: { perSecond: 20, burst: 2 * KEL_EVENTS_MAX },
  requestRate: { perSecond: 100, burst: 500 },
}
