// project: programs
/** Several processes of one hub that keep large mail in a bucket, and a move of that mail there and back. */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import type { TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'
import { runHub, startHubChild } from '../testing/process.ts'
import { BUCKET, S3_CREDENTIALS, S3Server } from '../testing/s3-server.ts'

const LONG_BYTES = 9 * 1024 * 1024
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')
const env = {
  AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
}

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'large mail in a bucket',
  { timeout: 120_000 },
  () => {
    let s3: S3Server
    let cluster: TestCluster
    let agent: TestAgent
    beforeAll(async () => {
      s3 = await S3Server.start()
      const files = `s3://${BUCKET}/hub?endpoint=${s3.endpoint}&region=us-east-1`
      cluster = await TestCluster.start(2, { files, env })
    }, 120_000)
    afterAll(async () => {
      await cluster.close()
      await s3.stop()
    })
    const held = async () => digestOf(JSON.stringify((await agent.poll()).messages))
    const filesIn = (directory: string) =>
      readdirSync(join(directory, 'blobs'), { recursive: true, withFileTypes: true }).filter(entry =>
        entry.isFile(),
      ).length

    test('what one process takes is collected at the other, and nothing of it lies in their folders', async () => {
      const [one, other] = cluster.processes as [ClusterProcess, ClusterProcess]
      agent = await cluster.agent(one)
      const sent = await sendEnvelope(
        one,
        sealedUnderCapability(agent, agent.capability(), { contentBytes: LONG_BYTES }),
      )
      expect(sent.json['status']).toBe('queued')
      agent.target = other
      const { messages } = await agent.poll()
      expect(messages.length).toBe(1)
      expect(JSON.stringify(messages).length).toBeGreaterThan(LONG_BYTES)
      expect(s3.asked.some(call => call.startsWith(`PUT /${BUCKET}/hub/blobs/`))).toBe(true)
      expect(readdirSync(one.directory)).not.toContain('blobs')
    })

    test('a move takes it to the data directory, and into the bucket again', async () => {
      const [one, other] = cluster.processes as [ClusterProcess, ClusterProcess]
      const before = await held()
      await cluster.end(other)
      await cluster.end(one)
      const at = ['--data-dir', one.directory]
      const back = await runHub(['migrate', '--to', 'file', ...cluster.args, ...at], { env })
      expect([back.stderr, back.code, filesIn(one.directory)]).toEqual(['', 0, 1])
      const alone = await startHubChild(one.directory)
      agent.target = alone
      expect(await held()).toBe(before)
      alone.kill('SIGTERM')
      await alone.exited
      s3.asked.length = 0
      const [, url, , files] = cluster.args as [string, string, string, string]
      const there = await runHub(['migrate', '--to', url, '--files', files, ...at], { env })
      expect([there.stderr, there.code]).toEqual(['', 0])
      agent.target = await cluster.add(one.directory)
      expect(await held()).toBe(before)
    })
  },
)
