/** What happens to either of two hubs that list each other, and to what lies between them. */
import { HOUR_MS } from '../../daemon/testing/node.ts'
import type { Post } from '../../daemon/testing/scripted-hub.ts'
import { type Column, restoreHubs, unreached } from './columns.ts'
import type { Waiting } from './row.ts'
import type { MatrixWorld } from './world.ts'

type Ends = { own: Post; peer: Post }
const hubs: [string, (world: MatrixWorld) => Ends][] = [
  ['the hub of the payer', ({ post, other }) => ({ own: post, peer: other })],
  ['the hub of the payee', ({ post, other }) => ({ own: other, peer: post })],
]

/** For an hour, in which everybody goes on. */
async function forAnHour({ world }: Waiting, { begin, end }: { begin(): void; end(): void }): Promise<void> {
  begin()
  await world.turns(2)
  world.pass(HOUR_MS)
  await world.turns(1)
  end()
}

const toEither = hubs.flatMap(([name, at]): Column[] => [
  {
    name: `${name} is away for an hour`,
    happen: waiting =>
      forAnHour(waiting, {
        begin: () => unreached(waiting.world, [at(waiting.world).own]),
        end: () => waiting.world.heal(),
      }),
  },
  {
    name: `${name} is restored from a backup`,
    happen: waiting => restoreHubs(waiting, [at(waiting.world).own]),
  },
  {
    name: `${name} takes the other one off its list for an hour`,
    happen: waiting => {
      const { own, peer } = at(waiting.world)
      return forAnHour(waiting, {
        begin: () => own.unlist(peer),
        end: () => waiting.world.listPeers(),
      })
    },
  },
])

export const between: readonly Column[] = [
  ...toEither,
  {
    name: 'its limit is reached for an hour',
    happen: waiting => {
      const { post, other } = waiting.world
      return forAnHour(waiting, {
        begin: () => other.list(post, Math.max(0, -other.ledger.dueTo(post.log.aid))),
        end: () => waiting.world.listPeers(),
      })
    },
  },
]
