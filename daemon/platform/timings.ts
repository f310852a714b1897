/** Pauses of a running node that tests shorten; the defaults are what the product uses. */
export type Timings = {
  /** A capabilities-only message waits this long, and up to the spread longer, so that several needs become one. */
  topUpPauseMs: number
  topUpSpreadMs: number
  /** The first pause between two attempts of a message or a poll. */
  backoffFirstMs: number
  /** A poll held this long in peace shows that no other node of this identity was there. */
  pollSettledMs: number
  /** Between two questions to the hub after a restore. */
  settleMs: number
}

export const defaultTimings: Timings = {
  topUpPauseMs: 500,
  topUpSpreadMs: 1500,
  backoffFirstMs: 1000,
  pollSettledMs: 10_000,
  settleMs: 10_000,
}
