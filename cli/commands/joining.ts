/** What joining a hub says, by `hub-register` and by `up --hub`. */
import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { hint, type Io, notice, sayOnTerminal } from '../io.ts'

/** What everybody can read in a hub's chain of credits. */
export const PUBLISHED =
  'this hub publishes to whom it grants credits and who redeems some, to the hour, and each day what it owes in all; payments it shows to nobody'

export function sayJoined(io: Io, reply: ReplyOf<Operations['hubRegister']>): void {
  if (!reply.sealed) notice(io, 'messages through this hub are not sealed: its operator can read them')
  sayOnTerminal(io, PUBLISHED)
  hint(io, 'svc find\nsvc delegate <aid> "<task>"')
}
