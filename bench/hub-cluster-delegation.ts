/** From `delegate` to the provider's store: both nodes at one process of a hub, and each at another, in turn. */
import { withoutPostgres } from '../hub/testing/postgres-server.ts'
import { Delegations } from './lib/delegations.ts'
import { runAlone } from './lib/help.ts'
import { HubCluster } from './lib/hub-cluster.ts'
import { atMost, type HubProcess, type Row } from './lib/hub-load.ts'
import { meetAt, percentile } from './lib/node-world.ts'

const ROUNDS = 5
const WARM_UP = 150
const DELEGATIONS = 100

export async function run(): Promise<Row[]> {
  if (withoutPostgres !== undefined) {
    process.stderr.write(`bench: ${withoutPostgres}\n`)
    return []
  }
  await using cluster = await HubCluster.start(2)
  const [one, other] = cluster.processes as [HubProcess, HubProcess]
  await using near = await meetAt(one, one)
  await using far = await meetAt(one, other)
  const pairs = [near, far].map(({ alice, bob }) => ({
    delegations: new Delegations(alice, bob),
    p50: [] as number[],
  }))
  for (const { delegations } of pairs) await delegations.times(WARM_UP)
  for (let round = 0; round < ROUNDS; round++)
    for (const { delegations, p50 } of pairs) p50.push(percentile(await delegations.times(DELEGATIONS), 0.5))
  for (const { delegations } of pairs) delegations.close()
  const [within = 0, across = 0] = pairs.map(({ p50 }) => percentile(p50, 0.5))
  return [
    atMost("delegate -> provider's store across two processes ÷ within one, p50", across / within, '×', 1.5),
    atMost('the same within one process, p50', within, 'ms', Number.POSITIVE_INFINITY),
    atMost('the same across two processes, p50', across, 'ms', Number.POSITIVE_INFINITY),
  ]
}

if (import.meta.main) await runAlone(import.meta.filename, run)
