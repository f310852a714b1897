/** Patroni keeps the database: its primary is lost, twice, and the processes go on with the one that it elects. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { CuttingProxy } from '../testing/cutting-proxy.ts'
import { Patroni, withoutPatroni } from '../testing/patroni.ts'

const WORK_MS = 1000
const LOSSES = 2

test.skipIf(withoutPatroni !== undefined)(
  withoutPatroni ?? 'the primary is killed, and Patroni promotes its standby',
  { timeout: 600_000 },
  async () => {
    const patroni = await Patroni.start()
    const proxy = await CuttingProxy.start(await patroni.primary())
    const cluster = await TestCluster.start(2, {
      env: {},
      store: async () => ['--store', `postgres://postgres@127.0.0.1:${proxy.port}/postgres`],
    })
    try {
      const history = await ClusterHistory.on(cluster)
      for (let lost = 0; lost < LOSSES; lost++) {
        const before = history.answered
        let again: (() => Promise<void>) | undefined
        await history.during(async () => {
          await pause(WORK_MS)
          again = await patroni.killPrimary()
          proxy.leadTo(await patroni.primary())
          await pause(3 * WORK_MS)
        })
        expect(await history.compare()).toEqual([])
        expect(history.answered).toBeGreaterThan(before)
        await again?.()
      }
    } finally {
      await cluster.close()
      await proxy.stop()
      await patroni.stop()
    }
  },
)
