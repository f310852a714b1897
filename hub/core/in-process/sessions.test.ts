/** Sessions of one process keep their contract, and the contract refuses forms that were made wrong. */
import { random } from '../../testing/hub.ts'
import { alone, apart, portContract, refuses } from '../../testing/ports/contract.ts'
import { sessionsRules } from '../../testing/ports/sessions-rules.ts'
import type { OpenSessions, Session } from '../ports/sessions.ts'
import { SessionsInProcess } from './sessions.ts'

const make = (): OpenSessions => new SessionsInProcess(random)

/** The sessions of one process, with some of them done otherwise. */
function but(changes: (held: OpenSessions) => Partial<OpenSessions>): OpenSessions {
  const held = make()
  return {
    open: (terms, seal) => held.open(terms, seal),
    find: (sid, nowMs) => held.find(sid, nowMs),
    endAll: aid => held.endAll(aid),
    ...changes(held),
  }
}

portContract('sessions', sessionsRules, () => alone(make()))

refuses<OpenSessions>('sessions', sessionsRules, [
  ['that only the process that opened one knows', apart(make), 'finds a session wherever it was opened'],
  [
    'whose sessions never end',
    () => alone(but(held => ({ find: sid => held.find(sid, 0) }))),
    'ends a session at its time',
  ],
  [
    'that keeps as many as one likes',
    () => alone(but(held => ({ open: (terms, seal) => held.open({ ...terms, max: 99 }, seal) }))),
    'ends the oldest of an agent',
  ],
  ['that opens first and seals later', () => alone(but(hasty)), 'opens nothing and ends nothing'],
  [
    'that forgets an end',
    () => alone(but(() => ({ endAll: async () => undefined }))),
    'ends all of one agent everywhere',
  ],
])

const hasty = (held: OpenSessions): Partial<OpenSessions> => ({
  async open(terms, seal) {
    return seal(await held.open(terms, (session: Session) => session))
  },
})
