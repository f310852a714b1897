/** Limits that every hub and every node keep to, whatever wire lies between them: one home for each. */

const KIB = 1024
const MIB = 1024 * KIB

/** Bytes of an envelope at most, objects §6. */
export const ENVELOPE_BYTES_MAX = 96 * MIB
/** Bytes of one attachment at most, objects §7. */
export const ATTACHMENT_BYTES_MAX = 64 * MIB
/** Bytes of every sealed confirmation, objects §9. */
export const DACK_BYTES = 540
/** Bytes of a key set in a request or a reply at most, wire-3. */
export const KEY_SET_BYTES_MAX = 8 * KIB

/** Items of one request to `/relay/status` at most, wire-3. */
export const STATUS_ITEMS_MAX = 64
/** Items of one request to `/relay/ack` at most, wire-3. */
export const ACK_ITEMS_MAX = 1000
/** Capability ids of one request to `/mailbox/revoke` at most, wire-3. */
export const REVOKE_ITEMS_MAX = 1000
/** Envelopes that one request to `/relay/poll` may ask for, wire-3. */
export const POLL_LIMIT_MAX = 256
/** Agents that one page of a listing may have, wire-3. */
export const LIST_LIMIT_MAX = 100
/** Agents of one page of a listing, where the query names no limit. */
export const LIST_LIMIT_DEFAULT = 50

/** Capabilities of one profile at most. */
export const CAPS_MAX = 64
/** Bytes of one capability tag at most. */
export const CAP_BYTES_MAX = 64
/** UTF-8 bytes of a name at most. */
export const NAME_BYTES_MAX = 64
/** UTF-8 bytes of a summary at most. */
export const SUMMARY_BYTES_MAX = 512
/** UTF-8 bytes of a readme at most. */
export const README_BYTES_MAX = 64 * KIB

/** Bytes of a request or result document at most, as JSON, objects §10. */
export const DOCUMENT_BYTES_MAX = 768 * KIB
/** UTF-8 bytes of why a task is declined or withdrawn at most, objects §7. */
export const REASON_BYTES_MAX = KIB
/** UTF-8 bytes of what is said beside a rating at most, objects §12. */
export const COMMENT_BYTES_MAX = 4 * KIB

/** Whole credits: what an amount, a balance or a sum may be. */
export const CREDITS_MAX = Number.MAX_SAFE_INTEGER
