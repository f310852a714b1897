/**
 * From `delegate` to the provider's store: two daemons and a hub as processes, after first contact, 8 KiB texts. The
 * first ones stand apart: the engine has not compiled yet what every later one runs.
 */
import { Delegations } from './lib/delegations.ts'
import { atMost, type Row } from './lib/hub-load.ts'
import { meetingWorld, percentile } from './lib/node-world.ts'

const FIRST = 200
const WARM_UP = 300
const DELEGATIONS = 1000

export async function run(): Promise<Row[]> {
  const { world, alice, bob } = await meetingWorld()
  await using _world = world
  const delegations = new Delegations(alice, bob)
  const times = await delegations.times(WARM_UP + DELEGATIONS).finally(delegations.close)
  const running = times.slice(WARM_UP)
  return [
    atMost("delegate -> provider's store, p50", percentile(running, 0.5), 'ms', 50),
    atMost("delegate -> provider's store, p95", percentile(running, 0.95), 'ms', 250),
    atMost(
      `the first ${FIRST} of a node that was just started, p50`,
      percentile(times.slice(0, FIRST), 0.5),
      'ms',
      50,
    ),
  ]
}
