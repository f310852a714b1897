/** The steps of the demo by name, in their order; the table of commands reads this without the steps themselves. */
export const stepNames = [
  'hub',
  'alice',
  'bob',
  'admit',
  'find',
  'delegate',
  'sealed',
  'reply',
  'end',
  'verify',
  'tamper',
  'chains',
  'rotate',
] as const

/** Those of the demo in which one agent pays the other. */
export const payStepNames = [
  'hub',
  'sensor',
  'alice',
  'bob',
  'admit',
  'grant',
  'quote',
  'limit',
  'held',
  'captured',
  'failed',
  'receipts',
  'balances',
  'supply',
  'chains',
] as const

/** Those of the demo with three hubs. */
export const federationStepNames = [
  'hubs',
  'peers',
  'alice',
  'bob',
  'join',
  'delegate',
  'forwarded',
  'reply',
  'end',
  'verify',
  'across',
  'review',
  'away',
  'back',
] as const

/** Those of the demo at a hub that seals nothing. */
export const openStepNames = [
  'hub',
  'sensor',
  'alice',
  'bob',
  'invite',
  'find',
  'read',
  'reply',
  'end',
  'verify',
  'tamper',
  'publish',
  'guest',
  'board',
  'price',
  'voucher',
  'once',
  'accounts',
  'chains',
] as const

/** Those of the demo with one hub of three processes. */
export const processesStepNames = [
  'database',
  'processes',
  'alice',
  'bob',
  'join',
  'delegate',
  'reply',
  'killed',
  'promoted',
  'end',
  'verify',
] as const

export type StepName =
  | (typeof stepNames)[number]
  | (typeof payStepNames)[number]
  | (typeof federationStepNames)[number]
  | (typeof openStepNames)[number]
  | (typeof processesStepNames)[number]

/** Of all demos, each once. */
export const allStepNames: readonly StepName[] = [
  ...new Set([
    ...stepNames,
    ...payStepNames,
    ...federationStepNames,
    ...openStepNames,
    ...processesStepNames,
  ]),
]
