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

export type StepName = (typeof stepNames)[number]
