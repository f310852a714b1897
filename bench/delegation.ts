/**
 * From `delegate` to the provider's store: two daemons and a hub as processes, after first contact, 8 KiB texts. The
 * first ones stand apart: the engine has not compiled yet what every later one runs.
 */
import { atMost, type Row } from './lib/hub-load.ts'
import { follow, meetingWorld, operate, percentile } from './lib/node-world.ts'

const FIRST = 200
const WARM_UP = 300
const DELEGATIONS = 1000
const TEXT_BYTES = 8 * 1024

export async function run(): Promise<Row[]> {
  const { world, alice, bob } = await meetingWorld()
  await using _world = world
  const arrived = new Map<string, (at: number) => void>()
  const unfollow = follow(bob, (event, data) => {
    if (event === 'inbox') arrived.get(String(data['interaction_id']))?.(performance.now())
  })
  const times: number[] = []
  try {
    for (let i = 0; i < WARM_UP + DELEGATIONS; i++) {
      const started = performance.now()
      const { interaction_id } = await operate(alice, '/delegate', {
        to: bob.aid,
        task: `${i} `.padEnd(TEXT_BYTES, 'x'),
      })
      const id = String(interaction_id)
      const at = await new Promise<number>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${id} did not arrive`)), 30_000)
        arrived.set(id, now => {
          clearTimeout(timer)
          resolve(now)
        })
        void operate(bob, '/thread', { interaction_id: id, max_chars: 1 }).then(
          () => arrived.get(id)?.(performance.now()),
          () => {},
        )
      })
      times.push(at - started)
    }
  } finally {
    unfollow()
  }
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
