/** The database's standby confirms nothing for longer than a commit is waited for: changes are refused, the rest goes on. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'

const WORK_MS = 1000
/** A commit is given up before. */
const GIVEN_UP_MS = 30_000
const HELD_MS = 45_000
const ANSWERED_MS = 5000
const WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

test.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a standby that confirms nothing for long',
  { timeout: 300_000 },
  async () => {
    const cluster = await TestCluster.start(2, { env: {} })
    const standby = await cluster.server.standby()
    try {
      const history = await ClusterHistory.on(cluster)
      const [one, other] = cluster.processes as [ClusterProcess, ClusterProcess]
      const agent = await cluster.agent(one)
      agent.target = { ...other, clock: { now: () => Date.now(), advance: () => undefined } }
      await history.during(async () => {
        await pause(WORK_MS)
        standby.receive(false)
        const heldMs = performance.now()
        while (performance.now() - heldMs < HELD_MS) {
          const askedMs = performance.now()
          expect((await agent.poll()).messages).toEqual([])
          expect(performance.now() - askedMs).toBeLessThan(ANSWERED_MS)
          if (performance.now() - heldMs < GIVEN_UP_MS) continue
          const { status, json, headers } = await sendEnvelope(
            one,
            sealedUnderCapability(agent, agent.capability()),
          )
          expect([status, json['reason'], Number(headers.get('Retry-After')) > 0]).toEqual([
            503,
            'unavailable',
            true,
          ])
          expect(performance.now() - askedMs).toBeLessThan(ANSWERED_MS)
          await pause(WORK_MS)
        }
        // two for each process
        expect(Number(cluster.server.ask(WAITING))).toBeLessThanOrEqual(2 * cluster.processes.length)
        standby.receive(true)
        await pause(4 * WORK_MS)
      })
      expect(await history.compare()).toEqual([])
      expect(one.said()).toContain('its standby does not confirm what is written')
    } finally {
      standby.receive(true)
      await cluster.close()
      await standby.stop()
    }
  },
)
