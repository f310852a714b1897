/** What waits where mail goes directly. */
import { answered, delegate, type Row, tell, unknown, type Waiting } from '../row.ts'
import type { MatrixWorld } from '../world.ts'

const TAKEN_BACK = 'the other side takes back its capabilities'
const TAKES_BACK = { [TAKEN_BACK]: 'open mail has none' }

/** A task of alice's that bob has answered, before both began to send directly. */
async function direct(world: MatrixWorld): Promise<Waiting> {
  const waiting = await answered(world)
  for (const side of world.sides) world.direct.open(side)
  world.pass(60 * 60_000)
  // its hub, or the other side, is told of the addresses, and what went by the hub is known to have come
  await world.turns(world.isOpen ? 1 : 4)
  for (const side of world.sides) {
    tell(world, side, waiting.id, `${side.name} takes letters`)
    await world.turns(2)
  }
  if (world.direct.confirmed < 2) throw new Error(`${world.direct.confirmed} letters went directly`)
  return waiting
}

/** Open letters that go directly. */
export const directMail: readonly Row[] = [
  {
    name: 'a letter that goes directly in the queue',
    cannot: TAKES_BACK,
    async begin(world) {
      const waiting = await direct(world)
      tell(world, world.alice, waiting.id, 'one more thing')
      return waiting
    },
  },
  {
    name: 'a letter that went directly and whose signed confirmation is missing',
    cannot: TAKES_BACK,
    async begin(world) {
      const waiting = await direct(world)
      tell(world, world.alice, waiting.id, 'one more thing')
      world.direct.line = 'answers are lost'
      await world.alice.send()
      world.direct.line = 'open'
      return waiting
    },
  },
  {
    name: 'a task that went directly and was never answered',
    cannot: TAKES_BACK,
    async begin(world) {
      const waiting = await direct(world)
      const id = delegate(world, { to: world.bob, text: 'another task' })
      await world.alice.send()
      return { ...waiting, id }
    },
  },
  {
    name: 'a task that goes directly in the queue',
    cannot: { ...unknown, ...TAKES_BACK },
    async begin(world) {
      const waiting = await direct(world)
      const id = delegate(world, { to: world.bob, text: 'another task' })
      return { ...waiting, id }
    },
  },
]

/** Sealed envelopes that do: what lets one in can be taken back. */
export const directSealed = directMail.map(({ cannot, ...row }): Row => {
  const { [TAKEN_BACK]: _, ...others } = cannot ?? {}
  return { ...row, cannot: others }
})
