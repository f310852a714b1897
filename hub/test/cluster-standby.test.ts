// project: programs
/** The database's standby is slow, then its primary is lost: nothing acknowledged is, and the processes go on. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { CuttingProxy } from '../testing/cutting-proxy.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'

const WORK_MS = 700
const HELD_MS = 3000
const POLL_MS = 1500

test.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a slow standby, and then the loss of the primary',
  { timeout: 120_000 },
  async () => {
    let proxy: CuttingProxy | undefined
    const cluster = await TestCluster.start(2, {
      env: {},
      async store(server) {
        proxy = await CuttingProxy.start(server.socket)
        return ['--store', `postgres://postgres@127.0.0.1:${proxy.port}/postgres`]
      },
    })
    const standby = await cluster.server.standby()
    try {
      const history = await ClusterHistory.on(cluster)
      const [one, other] = cluster.processes as [ClusterProcess, ClusterProcess]
      const agent = await cluster.agent(one)
      await history.during(async () => {
        await pause(WORK_MS)
        standby.receive(false)
        const sending = sendEnvelope(one, sealedUnderCapability(agent, agent.capability()))
        const heldMs = performance.now()
        // a time that is ahead of the hub's is kept before the request is answered
        agent.target = { ...other, clock: { now: () => Date.now(), advance: () => undefined } }
        while (performance.now() - heldMs < HELD_MS) {
          const askedMs = performance.now()
          expect((await agent.poll()).messages).toEqual([])
          expect(performance.now() - askedMs).toBeLessThan(POLL_MS)
        }
        standby.receive(true)
        expect((await sending).json['status']).toBe('queued')
        await pause(WORK_MS)
      })
      expect(await history.compare()).toEqual([])
      await history.during(async () => {
        await pause(WORK_MS)
        await cluster.server.halt('SIGQUIT')
        standby.promote()
        proxy?.leadTo(standby.socket)
        await pause(3 * WORK_MS)
      })
      expect(await history.compare()).toEqual([])
      expect((await agent.poll()).messages).toHaveLength(1)
    } finally {
      standby.receive(true)
      await cluster.close()
      await standby.stop()
      await proxy?.stop()
    }
  },
)
