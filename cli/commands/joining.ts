/** What joining a hub says, by `hub-register` and by `up --hub`. */
import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { hint, type Io, notice, sayOnTerminal } from '../io.ts'
import { askOnTerminal } from './values.ts'

/** The wire whose hubs read the mail of their agents. */
const OPEN_WIRE = 1

/** What everybody can read in a hub's chain of credits. */
export const PUBLISHED =
  'this hub publishes to whom it grants credits and who redeems some, to the hour, and each day what it owes in all; payments it shows to nobody'

export function sayJoined(io: Io, reply: ReplyOf<Operations['hubRegister']>): void {
  if (!reply.sealed) notice(io, 'messages through this hub are not sealed: its operator can read them')
  sayOnTerminal(io, PUBLISHED)
  hint(io, 'svc find\nsvc delegate <aid> "<task>"')
}

/** Registers; at a hub that seals nothing, where the person at the terminal wants that. */
export async function orUnsealed<T>(io: Io, join: (more: { wire?: number }) => Promise<T>): Promise<T> {
  try {
    return await join({})
  } catch (error) {
    const isUnsealed = error instanceof OperationRefused && error.code === 'hub_unsealed'
    if (!isUnsealed || io.stdin.isTTY !== true || !io.onTerminal) throw error
    const answer = await askOnTerminal(io, `${error.message}. Register there all the same? [y/N] `)
    if (!/^y(es)?$/i.test(answer)) throw error
    return await join({ wire: OPEN_WIRE })
  }
}
