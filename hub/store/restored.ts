/** A store of the past, as after a restore: what both engines do before it may serve. */

/** Ids that the lost days of a hub may have given out lie below the next one by at least so much. */
export const IDS_SKIPPED = 4_294_967_296
/** What was lost longer ago is healed, or nobody has it. */
const LOST_LATELY_MS = 30 * 86_400_000

/** When a store was put back, and up to when it has everything. */
export type PutBack = { nowMs: number; savedMs: number }

/** Since when something may be lacking: peers may not have shown yet what an earlier restore lost. */
export function lostSince(
  { nowMs, savedMs }: PutBack,
  before: { restoredMs: number; lostSinceMs: number },
): number {
  return before.restoredMs > nowMs - LOST_LATELY_MS && before.lostSinceMs < savedMs
    ? before.lostSinceMs
    : savedMs
}
