/** Payments across two hubs, each at a moment at which one of the two waits for the other. */
import { paymentOf } from '../../../daemon/store/payments.ts'
import { quoteOf } from '../../../daemon/store/quotes.ts'
import { delegate, type Row, stage, tell, undecided, unknown, type Waiting } from '../row.ts'
import type { Side } from '../side.ts'
import { type MatrixWorld, PRICE } from '../world.ts'

const { signal } = new AbortController()
const TURNS_MAX = 6
const TEXT = 'a poem'

const joined = stage(async world => {
  await world.beginAcross()
  world.grant()
  return ''
})

const paymentAt = ({ ctx }: Side, id: string) => paymentOf(ctx.store, ctx.threads.findById(id)?.key ?? -1)

/** A task of alice's whose price waits for a person, since no rule may pay the first one. */
const taskPriced = stage(async world => {
  await joined(world)
  const { alice, bob } = world
  const day = 10 * PRICE
  alice.ctx.settings.change({
    spend: { auto_max: PRICE, agent_max: 0, day_max: day, payee_day_max: day },
  })
  const id = delegate(world, { to: bob, text: TEXT })
  await world.turns(3)
  const quote = quoteOf(alice.ctx.store, alice.node.thread(id).key)
  if (quote?.state !== 'open' || quote.reason === null) throw new Error('the price waits for nobody')
  return id
})

/** A person of hers pays it: delegated anew with its payment, not sent yet. */
const taskAuthorized = stage(async world => {
  const quoted = await taskPriced(world)
  const { alice, bob } = world
  const { id } = alice.parts.payer.pay(alice.node.thread(quoted))
  world.said.push({ by: alice, to: bob, id, text: TEXT })
  return id
})

const taskHeld = stage(async world => {
  const id = await taskAuthorized(world)
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    await world.turns(1)
    if (paymentAt(world.bob, id)?.state === 'held') return id
  }
  throw new Error('the credits are not held')
})

const taskTaken = stage(async world => {
  const id = await taskHeld(world)
  tell(world, world.bob, id, 'roses are red')
  await world.turns(4)
  if (paymentAt(world.bob, id)?.moved !== PRICE) throw new Error('the credits were not taken')
  return id
})

async function at(task: (world: MatrixWorld) => Promise<string>, world: MatrixWorld): Promise<Waiting> {
  const id = await task(world)
  return { world, here: world.bob, there: world.alice, id }
}

/** Bob gives back what he took, which alice's hub has to be asked for. */
async function givenBack(world: MatrixWorld): Promise<Waiting> {
  const waiting = await at(taskTaken, world)
  const { payments } = world.bob
  const again = () => payments.refund({ interaction_id: waiting.id, amount: PRICE }, signal)
  const said = (await again()) as { waits_for?: string }
  if (said.waits_for !== 'requester') throw new Error('the refund waits for nobody')
  world.again = () => world.bob.payments.refund({ interaction_id: waiting.id, amount: PRICE }, signal)
  return waiting
}

export const across: Row[] = [
  {
    name: 'the first price of an agent of another hub',
    cannot: undecided,
    async begin(world) {
      const id = await taskPriced(world)
      return { world, here: world.alice, there: world.bob, id }
    },
  },
  {
    name: 'an authorization in the credits of another hub',
    cannot: unknown,
    async begin(world) {
      const id = await taskAuthorized(world)
      return { world, here: world.alice, there: world.bob, id }
    },
  },
  {
    name: 'a payment for which the hub of the payer is away',
    async begin(world) {
      const waiting = await at(taskAuthorized, world)
      await world.alice.send()
      world.post.ledger.isAway = true
      await world.bob.turn()
      if (paymentAt(world.bob, waiting.id)?.state !== 'authorized') throw new Error('it is settled')
      return waiting
    },
  },
  {
    name: 'a hold between two hubs whose answer was lost',
    async begin(world) {
      const waiting = await at(taskAuthorized, world)
      await world.alice.send()
      world.other.ledger.next('peer', { kind: 'lost_after' })
      await world.bob.turn()
      return waiting
    },
  },
  {
    name: 'an answer that waits for its capture between two hubs',
    async begin(world) {
      const waiting = await at(taskHeld, world)
      world.other.ledger.always('peer', { kind: 'lost_before' })
      tell(world, world.bob, waiting.id, 'roses are red')
      await world.bob.turn()
      return waiting
    },
  },
  {
    name: 'an order between two hubs whose answer was lost',
    async begin(world) {
      const waiting = await at(taskHeld, world)
      world.other.ledger.next('peer', { kind: 'lost_after' })
      tell(world, world.bob, waiting.id, 'roses are red')
      await world.bob.turn()
      return waiting
    },
  },
  { name: 'a refund on its way to the requester', begin: givenBack },
  {
    name: 'a refund that the hub of the requester has yet to make',
    cannot: { 'its disk fails for a while': 'it has nothing to write until the other hub answers' },
    async begin(world) {
      const waiting = await givenBack(world)
      world.post.ledger.always('peer', { kind: 'lost_before' })
      await world.bob.send()
      await world.alice.turn()
      return { ...waiting, here: world.alice, there: world.bob }
    },
  },
  {
    name: 'a move of credits whose answer was lost',
    async begin(world) {
      const waiting = await at(taskTaken, world)
      const { alice, bob } = world
      await alice.parts.membership.join(world.other.url, signal)
      world.other.ledger.next('peer', { kind: 'lost_after' })
      world.again = () => alice.payments.moveCredits({ hub: world.post.url, amount: PRICE }, signal)
      await world.again().catch(() => undefined)
      return { ...waiting, here: alice, there: bob }
    },
  },
]
