/** What waits between two hubs: each row brings a world to the moment at which it does. */
import type { Paying } from '../../../hub/testing/payments.ts'
import type { HubSide } from './hub-side.ts'
import { insist } from './insist.ts'
import { Letter, type LetterOptions } from './letters.ts'
import { answersLost, type Fault, once, requestsLost } from './line.ts'
import { Across } from './payments.ts'
import { Reading } from './reading.ts'
import type { PeersWorld } from './world.ts'

/** Something of `here` waits for the answer of `there`. */
export type Waiting = { world: PeersWorld; here: HubSide; there: HubSide }
export type Row = {
  name: string
  begin(world: PeersWorld): Promise<Waiting>
  /** Why a column can't happen here, by its name. */
  cannot?: Readonly<Record<string, string>>
}

const KIB = 1024
const FORWARD = '/fed/v3/forward'
const SETTLE = '/fed/v3/settle'
const CLEAR = '/fed/v3/clear'
const HOLD_SECONDS = 3600
/** A connection that nobody used for long may be closed at the next call. */
const ASKS = 3

async function letter(
  world: PeersWorld,
  fault: Fault | undefined,
  given: Partial<LetterOptions> = {},
): Promise<Waiting> {
  const { east, west } = world
  const one = new Letter({ from: east, to: west }, world.agents, { name: 'the letter', ...given })
  world.letters.push(one)
  await meeting(world, east, FORWARD, fault, () => one.ask())
  return { world, here: east, there: west }
}

/** Rows that begin one after another, under their own names; what waits asks by way of `here`. */
export function together(name: string, here: 'east' | 'west', rows: readonly Row[]): Row {
  return {
    name,
    async begin(world) {
      for (const row of rows) {
        await row.begin(world)
        const [last] = [world.letters.at(-1), world.payments.at(-1)].filter(one =>
          one?.name.startsWith('the '),
        )
        if (last !== undefined) last.name = row.name
      }
      return { world, here: world[here], there: world.other(world[here]) }
    },
  }
}

/** Something is asked of a hub, whose question to the other one meets this. */
async function meeting(
  world: PeersWorld,
  hub: HubSide,
  path: string,
  fault: Fault | undefined,
  work: () => Promise<unknown>,
): Promise<void> {
  const line = world.line(hub)
  if (fault !== undefined) line.fault = once(line, path, fault)
  let failed: unknown
  await world.through([
    insist(work).catch(error => {
      failed = error
    }),
  ])
  if (line.fault !== undefined)
    throw new Error(`nothing was asked for at ${path}: ${world.letters.at(-1)?.why}`, { cause: failed })
  // nothing is begun for ten seconds after a call that got no answer
  await world.pass(11_000)
}

/** The body of a large letter is on its way while the next calls to its peer leave. */
async function overlapping(world: PeersWorld, from: HubSide): Promise<Waiting> {
  const [to, line] = [world.other(from), world.line(from)]
  const { alice, bob, capability } = world.agents
  const both =
    from === world.east
      ? { alice, bob, capability }
      : { alice: bob, bob: alice, capability: alice.capability({ usesPerDay: 9, expMs: alice.endOfDay(20) }) }
  const [large, next] = [
    new Letter({ from, to }, both, { name: 'a letter whose body travels', bytes: 300 * KIB }),
    new Letter({ from, to }, both, { name: 'a letter that overtakes it' }),
  ]
  line.keepBodies()
  large.ask().catch(() => undefined)
  await world.untilTravelling(from)
  await insist(() => next.ask())
  if (line.travelling !== 1 || large.told !== undefined) throw new Error('the body does not travel any more')
  if (next.told === undefined) throw new Error(`no call leaves meanwhile: ${next.why}`)
  world.letters.push(large, next)
  return { world, here: from, there: to }
}

/** Nothing begins after it, since its body arrives at the next turn. */
export const travelling = (from: 'east' | 'west'): Row => ({
  name: `a large letter from ${from}, overtaken on its way,`,
  begin: world => overlapping(world, world[from]),
})

type Paid = Paying & { takes?: number; isForgotten?: boolean; amount?: number }

/** Alice pays bob, whose hub asks hers. */
function payment(world: PeersWorld, { takes, isForgotten = false, amount = 30, ...more }: Paid = {}): Across {
  const { east, west, agents } = world
  const given = {
    name: 'the payment',
    payers: east,
    payees: west,
    payer: agents.alice,
    payee: agents.bob,
    amount,
  }
  const one = Object.assign(new Across(given, more), { takes, isForgotten })
  world.payments.push(one)
  return one
}

async function paying(world: PeersWorld, fault: Fault | undefined, given: Paid = {}): Promise<Waiting> {
  const { isForgotten = false, ...more } = given
  const one = payment(world, more)
  await meeting(world, world.west, SETTLE, fault, () => one.ask())
  one.isForgotten = isForgotten
  return { world, here: world.west, there: world.east }
}

/** A hold that both hubs signed. */
async function held(world: PeersWorld): Promise<Across> {
  const one = payment(world, { holdSeconds: HOLD_SECONDS })
  for (let time = 0; time < ASKS && one.told.length === 0; time++)
    await meeting(world, world.west, SETTLE, undefined, () => one.ask())
  if (one.told.length !== 1) throw new Error(`the credits are not held: ${one.why} ${one.refused?.code}`)
  return one
}

async function ordering(world: PeersWorld, takes: number, fault: Fault | undefined): Promise<Waiting> {
  const one = await held(world)
  one.takes = takes
  await meeting(world, world.west, SETTLE, fault, () => one.ask())
  return { world, here: world.west, there: world.east }
}

export const mail: Row[] = [
  { name: 'a letter that did not arrive', begin: world => letter(world, requestsLost) },
  { name: 'a letter whose answer was lost', begin: world => letter(world, answersLost) },
  {
    name: 'a large letter whose answer was lost',
    begin: world => letter(world, answersLost, { bytes: 300 * KIB }),
  },
  {
    name: 'a letter of a stranger whose answer was lost',
    begin: world => letter(world, answersLost, { isStranger: true }),
  },
  { name: 'a letter that has arrived', begin: world => letter(world, undefined) },
]

async function telling(
  world: PeersWorld,
  name: string,
  kind: 'card' | 'review',
  isWithdrawn: boolean,
): Promise<Waiting> {
  const { east, west } = world
  const one = await Reading.begin(world, { name, kind, reader: east, teller: west })
  world.readings.push(one)
  if (isWithdrawn) {
    await world.turn()
    await one.withdraw()
  }
  return { world, here: east, there: west }
}

export const reading: Row[] = [
  { name: 'a card that was not read', begin: world => telling(world, 'the card', 'card', false) },
  { name: 'a card that was withdrawn', begin: world => telling(world, 'the card', 'card', true) },
  { name: 'a review that was not read', begin: world => telling(world, 'the review', 'review', false) },
  { name: 'a review that was withdrawn', begin: world => telling(world, 'the review', 'review', true) },
]

/** A payment that both hubs have. */
async function paidFor(world: PeersWorld): Promise<Across> {
  const one = payment(world)
  for (let time = 0; time < ASKS && one.told.length === 0; time++)
    await meeting(world, world.west, SETTLE, undefined, () => one.ask())
  return one
}

/** The operator of the creditor says that the debt was paid; the debtor does not hear it. */
async function paidOutside(world: PeersWorld): Promise<Waiting> {
  const { east, west } = world
  await paidFor(world)
  const [amount, line] = [20, world.line(west)]
  line.fault = once(line, CLEAR, requestsLost)
  const paid = { aid: east.aid, amount, reference: 'transfer 7' }
  const { number } = (await west.running.order({ command: 'peers', paid })) as { number: number }
  world.statements.push({
    ...{ name: 'the statement', creditor: west, debtor: east, amount, number },
    madeMs: world.timers.now(),
  })
  await world.timers.skip(5000)
  await world.through([])
  if (line.fault !== undefined) throw new Error('the debtor was told of nothing')
  return { world, here: west, there: east }
}

export const clearing: Row[] = [
  { name: 'a statement about a paid debt that did not arrive', begin: paidOutside },
]

export const money: Row[] = [
  { name: 'a payment that did not arrive', begin: world => paying(world, requestsLost) },
  { name: 'a payment whose answer was lost', begin: world => paying(world, answersLost) },
  {
    name: 'a payment whose answer was lost, about which nobody asks again,',
    begin: world => paying(world, answersLost, { isForgotten: true }),
  },
  {
    name: 'a hold whose answer was lost',
    begin: world => paying(world, answersLost, { holdSeconds: HOLD_SECONDS, takes: 12 }),
  },
  {
    name: 'a hold',
    async begin(world) {
      const one = await held(world)
      one.takes = 12
      return { world, here: world.west, there: world.east }
    },
  },
  {
    name: 'a hold that nobody ends',
    async begin(world) {
      await held(world)
      return { world, here: world.west, there: world.east }
    },
  },
  { name: 'an order that did not arrive', begin: world => ordering(world, 12, requestsLost) },
  { name: 'an order whose answer was lost', begin: world => ordering(world, 12, answersLost) },
  { name: 'a release whose answer was lost', begin: world => ordering(world, 0, answersLost) },
  {
    name: 'a refund whose answer was lost',
    async begin(world) {
      const { east, west, agents } = world
      const first = await paidFor(world)
      const given = { name: 'the refund', payers: west, payees: east, payer: agents.bob, payee: agents.alice }
      const back = new Across({ ...given, amount: 20 }, { refundOf: first.transaction })
      world.payments.push(back)
      await meeting(world, east, SETTLE, answersLost, () => back.ask())
      return { world, here: east, there: west }
    },
  },
  {
    name: 'a move with credits whose answer was lost',
    async begin(world) {
      const { east, west, agents } = world
      const moved = await world.moved(agents.alice, west)
      const given = { name: 'the move', payers: east, payees: west, payer: agents.alice, payee: moved }
      const one = new Across({ ...given, amount: 40 })
      world.payments.push(one)
      await meeting(world, west, SETTLE, answersLost, () => one.ask())
      return { world, here: west, there: east }
    },
  },
]
