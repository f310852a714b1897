/** From `delegate` to the provider's store where the two nodes are at hubs that list each other, beside one hub for both. */
import { Delegations } from './lib/delegations.ts'
import { atMost, median, type Row } from './lib/hub-load.ts'
import { meetingWorld, meetingWorlds, percentile } from './lib/node-world.ts'

const WARM_UP = 300
const ROUNDS = 9
const EACH = 100

export async function run(): Promise<Row[]> {
  const one = await meetingWorld()
  await using _one = one.world
  const two = await meetingWorlds()
  await using _here = two.here
  await using _there = two.there
  const [same, across] = [new Delegations(one.alice, one.bob), new Delegations(two.alice, two.bob)]
  const rounds: { same: number; across: number; ratio: number }[] = []
  try {
    for (const delegations of [same, across]) await delegations.times(WARM_UP)
    for (let round = 0; round < ROUNDS; round++) {
      const [a, b] = [percentile(await same.times(EACH), 0.5), percentile(await across.times(EACH), 0.5)]
      rounds.push({ same: a, across: b, ratio: b / a })
    }
  } finally {
    same.close()
    across.close()
  }
  const of = (figure: 'same' | 'across' | 'ratio'): number => median(rounds.map(round => round[figure]))
  return [
    atMost('delegation across two hubs ÷ that on one hub, p50', of('ratio'), '×', 2.5),
    atMost('delegation on one hub, p50', of('same'), 'ms', Number.POSITIVE_INFINITY),
    atMost('delegation across two hubs, p50', of('across'), 'ms', Number.POSITIVE_INFINITY),
  ]
}
