/** What the machine gives to a part, passed in so that a test gives its own. */
import type { Logger } from 'pino'
import type { Timers } from '../../protocol/timers.ts'

export type Machine = {
  readonly now: () => number
  readonly timers: Timers
  readonly random: (length: number) => Uint8Array
  readonly log: Logger
}
