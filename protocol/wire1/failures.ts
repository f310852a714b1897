/** How wire 1 tells what is refused: by status, and in words that nobody has to read by machine. */

/** Every kind of failure by name, with its status. */
export const failures = {
  malformed: 400,
  stale_challenge: 400,
  too_new: 400,
  unauthorized: 401,
  forbidden: 403,
  unknown: 404,
  conflict: 409,
  failed: 500,
  peer_failed: 502,
  full: 503,
} as const

/** Name of a kind of failure. */
export type Failure = keyof typeof failures
