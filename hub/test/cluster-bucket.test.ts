// project: programs
/** A bucket that fails, answers late, halfway or not at all, under processes of a hub: nothing acknowledged is lost. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'
import { BUCKET, S3_CREDENTIALS, type S3Fault, S3Server } from '../testing/s3-server.ts'

const WORK_MS = 500
const FAULTY_MS = 2000
const LONG_BYTES = 70_000
const SHORT_BYTES = 500
const ways: S3Fault['way'][] = ['fails', 'late', 'half', 'lost']

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a faulty bucket',
  { timeout: 60_000 },
  () => {
    let s3: S3Server
    let cluster: TestCluster
    let history: ClusterHistory
    beforeAll(async () => {
      s3 = await S3Server.start()
      const files = `s3://${BUCKET}/hub?endpoint=${s3.endpoint}&region=us-east-1`
      const env = {
        AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
        AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
      }
      cluster = await TestCluster.start(2, { files, env })
      history = await ClusterHistory.on(cluster)
    }, 120_000)
    afterAll(async () => {
      await cluster.close()
      await s3.stop()
    })

    test.each(ways)('each call is answered %s for a while', async way => {
      const before = history.paid
      await history.during(async () => {
        await pause(WORK_MS)
        s3.fault({ calls: /^/, times: Number.MAX_SAFE_INTEGER, way })
        await pause(FAULTY_MS)
        s3.fault(undefined)
        await pause(WORK_MS)
      })
      expect(await history.compare()).toEqual([])
      expect(history.paid).toBeGreaterThan(before)
    })

    test('while it fails, what is short is taken, and what lies before a long letter is given', async () => {
      const [one, other] = cluster.processes as [ClusterProcess, ClusterProcess]
      const agent = await cluster.agent(one)
      const send = (contentBytes: number) =>
        sendEnvelope(one, sealedUnderCapability(agent, agent.capability(), { contentBytes }))
      agent.target = other
      for (const bytes of [SHORT_BYTES, LONG_BYTES]) expect((await send(bytes)).status).toBe(200)
      s3.fault({ calls: /^/, times: Number.MAX_SAFE_INTEGER, way: 'fails' })
      const refused = await send(LONG_BYTES)
      expect([
        refused.status,
        refused.json['reason'],
        Number(refused.headers.get('Retry-After')) > 0,
      ]).toEqual([503, 'unavailable', true])
      expect((await send(SHORT_BYTES)).json['status']).toBe('queued')
      const [first, ...rest] = (await agent.poll()).messages
      expect([rest, (await agent.poll()).more]).toEqual([[], true])
      expect((await agent.call('relayAck', { items: [{ id: first?.id }] })).status).toBe(200)
      expect((await agent.call('relayPoll', {})).status).toBe(503)
      s3.fault(undefined)
      expect((await agent.poll()).messages).toHaveLength(2)
    })
  },
)
