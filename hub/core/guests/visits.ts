/** Visits as the operator of the hub sees them and ends them: never a secret of a visitor, never a word. */
import { sha256 } from '../../../protocol/crypto/engine.node.ts'
import { toHex, utf8 } from '../../../protocol/encoding/bytes.ts'
import type { GuestSession, GuestSessions } from '../ports/guests.ts'
import { handlerGone } from './session.ts'

const NAME_BYTES = 8

/** A session as its operator sees it: `name` is a hash, since the id opens the conversation; no word of it is shown. */
export type Visit = Pick<GuestSession, 'handler' | 'state' | 'sent' | 'remaining' | 'seenMs'> & {
  name: string
  unread: number
}
const nameOf = ({ id }: GuestSession): string => toHex(sha256(utf8(id)).subarray(0, NAME_BYTES))

/** All sessions that are held. */
export async function visitsOf(sessions: GuestSessions): Promise<Visit[]> {
  return (await sessions.all()).map(session => {
    const { handler, state, sent, remaining, seenMs, waiting } = session
    return { name: nameOf(session), handler, state, sent, remaining, seenMs, unread: waiting.length }
  })
}

/** Ends all visits to an agent that is taken off; each visitor reads why. */
export async function endVisits(sessions: GuestSessions, handler: string): Promise<void> {
  for (const { id } of (await sessions.all()).filter(session => session.handler === handler))
    for (let outcome = ''; outcome !== 'replaced'; ) {
      const session = await sessions.find(id)
      if (session === undefined || session.state === 'ended') break
      outcome = await sessions.replace(handlerGone(session), Number.POSITIVE_INFINITY)
    }
}
