/** Mail that waits. */
import { queueCapabilities } from '../../../daemon/sealed/top-ups.ts'
import { answered, delegate, joined, type Row, stage, tell, unknown, unsent } from '../row.ts'

/** Alice has used most of what she has for bob. */
const stockLow = stage(async world => {
  const { id } = await answered(world)
  for (let n = 0; n < 6; n++) tell(world, world.alice, id, `word ${n}`)
  await world.alice.send()
  return id
})

export const messages: Row[] = [
  {
    name: 'a message in the queue',
    async begin(world) {
      const waiting = await answered(world)
      tell(world, world.alice, waiting.id, 'one more thing')
      return waiting
    },
  },
  {
    name: 'a message at the hub',
    async begin(world) {
      const waiting = await answered(world)
      tell(world, world.alice, waiting.id, 'one more thing')
      await world.alice.send()
      return waiting
    },
  },
  {
    name: 'a message that was delivered and is not confirmed',
    async begin(world) {
      const waiting = await answered(world)
      tell(world, world.alice, waiting.id, 'one more thing')
      await world.alice.send()
      await world.bob.parts.relay.drain(world.bob.hub, 0)
      return waiting
    },
  },
  {
    name: 'a message that its person holds back',
    async begin(world) {
      const waiting = await answered(world)
      tell(world, world.alice, waiting.id, 'one more thing')
      world.alice.mail.holding.set(world.alice.node.thread(waiting.id), false)
      return waiting
    },
  },
  {
    name: 'a task that was never answered',
    like: 'a message in the queue',
    cannot: unsent,
    async begin(world) {
      await joined(world)
      const id = delegate(world, { to: world.bob })
      return { world, here: world.alice, there: world.bob, id }
    },
  },
]

/** Files, and the capabilities that mail needs. */
export const supplies: Row[] = [
  {
    name: 'a task with half of its attachment sent',
    cannot: unknown,
    async begin(world) {
      const { id } = await answered(world)
      const { alice, bob } = world
      const file = world.fileOf('a file of some length '.repeat(2000))
      const next = delegate(world, { to: bob, text: 'read this', attach: [file] })
      world.breakNextSend(alice)
      await alice.send()
      return { world, here: alice, there: bob, id: next === id ? id : next }
    },
  },
  {
    name: 'a low stock of capabilities',
    async begin(world) {
      const id = await stockLow(world)
      return { world, here: world.alice, there: world.bob, id }
    },
  },
  {
    name: 'an empty stock of capabilities',
    async begin(world) {
      const waiting = await answered(world)
      world.emptyStock(world.alice, world.bob)
      tell(world, world.alice, waiting.id, 'one more thing')
      return waiting
    },
  },
  {
    name: 'a top-up',
    async begin(world) {
      const waiting = await answered(world)
      const { ctx } = world.alice
      ctx.store.transaction(() => queueCapabilities(ctx.threads, world.bob.aid))
      return waiting
    },
  },
]

export const mail: readonly Row[] = [...messages, ...supplies]
