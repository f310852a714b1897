/** Many rounds of faults under processes of one hub: nothing acknowledged is lost, nothing comes twice or out of order. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seed, sliced } from '../../protocol/testing/slow.ts'
import { TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { CuttingProxy } from '../testing/cutting-proxy.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'

const PROCESSES = 3
const ROUND_MS = 250
/** A server that says nothing is given up before. */
const GIVEN_UP_MS = 30_000
const COMPARED_EVERY = 10
const CUT = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()'

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'a hub of processes', () => {
  let cluster: TestCluster
  let proxy: CuttingProxy
  beforeAll(async () => {
    cluster = await TestCluster.start(PROCESSES, {
      env: {},
      async store(server) {
        proxy = await CuttingProxy.start(server.socket)
        return ['--store', `postgres://postgres@127.0.0.1:${proxy.port}/postgres`]
      },
    })
  }, 120_000)
  afterAll(async () => {
    await cluster.close()
    await proxy.stop()
  })

  const kill = async (at: number, signal: NodeJS.Signals) => {
    const one = cluster.processes[at % PROCESSES]
    if (one === undefined) return
    await cluster.end(one, signal)
    await cluster.add(one.directory)
  }
  const faults: readonly ((at: number) => Promise<void>)[] = [
    at => kill(at, 'SIGKILL'),
    at => kill(at, 'SIGTERM'),
    async () => cluster.server.order(CUT),
    async () => proxy.cut(),
    async () => proxy.loseAnswerTo('COMMIT'),
    async () => proxy.cutBefore('COMMIT'),
    async at => {
      await cluster.server.halt(at % 2 === 0 ? 'SIGQUIT' : 'SIGINT')
      await cluster.server.resume()
    },
  ]

  test('goes on where every connection to the database hangs, and new ones do not', {
    timeout: 300_000,
  }, async () => {
    const history = await ClusterHistory.on(cluster)
    const answered: number[] = []
    await history.during(async () => {
      await pause(ROUND_MS)
      proxy.hang()
      await pause(GIVEN_UP_MS)
      answered.push(history.answered)
      await pause(ROUND_MS)
      answered.push(history.answered)
    })
    expect(await history.compare()).toEqual([])
    expect(answered[1]).toBeGreaterThan(answered[0] ?? 0)
  })

  test('keeps what it acknowledged', { timeout: 7_200_000 }, async () => {
    const history = await ClusterHistory.on(cluster)
    const count = Number(process.env['SVC_KILLS'] ?? sliced(1000, 6))
    for (let round = 0; round < count; round++) {
      const drawn = (seed + round * 7919) % 1_000_003
      await history.during(async () => {
        await pause(drawn % ROUND_MS)
        await faults[drawn % faults.length]?.(drawn)
        await pause(ROUND_MS)
      })
      if (round % COMPARED_EVERY === 0 || round === count - 1)
        expect(await history.compare(), `SEED=${seed}, round ${round}`).toEqual([])
    }
    expect(history.answered).toBeGreaterThan(count)
    expect(history.paid).toBeGreaterThan(count)
  })
})
