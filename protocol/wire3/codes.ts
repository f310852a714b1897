/**
 * The refusal codes of wire 3 (hub API §7): one status a code, the members it adds, and its sentence: what happened,
 * and after the semicolon the next step. `{name}` in a sentence is filled from the refusal's facts, `{wait}` with the time
 * of its Retry-After in words.
 */

/** One refusal: its HTTP status, its further members and its sentence (wire-3, Codes). */
export type CodeRow = {
  readonly status: number
  /** Members beside `reason` and `error`. */
  readonly members: readonly string[]
  readonly sentence: string
  /** What fills `{why}`, `{step}` and `{part}` where the refusal does not say it. */
  readonly why?: string
  readonly step?: string
  readonly part?: string
  /** Seconds sent as Retry-After unless the refusal knows better; required for 429, 502, 503 and 507. */
  readonly retryAfter?: number
}

const row = (status: number, sentence: string, more: Partial<CodeRow> = {}): CodeRow => ({
  status,
  members: [],
  sentence,
  ...more,
})

/** Every refusal by the text of its `reason`, wire-3 (Codes). */
export const codes = {
  access_invalid: row(403, '{why}; {step}', {
    why: 'the delivery credential is not accepted',
    step: 'refresh the key set and use another',
  }),
  admission_required: row(
    403,
    '{aid} is not registered here, and only the operator can let it in; ask the operator to run: svc-hub admit {aid} (or, if it is blocked: svc-hub unblock {aid})',
    { members: ['aid'] },
  ),
  aid_deactivated: row(410, 'this identity was deactivated; create a new one with: svc id new <name>'),
  bad_ack_item: row(
    400,
    'an ack item is malformed; send 1 to 1000 items with id, and handle and dack together or not at all',
  ),
  bad_envelope: row(400, 'the body is not an acceptable sealed envelope: {why}; seal it again'),
  bad_exp: row(400, 'the envelope expires further ahead than 14 days; seal it with an earlier expiry'),
  bad_request: row(400, 'the request is not accepted: {why}; correct it and send it again'),
  bad_status_query: row(
    400,
    'a status query takes 1 to 64 items of one hub, with rid and handle as base64url of 16 bytes without padding; correct it and send it again',
  ),
  bucket_too_narrow: row(
    400,
    'the bucket is narrower than this hub serves; ask for at most {max_bits} bits',
    {
      members: ['max_bits'],
    },
  ),
  expired: row(400, 'the envelope has expired; seal it again with a later expiry'),
  gateway_removed: row(410, 'the payment gateway was removed; reach the agent through its node'),
  head_conflict: row(
    409,
    'the chain of this hub does not have the witnessed record {witnessed_id} at place {witnessed_seq}; keep both as evidence, and sign nothing more',
    { members: ['seq', 'head_id', 'witnessed_seq', 'witnessed_id'] },
  ),
  home_unreachable: row(502, 'the hub of the recipient did not answer; retry in {wait}', {
    retryAfter: 60,
  }),
  identity_headers_not_allowed: row(
    400,
    'this route takes no sender identity; send it without X-Svc-AID, X-Svc-Seq and X-Svc-Sig',
  ),
  internal: row(500, 'the hub failed to handle the request; retry, and tell the operator if it stays'),
  invite_removed: row(400, 'invites are no longer used; register without the member invite'),
  kel_fork: row(409, 'the key history conflicts with the one held; do not use this copy of the identity'),
  kel_invalid: row(400, 'the {part} does not verify: {why}; {step}', {
    part: 'key history',
    step: 'send the whole log as it was written',
  }),
  kel_rollback: row(409, 'the key history is older than the one held; send the newest log'),
  kel_ts_out_of_window: row(
    400,
    'the time of a new key event is too far from the clock of this hub; check the clock and rotate once more',
  ),
  key_retired: row(401, 'signed with a key that was rotated away; sign with the current key'),
  keys_rollback: row(409, 'the key set is not newer than the stored one; publish one after {stored_seq}', {
    members: ['stored_seq'],
  }),
  kid_stale: row(
    409,
    'sealed to a key that the recipient no longer publishes; fetch its key set and seal again',
  ),
  mailbox_full: row(507, 'the mailbox of the recipient is full; retry in {wait}', {
    retryAfter: 600,
  }),
  not_found: row(404, '{why}; {step}', {
    why: 'there is no such route or resource',
    step: 'see {base_url}/llms.txt',
  }),
  not_peer: row(403, 'the calling hub is not a listed peer; ask the operator to list it'),
  pow_required: row(403, 'registration needs proof of work: {why}; {step}', {
    members: ['challenge'],
    why: 'none came',
    step: 'solve the challenge and register again',
  }),
  probation: row(403, 'a new account uploads no reviews during probation; retry when it is over'),
  proof_unavailable: row(404, 'there is no balance proof for that period; proofs are kept 14 days'),
  rate_limited: row(429, 'too many requests; retry in {wait}', { retryAfter: 1 }),
  receipt_not_reviewable: row(
    400,
    'the receipt carries no review commitment or its signatures do not match; send the receipt of a finished task',
  ),
  recipient_unknown: row(404, 'no reachable hub knows the recipient; check the AID'),
  redelivery_limited: row(429, 'this envelope was queued too often; retry in {wait}', {
    retryAfter: 3600,
  }),
  registration_quota: row(429, 'the sign-ups of this address range are used up; retry in {wait}', {
    retryAfter: 3600,
  }),
  replayed: row(401, 'this signed request was already used; sign a new one'),
  requester_commit_mismatch: row(
    400,
    'only the requester of the interaction can review it; sign as the requester',
  ),
  review_exists: row(409, 'this interaction is already reviewed; nothing more to do'),
  review_window_closed: row(400, 'the time for a review of this task is over; nothing more to do'),
  revocation_list_full: row(429, 'the revocation list of the mailbox is full; start a new mailbox epoch', {
    retryAfter: 86_400,
  }),
  session_invalid: row(401, 'the sending session is missing, expired or does not verify; open a new session'),
  source_rate: row(429, 'too many requests from the calling hub; retry in {wait}', {
    retryAfter: 1,
  }),
  strangers_busy: row(429, 'the recipient takes no more first contacts now; retry in {wait}', {
    retryAfter: 60,
  }),
  supply_halted: row(
    503,
    'the supply chain of this hub stands still, so no credits are redeemed; retry later, and ask its operator, to whom svc-hub doctor says why',
    { retryAfter: 600 },
  ),
  too_large: row(413, 'the {part} is larger than the {limit} bytes that are taken here; send less'),
  too_large_for_stranger: row(
    413,
    'the envelope is larger than the recipient takes from non-contacts; send a smaller one first',
  ),
  ts_stale: row(
    401,
    'the signing time is not after the last one accepted; sign again with a time after the floor',
    {
      members: ['floor'],
    },
  ),
  unauthorized: row(401, 'the signature is not accepted: {why}; {step}', {
    step: 'sign with the current key for this hub',
  }),
  unavailable: row(503, '{why}; retry in {wait}', {
    why: 'the hub takes no more work at the moment',
    retryAfter: 5,
  }),
  unknown_aid: row(404, 'no agent with this AID is known here; check the AID'),
  unknown_destination: row(404, 'no agent with this AID is registered on this hub; ask another hub'),
  wire_too_new: row(400, 'the caller speaks a wire version above 3; use a client of release 0.3'),
  wire_too_old: row(426, 'the caller speaks a wire version below 3 or none; use a client of release 0.3', {
    members: ['required_wire', 'required_svc'],
  }),
  witness_not_this_hub: row(
    400,
    'the latest key event does not name this hub as witness; rotate to this hub and register again',
  ),
} as const satisfies Record<string, CodeRow>

/** `reason` of a refusal, wire-3 (Codes). */
export type Code = keyof typeof codes

/** Codes that any route may answer; a row's own `codes` leave them out. */
export const commonCodes = [
  'bad_request',
  'not_found',
  'internal',
  'too_large',
  'unavailable',
  'wire_too_new',
  'wire_too_old',
] as const satisfies readonly Code[]

/** Added to the common ones on routes of this kind of authentication. */
export const authCodes = {
  signed: ['unauthorized', 'key_retired', 'replayed', 'ts_stale'],
  anonymous: ['identity_headers_not_allowed'],
  none: ['identity_headers_not_allowed'],
  credential: ['identity_headers_not_allowed'],
} as const satisfies Record<string, readonly Code[]>
