/** What happens meanwhile: to the line between two hubs, to either of them, by either of them. */
import { rotateIdentity } from '../../../hub/core/identity.ts'
import { DAY_MS, HOUR_MS } from '../../../hub/core/limits.ts'
import { random } from '../../../hub/testing/hub.ts'
import { forgedPayments, forgedRequests, manyRequests } from './floods.ts'
import type { HubSide } from './hub-side.ts'
import { forked, garbage, lies, refuses, refusesAll } from './lies.ts'
import { answersLost, type Fault, kept, requestsLost, twice } from './line.ts'
import type { Waiting } from './rows.ts'
import type { PeersWorld } from './world.ts'

/** Answers a column where it could not happen. */
export const IMPOSSIBLE = 'impossible'
type Outcome = typeof IMPOSSIBLE | undefined
export type Column = {
  name: string
  /** What has to be done before anything waits. */
  before?(world: PeersWorld): Promise<void>
  happen(waiting: Waiting): Promise<Outcome> | Promise<void>
}

const WEEK_MS = 7 * DAY_MS

/** Everybody asks again while all that one hub asks the other meets this. */
async function meanwhile({ world }: Waiting, hub: HubSide, fault: Fault, turns = 2): Promise<void> {
  world.line(hub).fault = fault
  for (let turn = 0; turn < turns; turn++) await world.turn()
  world.line(hub).fault = undefined
}

/** What is asked is kept for so long that nobody waits for it any more. */
async function late(waiting: Waiting, what: 'requests' | 'answers'): Promise<void> {
  const { fault, letGo } = kept(what)
  await meanwhile(waiting, waiting.here, fault)
  letGo()
  await waiting.world.turn()
}

/** What happens to the line between the hubs. */
export const lines: Column[] = [
  {
    name: 'requests to the peer are lost',
    happen: waiting => meanwhile(waiting, waiting.here, requestsLost),
  },
  { name: 'its answers are lost', happen: waiting => meanwhile(waiting, waiting.here, answersLost) },
  { name: 'requests arrive after the hub gave up', happen: waiting => late(waiting, 'requests') },
  { name: 'answers come after the hub gave up', happen: waiting => late(waiting, 'answers') },
  { name: 'each request arrives twice', happen: waiting => meanwhile(waiting, waiting.here, twice) },
  {
    name: 'the hubs are cut off from each other for a week',
    async happen({ world, here, there }) {
      for (const hub of [here, there]) world.line(hub).fault = requestsLost
      await world.turn()
      await world.pass(WEEK_MS)
      await world.turn()
      for (const hub of [here, there]) world.line(hub).fault = undefined
    },
  },
  {
    name: 'one way between the hubs is cut for a day',
    async happen({ world, there }) {
      world.line(there).fault = requestsLost
      await world.turn()
      await world.pass(DAY_MS)
      world.line(there).fault = undefined
    },
  },
  {
    name: 'the address of the peer leads back to the hub itself',
    async happen({ world, here, there }) {
      world.line(here).target = here.url
      await world.turn()
      await world.reachable(there)
    },
  },
]

async function skewed({ world }: Waiting, hub: HubSide, ms: number): Promise<void> {
  hub.skewMs = ms
  await world.turn()
  hub.skewMs = 0
  await world.turn()
}

async function down({ world }: Waiting, hub: HubSide, ms: number): Promise<void> {
  await world.stopHub(hub)
  await world.turn()
  await world.pass(ms)
  await world.startHub(hub)
}

async function killed({ world }: Waiting, hub: HubSide, place: 'before' | 'after'): Promise<Outcome> {
  hub.kills = 0
  hub.killAt(place, () => {
    world.line(world.other(hub)).target = undefined
    world.line(hub).fault = requestsLost
  })
  await world.turn()
  for (let turn = 0; turn < 4 && hub.kills === 0; turn++) {
    await world.pass(HOUR_MS / 2)
    await world.turn()
  }
  await world.stopHub(hub)
  world.line(hub).fault = undefined
  await world.startHub(hub)
  return hub.kills === 0 ? IMPOSSIBLE : undefined
}

async function putBack({ world }: Waiting, hub: HubSide, meanwhile: boolean): Promise<void> {
  const restore = await hub.backUp(world.folder)
  if (meanwhile) await world.turn()
  await restore()
  await world.reachable(hub)
}

const either = (of: 'here' | 'there', who: string): Column[] => [
  { name: `${who} is down for an hour`, happen: waiting => down(waiting, waiting[of], HOUR_MS) },
  {
    name: `${who} is killed before its next commit`,
    happen: waiting => killed(waiting, waiting[of], 'before'),
  },
  {
    name: `${who} is killed after its next commit`,
    happen: waiting => killed(waiting, waiting[of], 'after'),
  },
  {
    name: `${who} is put back to a moment at which it waited`,
    happen: waiting => putBack(waiting, waiting[of], true),
  },
  {
    name: `${who} is put back to before it waited`,
    before: world => world.save(),
    async happen({ world, ...sides }) {
      await world.turn()
      await world.putBack(sides[of])
    },
  },
  {
    name: `the clock of ${who} goes forward by two days and back`,
    happen: waiting => skewed(waiting, waiting[of], 2 * DAY_MS),
  },
  {
    name: `the clock of ${who} goes back by an hour and forward`,
    happen: waiting => skewed(waiting, waiting[of], -HOUR_MS),
  },
  {
    name: `the key of ${who} is rotated`,
    async happen({ world, ...sides }) {
      await sides[of].running.order({ command: 'rotate' })
      await world.turn()
    },
  },
  {
    name: `the operator of ${who} takes the other one off the list, and lists it again`,
    async happen({ world, ...sides }) {
      await world.unlist(sides[of])
      await world.turn()
      await world.list(sides[of])
    },
  },
]

const both: Column[] = [
  {
    name: 'the operator takes back what the peer may owe',
    async happen({ world, here }) {
      await world.list(here, 0)
      await world.turn()
    },
  },
  {
    name: 'both hubs are put back to a moment at which it waited',
    async happen({ world, here, there }) {
      const restores = [await here.backUp(world.folder), await there.backUp(world.folder)]
      await world.turn()
      for (const restore of restores) await restore()
      for (const hub of [here, there]) await world.reachable(hub)
    },
  },
]

const hostile: Column[] = [
  { name: 'the peer answers garbage', happen: waiting => meanwhile(waiting, waiting.here, garbage(), 6) },
  { name: 'the peer refuses everything', happen: waiting => meanwhile(waiting, waiting.here, refuses(), 4) },
  {
    name: 'the peer refuses what it has made',
    async happen(waiting) {
      await meanwhile(waiting, waiting.here, refusesAll)
      // their people see the receipts of the payers, and ask again
      for (const one of waiting.world.payments) one.refused = undefined
    },
  },
  { name: 'the peer tells what it signed about something else', happen: waiting => lies(waiting, meanwhile) },
  {
    name: 'the peer shows a forked key history and signs under it',
    async happen(waiting) {
      const { world, here, there } = waiting
      const copy = there.copyKeys(world.folder)
      const { now } = there.clock
      const fork = rotateIdentity(copy, there.hub.context.identity, now, random)
      await there.running.order({ command: 'rotate' })
      await world.turn()
      await meanwhile(waiting, here, forked(fork))
    },
  },
  {
    name: 'the peer floods the hub',
    async happen({ world, here, there }) {
      await manyRequests(here, there, 90)
      await world.turn()
    },
  },
  {
    name: 'somebody floods the hub in the name of the peer, under a later key',
    async happen({ world, here, there }) {
      await forgedRequests(here, there, 90)
      await world.turn()
    },
  },
  {
    name: 'somebody floods the hub with forged payments of the peer',
    async happen({ world, here }) {
      await forgedPayments(world, here, 40)
      await world.turn()
    },
  },
]

export const columns: readonly Column[] = [
  ...lines,
  ...either('here', 'the hub'),
  ...either('there', 'the peer'),
  ...both,
  ...hostile,
]
