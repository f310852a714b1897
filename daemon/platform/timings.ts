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
  /** How long a hub may take to answer to a payment, or to an order about one. */
  paymentMs: number
  /** The first pause between two questions to a hub about a payment. */
  paymentPauseMs: number
}

export const defaultTimings: Timings = {
  topUpPauseMs: 500,
  topUpSpreadMs: 1500,
  backoffFirstMs: 1000,
  pollSettledMs: 10_000,
  settleMs: 10_000,
  paymentMs: 20_000,
  paymentPauseMs: 2000,
}
