/** What happens to the direct line between two sides, whatever waits. */
import { HOUR_MS } from '../../daemon/testing/node.ts'
import { type Column, columns, unreached } from './columns.ts'
import { tell } from './row.ts'
import type { Side } from './side.ts'

const { signal } = new AbortController()

/** A side says at once whether it sends directly, or that it has no address any more. */
function change({ ctx }: Side, p2p: { send?: boolean; address?: string }): void {
  ctx.settings.change({ p2p: { ...ctx.settings.current.p2p, ...p2p } })
}

const rotates = 'the other side rotates its key'
const rotate = columns.filter(({ name }) => name === rotates || name === 'its key is rotated')

const takenBack = columns.filter(({ name }) => name === 'the other side takes back its capabilities')

const lines: readonly Column[] = [
  ...rotate,
  {
    name: 'the direct address of the other side goes away',
    async happen({ there, world }) {
      world.direct.end(there)
    },
  },
  {
    name: 'what takes letters of the other side ends, and starts again hours later',
    async happen({ there, world }) {
      const start = world.direct.end(there)
      await world.turns(2)
      world.pass(2 * HOUR_MS)
      start()
    },
  },
  {
    name: 'it sends directly no more',
    happen: async ({ here }) => change(here, { send: false }),
  },
  {
    name: 'the other side withdraws its address',
    async happen({ there, world }) {
      change(there, { address: '' })
      await there.parts.membership.tellAddress(there.hub)
      world.direct.end(there)
    },
  },
  {
    name: 'the hub is away while letters go directly',
    async happen({ here, there, id, world }) {
      unreached(world)
      await world.turns(2)
      if (there.ctx.threads.findById(id) !== undefined) tell(world, there, id, 'while it is away')
      if (here.ctx.threads.findById(id) !== undefined) tell(world, here, id, 'and this')
      await world.turns(2)
      world.pass(HOUR_MS)
      world.heal()
    },
  },
  {
    name: 'the other side rotates its key while its letters go directly and are not confirmed',
    async happen({ there, world }) {
      world.direct.line = 'answers are lost'
      await world.turns(1)
      await there.parts.membership.rotate(signal)
      await world.turns(1)
      world.direct.line = 'open'
    },
  },
  {
    name: 'somebody else answers at the address of the other side',
    async happen({ world }) {
      world.direct.line = 'somebody else answers'
    },
  },
]

/** What happens where open letters go directly. */
export const directly = lines

/** The same, where envelopes are sealed. */
export const directlySealed: readonly Column[] = [...lines, ...takenBack]
