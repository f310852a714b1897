// project: programs
/** What stands between the processes of a hub and their database fails: nothing acknowledged is lost, no credit comes or goes. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Bouncer, withoutBouncer } from '../testing/bouncer.ts'
import { TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'

const WORK_MS = 500
const KILLS = 3

test.skipIf(withoutBouncer !== undefined)(
  withoutBouncer ?? 'PgBouncer is killed and started again while mail and payments go on',
  { timeout: 120_000 },
  async () => {
    let bouncer: Bouncer | undefined
    const cluster = await TestCluster.start(2, {
      env: {},
      async store(server) {
        bouncer = await Bouncer.start(server)
        return ['--store', bouncer.url, '--store-listen', server.url]
      },
    })
    try {
      const history = await ClusterHistory.on(cluster)
      await history.during(async () => {
        for (let n = 0; n < KILLS; n++) {
          await pause(WORK_MS)
          await bouncer?.kill()
          await pause(n * WORK_MS)
          await bouncer?.resume()
        }
        await pause(2 * WORK_MS)
      })
      expect(await history.compare()).toEqual([])
      expect(history.paid).toBeGreaterThan(KILLS)
    } finally {
      await cluster.close()
      await bouncer?.stop()
    }
  },
)
