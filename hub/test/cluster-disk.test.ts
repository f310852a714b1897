// project: programs
/** The disk of the database has no room: what needs some is refused with a time to ask again, and nothing is lost. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fillUp, hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import type { Reply, TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { letThrough, runsAs, withoutPostgres } from '../testing/postgres-server.ts'

const DISK_BYTES = 160 * 1024 * 1024
const CONTENT_BYTES = 60_000
const WORK_MS = 700
const ASKED = 12
const missing = withoutPostgres ?? (hasSmallDisks ? undefined : 'no small disk can be mounted here')

const send = (at: ClusterProcess, agent: TestAgent) =>
  sendEnvelope(at, sealedUnderCapability(agent, agent.capability(), { contentBytes: CONTENT_BYTES }))

/** 200, or 503 with a time to ask again. */
function expectHonest({ status, json, headers }: Reply): void {
  if (status === 200) return
  expect([status, json['reason'], json['error']]).toEqual([
    503,
    'unavailable',
    expect.stringMatching(/^the hub has no room for .*; retry in 30 seconds$/),
  ])
  expect(Number(headers.get('Retry-After'))).toBeGreaterThanOrEqual(30)
}

test.skipIf(missing !== undefined)(
  missing ?? 'a full disk of the database refuses mail, and all goes on once there is room',
  { timeout: 120_000 },
  () =>
    withSmallDisk(DISK_BYTES, async data => {
      const log = mkdtempSync(join(tmpdir(), 'svc-wal-'))
      if (runsAs().uid !== undefined) letThrough(tmpdir())
      const cluster = await TestCluster.start(2, { env: {}, server: { data, log } })
      try {
        const [one, other] = cluster.processes as [ClusterProcess, ClusterProcess]
        const history = await ClusterHistory.on(cluster)
        const agent = await cluster.agent(one)
        expect((await send(one, agent)).status).toBe(200)
        await history.during(async () => {
          await pause(WORK_MS)
          fillUp(join(data, 'filler'))
          while ((await send(one, agent)).status === 200) await pause(0)
          for (let n = 0; n < ASKED; n++) {
            const at = n % 2 === 0 ? one : other
            expectHonest(await send(at, agent))
            agent.target = at
            const found = await agent.call('relayPoll', { limit: 1 })
            expectHonest(found)
            const [message] = (found.json['messages'] ?? []) as { id: number }[]
            if (message) expectHonest(await agent.call('relayAck', { items: [{ id: message.id }] }))
          }
          rmSync(join(data, 'filler'))
          await pause(2 * WORK_MS)
        })
        expect(await history.compare()).toEqual([])
        for (const at of [one, other]) expect((await send(at, agent)).json['status']).toBe('queued')
        const line = one
          .said()
          .split('\n')
          .find(said => said.includes('mail is refused'))
        expect(JSON.parse(line ?? '')).toMatchObject({
          mend: expect.stringContaining('free some room on the disk of the database'),
        })
      } finally {
        await cluster.close()
        rmSync(log, { recursive: true })
      }
    }),
)
