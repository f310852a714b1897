/** Every limit of the hub with its default (hub API §8); the operator's configuration may change each. */

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Furthest distance between a request's time and the hub's clock. */
export const CLOCK_WINDOW_MS = 5 * MINUTE_MS
/** Envelopes live at most so long. */
export const ENVELOPE_LIFE_MS = 14 * DAY_MS
/** Times that one envelope may be queued within a day. */
export const QUEUED_PER_DAY_MAX = 8
export const REVOCATION_LIFE_MS = 31 * DAY_MS
export const REVOCATIONS_MAX = 100_000
export const DELIVERY_LIFE_MS = 7 * DAY_MS
export const DELIVERY_LIFE_FETCHED_MS = DAY_MS
/** Reviews are taken for so long after a task has ended. */
export const REVIEW_WINDOW_MS = 30 * DAY_MS
/** An agent that collected nothing for so long is quiet. */
export const QUIET_AFTER_MS = HOUR_MS
/** Longest time for which a poll may be held (RFC 7240 `wait`). */
export const WAIT_SECONDS_MAX = 55
/** Bytes of envelopes in one poll answer, unless the first alone is larger. */
export const POLL_BYTES_MAX = 4 * MIB
/** Envelopes from this size on lie in files. */
export const INLINE_BYTES_MAX = 64 * KIB
/** Of a recipient's limits for non-contacts, what one sender may use. */
export const SENDER_PER_MINUTE_MAX = 3
export const SENDER_WAITING_MAX = 20
export const SESSIONS_PER_AGENT_MAX = 4
export const SESSION_LIFE_MS = HOUR_MS
/** Bytes of directory entries in one answer. */
export const BUCKET_ENTRIES_MAX = 256
export const POW_BITS_MIN = 22

/** A bucket that fills at a rate and holds a burst. */
export type Rate = { perSecond: number; burst: number }

export type Limits = {
  mailboxEnvelopesMax: number
  mailboxBytesMax: number
  strangerPerMinute: number
  strangerEnvelopesMax: number
  strangerBytesMax: number
  probationMs: number
  powBits: number
  registrationsPerDay: number
  sessionQuota: number
  sessionsPerMinute: number
  bytesInFlightMax: number
  heldPollsMax: number
  verificationsMax: number
  connectionsMax: number
  bodyBytesPerSecondMin: number
  /** A body may come as slowly as it likes for so long. */
  bodyGraceMs: number
  /** The database file grows no further; unlimited where undefined. */
  storeBytesMax: number | undefined
  statusRate: Rate
  pushRate: Rate
  bucketRate: Rate
  revokeRate: Rate
  requestRate: Rate
}

export const defaultLimits: Limits = {
  mailboxEnvelopesMax: 5000,
  mailboxBytesMax: GIB,
  strangerPerMinute: 30,
  strangerEnvelopesMax: 500,
  strangerBytesMax: 64 * MIB,
  probationMs: 72 * HOUR_MS,
  powBits: POW_BITS_MIN,
  registrationsPerDay: 20,
  sessionQuota: 200,
  sessionsPerMinute: 10,
  bytesInFlightMax: 256 * MIB,
  heldPollsMax: 4096,
  verificationsMax: 256,
  connectionsMax: 8192,
  bodyBytesPerSecondMin: 16 * KIB,
  bodyGraceMs: 10 * SECOND_MS,
  storeBytesMax: undefined,
  statusRate: { perSecond: 10, burst: 50 },
  pushRate: { perSecond: 1, burst: 20 },
  bucketRate: { perSecond: 5, burst: 50 },
  revokeRate: { perSecond: 1, burst: 10 },
  requestRate: { perSecond: 100, burst: 500 },
}
