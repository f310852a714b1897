// project: programs
/** Processes of one hub that die, are started anew, and lose their database: nothing acknowledged is lost or out of order. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'

const WORK_MS = 700
const SWITCH = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()'

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a hub of processes',
  { timeout: 60_000 },
  () => {
    let cluster: TestCluster
    let history: ClusterHistory
    beforeAll(async () => {
      cluster = await TestCluster.start(2)
      history = await ClusterHistory.on(cluster)
    }, 120_000)
    afterAll(() => cluster.close())

    test('works, and each process has what the other one took', async () => {
      await history.during(() => pause(WORK_MS))
      expect(await history.compare()).toEqual([])
      expect(history.answered).toBeGreaterThan(0)
      expect(history.paid).toBeGreaterThan(0)
    })

    test('loses nothing where a process is killed and another one started', async () => {
      await history.during(async () => {
        const [one] = cluster.processes
        if (one === undefined) throw new Error('no process runs')
        await pause(WORK_MS)
        await cluster.end(one, 'SIGKILL')
        await pause(WORK_MS)
        await cluster.add(one.directory)
        await pause(WORK_MS)
      })
      expect(await history.compare()).toEqual([])
    })

    test('loses nothing where every connection to the database is cut', async () => {
      await history.during(async () => {
        for (let n = 0; n < 3; n++) {
          await pause(WORK_MS)
          cluster.server.order(SWITCH)
        }
        await pause(WORK_MS)
      })
      expect(await history.compare()).toEqual([])
    })

    test('loses nothing where the database crashes and comes back', async () => {
      await history.during(async () => {
        await pause(WORK_MS)
        await cluster.server.halt('SIGQUIT')
        await pause(WORK_MS)
        await cluster.server.resume()
        await pause(4 * WORK_MS)
      })
      expect(await history.compare()).toEqual([])
    })

    test('a restart of three processes in turn loses nothing', async () => {
      await cluster.add()
      await history.during(async () => {
        for (const one of [...cluster.processes]) {
          await cluster.end(one, 'SIGTERM')
          await cluster.add(one.directory)
          await pause(WORK_MS)
        }
      })
      expect(await history.compare()).toEqual([])
    })
  },
)
