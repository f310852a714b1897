/** How wire 1 tells what is refused: by status, and in words that nobody has to read by machine. */

/** Every kind of failure by name, with its status. */
export const failures = {
  malformed: 400,
  stale_challenge: 400,
  too_new: 400,
  hop_exceeded: 400,
  unauthorized: 401,
  forbidden: 403,
  unknown: 404,
  conflict: 409,
  limited: 429,
  failed: 500,
  peer_failed: 502,
  full: 503,
} as const

/** Name of a kind of failure. */
export type Failure = keyof typeof failures

/** What the routes between hubs say in `error`. */
export const fedLabels = {
  malformed: 'MALFORMED',
  stale_challenge: 'MALFORMED',
  too_new: 'VERSION_UNSUPPORTED',
  hop_exceeded: 'HOP_EXCEEDED',
  unauthorized: 'INVALID_SIGNATURE',
  forbidden: 'POLICY_REFUSED',
  unknown: 'UNKNOWN_DESTINATION',
  conflict: 'MALFORMED',
  failed: 'INTERNAL',
  peer_failed: 'INTERNAL',
  full: 'INTERNAL',
  limited: 'INTERNAL',
} as const satisfies Record<Failure, string>
