/** Prices, payments and what is given back, each without its answer. */
import { paymentOf } from '../../../daemon/store/payments.ts'
import { quoteOf } from '../../../daemon/store/quotes.ts'
import { delegate, joined, priced, type Row, stage, tell, undecided, unknown, type Waiting } from '../row.ts'
import type { Side } from '../side.ts'
import { type MatrixWorld, PRICE } from '../world.ts'

const { signal } = new AbortController()

/** A task of alice's whose price is on its way to her. */
const taskPriced = (given: { pay?: boolean; max_credits?: number }) =>
  stage(async world => {
    await joined(world)
    world.grant()
    const id = delegate(world, { to: world.bob, text: 'a poem', ...given })
    await world.turns(2)
    return id
  })
const toBeAsked = taskPriced({})
const toBePaid = taskPriced({ pay: true, max_credits: PRICE })

const taskQuoted = stage(async world => {
  const id = await toBeAsked(world)
  await world.turns(1)
  return id
})

const taskAuthorized = stage(async world => {
  const quoted = await toBePaid(world)
  const { alice, bob } = world
  for (let turn = 0; turn < 4; turn++) {
    await world.turns(1)
    const paidAs = quoteOf(alice.ctx.store, alice.node.thread(quoted).key)?.paidAs ?? null
    if (paidAs === null) continue
    const { id } = alice.ctx.threads.byKey(paidAs)
    world.said.push({ by: alice, to: bob, id, text: 'a poem' })
    return id
  }
  throw new Error('the task was not paid for')
})

/** A task of alice's that costs something: the one that she delegated anew with its payment, not sent yet. */
async function authorized(world: MatrixWorld): Promise<Waiting> {
  const id = await taskAuthorized(world)
  return { world, here: world.alice, there: world.bob, id }
}

const holdUnanswered = stage(async world => {
  const { id } = await authorized(world)
  world.post.ledger.next('settle', { kind: 'lost_after' })
  await world.alice.send()
  await world.bob.turn()
  return id
})

const taskHeld = stage(async world => {
  const { id } = await authorized(world)
  for (let turn = 0; turn < 4; turn++) {
    await world.turns(1)
    const { ctx } = world.bob
    if (paymentOf(ctx.store, ctx.threads.findById(id)?.key ?? -1)?.state === 'held') return id
  }
  throw new Error('the credits are not held')
})

/** Bob holds the credits of a task. */
async function held(world: MatrixWorld): Promise<Waiting> {
  const id = await taskHeld(world)
  return { world, here: world.bob, there: world.alice, id }
}

const taskTaken = stage(async world => {
  const { id } = await held(world)
  tell(world, world.bob, id, 'roses are red')
  await world.turns(4)
  return id
})

/** Bob took the credits of a task that is not over. */
async function captured(world: MatrixWorld): Promise<Waiting> {
  const id = await taskTaken(world)
  return { world, here: world.bob, there: world.alice, id }
}

/** A price on its way to alice, about which nobody has to be asked. */
async function ruled(world: MatrixWorld): Promise<Waiting> {
  const id = await toBeAsked(world)
  const { alice, bob } = world
  const day = 10 * PRICE
  alice.ctx.settings.change({
    spend: { auto_max: PRICE, agent_max: 0, day_max: day, payee_day_max: day },
  })
  return { world, here: alice, there: bob, id }
}

/** What a task costs, before anything is paid. */
export const prices: Row[] = [
  {
    name: 'a price that a rule pays',
    like: 'a quote that nobody has answered',
    cannot: priced,
    begin: ruled,
  },
  {
    name: 'a quote that nobody has answered',
    cannot: undecided,
    async begin(world) {
      const id = await taskQuoted(world)
      if (quoteOf(world.alice.ctx.store, world.alice.node.thread(id).key)?.state !== 'open')
        throw new Error('the price has not come')
      return { world, here: world.alice, there: world.bob, id }
    },
  },
]

/** Credits of which nobody knows yet that they are held. */
export const unsettled: Row[] = [
  { name: 'an authorization that is not settled', cannot: unknown, begin: authorized },
  {
    name: 'a hold whose answer from the hub was lost',
    async begin(world) {
      const id = await holdUnanswered(world)
      return { world, here: world.bob, there: world.alice, id }
    },
  },
]

/** Credits that are held, until their end is signed. */
export const holds: Row[] = [
  { name: 'a hold', like: 'an order whose answer was lost', begin: held },
  {
    name: 'an answer that waits for its capture',
    async begin(world) {
      const waiting = await held(world)
      world.post.ledger.always('endHold', { kind: 'lost_before' })
      tell(world, world.bob, waiting.id, 'roses are red')
      await world.bob.turn()
      return waiting
    },
  },
  {
    name: 'an order whose answer was lost',
    async begin(world) {
      const waiting = await held(world)
      world.post.ledger.next('endHold', { kind: 'lost_after' })
      tell(world, world.bob, waiting.id, 'roses are red')
      await world.bob.turn()
      return waiting
    },
  },
]

/** Credits that were taken, and go on from there. */
export const taken: Row[] = [
  {
    name: 'a refund without its answer',
    async begin(world) {
      const waiting = await captured(world)
      const { bob } = world
      world.post.ledger.next('settle', { kind: 'lost_after' })
      world.again = () => refund(bob, waiting.id)
      await world.again().catch(() => undefined)
      return waiting
    },
  },
  {
    name: 'a redemption without its answer',
    async begin(world) {
      const waiting = await captured(world)
      const { bob } = world
      world.post.ledger.next('redeem', { kind: 'lost_after' })
      world.again = () => redeem(bob)
      await world.again().catch(() => undefined)
      return waiting
    },
  },
]

export const money: readonly Row[] = [...prices, ...unsettled, ...holds, ...taken]

const refund = (side: Side, id: string): Promise<unknown> =>
  side.payments.refund({ interaction_id: id, amount: PRICE }, signal)

const redeem = ({ hub, parts }: Side): Promise<unknown> =>
  parts.wallet.redeem(hub, PRICE, 'invoice 1', signal)
