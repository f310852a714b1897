/** What happens to whoever has open mail alone: it, or both, move on to sealed mail. */
import { HOUR_MS } from '../../daemon/testing/node.ts'
import type { Column } from './columns.ts'
import type { Side } from './side.ts'

const HOURS_APART = 6
const { signal } = new AbortController()

async function moveOn({ world, parts }: Side): Promise<void> {
  await parts.membership.join(world.sealed?.url ?? '', signal)
}

export const unsealed: readonly Column[] = [
  {
    name: 'it moves to a hub of sealed mail',
    happen: ({ here }) => moveOn(here),
  },
  {
    name: 'both move to a hub of sealed mail',
    async happen({ here, there, world }) {
      await moveOn(here)
      await world.turns(1)
      world.pass(HOUR_MS)
      await moveOn(there)
    },
  },
  {
    name: 'the other side moves to a hub of sealed mail, and it follows hours later',
    async happen({ here, there, world }) {
      await moveOn(there)
      for (let hour = 0; hour < HOURS_APART; hour++) {
        world.pass(HOUR_MS)
        await world.turns(1)
      }
      await moveOn(here)
    },
  },
]
