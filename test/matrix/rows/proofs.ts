/** Ends, receipts and ratings that wait. */

import { say } from '../../../daemon/tasks/conversation.ts'
import { textMessage } from '../../../daemon/tasks/messages.ts'
import { taskParts } from '../../../daemon/tasks/open.ts'
import { answered, delegate, joined, over, type Row, stage, type Waiting } from '../row.ts'
import type { MatrixWorld } from '../world.ts'

const taskEnded = stage(async world => {
  const { id } = await answered(world)
  const { alice, bob } = world
  alice.ctx.store.transaction(() => alice.tasks.endings.propose(alice.node.thread(id)))
  await world.turns(1)
  bob.ctx.store.transaction(() => bob.tasks.endings.accept(bob.node.thread(id)))
  return id
})

/** Bob has accepted the end that alice proposed, and has not said so yet. */
async function ended(world: MatrixWorld): Promise<Waiting> {
  const id = await taskEnded(world)
  return { world, here: world.alice, there: world.bob, id }
}

/** Alice knows of the end that both want, and signs its receipt. */
const endHeard = stage(async world => {
  const { id } = await ended(world)
  await world.bob.send()
  await world.alice.parts.relay.drain(world.alice.hub, 0)
  return id
})

export const taskSigned = stage(async world => {
  const { id } = await ended(world)
  await world.turns(3)
  return id
})

/** Bob's answer is lost with a copy of his node, alice has it, and both have ended the task. */
const answerLost = stage(async world => {
  await joined(world)
  const { alice, bob } = world
  const id = delegate(world, { to: bob })
  await world.turns(2)
  const restore = await bob.backUp()
  bob.ctx.store.transaction(() =>
    say(bob.tasks.answers, bob.node.thread(id), textMessage('a lost answer', [])),
  )
  await world.turns(2)
  await restore()
  await world.turns(3)
  alice.ctx.store.transaction(() => alice.tasks.endings.propose(alice.node.thread(id)))
  await world.turns(1)
  bob.ctx.store.transaction(() => bob.tasks.endings.accept(bob.node.thread(id)))
  return id
})

export const proofs: Row[] = [
  {
    name: 'a proposal to end',
    like: 'a receipt with one signature',
    async begin(world) {
      const waiting = await answered(world)
      const { alice } = world
      alice.ctx.store.transaction(() => alice.tasks.endings.propose(alice.node.thread(waiting.id)))
      return waiting
    },
  },
  {
    name: 'a receipt with one signature',
    cannot: over,
    async begin(world) {
      const waiting = await ended(world)
      await world.bob.send()
      return { ...waiting, here: world.bob, there: world.alice }
    },
  },
  {
    name: 'why there is no receipt',
    like: 'a receipt with one signature',
    cannot: over,
    async begin(world) {
      const id = await answerLost(world)
      return { world, here: world.bob, there: world.alice, id }
    },
  },
  {
    name: 'a counter-signature on its way',
    like: 'a receipt with one signature',
    cannot: over,
    async begin(world) {
      const id = await endHeard(world)
      return { world, here: world.alice, there: world.bob, id }
    },
  },
  {
    name: 'a rating that the hub has not taken',
    cannot: over,
    async begin(world) {
      const id = await taskSigned(world)
      const { ctx, node, hub } = world.alice
      hub.answers({ uploadReview: () => Promise.reject(world.unreached()) })
      ctx.store.transaction(() => taskParts(ctx).ratings.keep(node.thread(id), { rating: 5, comment: '' }))
      await world.alice.parts.reviews.look()
      return { world, here: world.alice, there: world.bob, id }
    },
  },
]
