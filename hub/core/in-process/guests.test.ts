/** Visitors' sessions of one process keep their contract, and the contract refuses forms that were made wrong. */
import { alone, apart, portContract, refuses } from '../../testing/ports/contract.ts'
import { guestsRules } from '../../testing/ports/guests-rules.ts'
import type { GuestSession, GuestSessions } from '../ports/guests.ts'
import { GuestsInProcess } from './guests.ts'

const make = (): GuestSessions => new GuestsInProcess()

/** The sessions of one process, with some of them done otherwise. */
const but = (changes: (held: GuestSessions) => Partial<GuestSessions>) => () => {
  const held = make()
  return alone<GuestSessions>({
    add: (session, room) => held.add(session, room),
    find: id => held.find(id),
    findTask: task => held.findTask(task),
    replace: (session, bytesMax) => held.replace(session, bytesMax),
    all: () => held.all(),
    endOwn: () => held.endOwn(),
    endIdle: beforeMs => held.endIdle(beforeMs),
    ...changes(held),
  })
}

portContract('guests', guestsRules, () => alone(make()))

refuses<GuestSessions>('guests', guestsRules, [
  ['that only the process that opened one knows', apart(make), 'finds a session wherever it was opened'],
  [
    'where one place takes all of the room',
    but(held => ({ add: (session, room) => held.add({ ...session, owner: undefined }, room) })),
    'opens so many at once',
  ],
  ['where whoever writes last wins', but(careless), 'changes a session for every process'],
  [
    'that holds as many words as come',
    but(held => ({ replace: session => held.replace(session, Number.MAX_SAFE_INTEGER) })),
    'holds no more words',
  ],
  ['that shows none', but(() => ({ all: async () => [] })), 'shows all that are open'],
  ['that outlives its process', but(() => ({ endOwn: async () => [] })), 'ends with its process'],
  ['that ends nothing', but(() => ({ endIdle: async () => [] })), 'ends what nobody has used'],
])

function careless(held: GuestSessions): Partial<GuestSessions> {
  return {
    async replace(session: GuestSession, bytesMax: number) {
      const version = (await held.find(session.id))?.version ?? session.version
      return await held.replace({ ...session, version }, bytesMax)
    },
  }
}
