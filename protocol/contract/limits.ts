/** Limits that every hub and every node keep to, whatever wire lies between them: one home for each. */

const KIB = 1024
const MIB = 1024 * KIB

export const ENVELOPE_BYTES_MAX = 96 * MIB
export const ATTACHMENT_BYTES_MAX = 64 * MIB
export const DACK_BYTES = 540
export const KEY_SET_BYTES_MAX = 8 * KIB

/** Items of one request. */
export const STATUS_ITEMS_MAX = 64
export const ACK_ITEMS_MAX = 1000
export const REVOKE_ITEMS_MAX = 1000
export const POLL_LIMIT_MAX = 256
export const LIST_LIMIT_MAX = 100
export const LIST_LIMIT_DEFAULT = 50

/** A profile. */
export const CAPS_MAX = 64
export const CAP_BYTES_MAX = 64
export const NAME_BYTES_MAX = 64
export const SUMMARY_BYTES_MAX = 512
export const README_BYTES_MAX = 64 * KIB

/** Whole credits: what an amount, a balance or a sum may be. */
export const CREDITS_MAX = Number.MAX_SAFE_INTEGER
