// project: programs
/**
 * The disk of the database has no room: new mail is refused with a time to ask again, whoever collects and confirms is
 * answered, which makes room, and nothing is lost.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { fillUp, hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { type Reply, random, type TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { letThrough, runsAs, withoutPostgres } from '../testing/postgres-server.ts'

const DISK_BYTES = 160 * 1024 * 1024
/** With room for some files of the log. */
const LARGER_BYTES = 256 * 1024 * 1024
const CONTENT_BYTES = 60_000
const WORK_MS = 700
const ASKED = 12
const missing = withoutPostgres ?? (hasSmallDisks ? undefined : 'no small disk can be mounted here')

const send = (at: ClusterProcess, agent: TestAgent) =>
  sendEnvelope(at, sealedUnderCapability(agent, agent.capability(), { contentBytes: CONTENT_BYTES }))

const RESERVE_BYTES = 32 * 1024 * 1024
const LOOK_MS = 250
const LOOK_MAX_MS = 60_000
const AGENTS = 6
const LETTERS_EACH = 4

/** 200, or 503 with a time to ask again. */
function expectHonest({ status, json, headers }: Reply): void {
  if (status === 200) return
  expect([status, json['reason'], json['error']]).toEqual([
    503,
    'unavailable',
    expect.stringMatching(/^the hub has no room for .*; retry in \d+ seconds$/),
  ])
  expect(Number(headers.get('Retry-After'))).toBeGreaterThanOrEqual(30)
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await isSo()); waited += LOOK_MS) {
    if (waited > LOOK_MAX_MS) throw new Error('it did not come to be')
    await pause(LOOK_MS)
  }
}

const reserveOf = ({ server }: TestCluster): number =>
  Number(server.ask("SELECT pg_relation_size('reserve')"))
const untilReserved = (cluster: TestCluster) => until(() => reserveOf(cluster) >= RESERVE_BYTES)

/** Collects and confirms one letter; tells what became of either. */
async function collect(agent: TestAgent): Promise<number[]> {
  const found = await agent.call('relayPoll', { limit: 1 })
  const [message] = (found.json['messages'] ?? []) as { id: number }[]
  if (message === undefined) return [found.status]
  const [handle, dack] = [toBase64url(random(16)), toBase64url(random(540))]
  const acked = await agent.call('relayAck', { items: [{ id: message.id, handle, dack }] })
  return [found.status, acked.status]
}

/** While the server starts again nothing is collected, and what was signed before its crash is not taken. */
const collectOrWait = (agent: TestAgent): Promise<number[]> => collect(agent).catch(() => [])

/** Agents, each with letters that wait. */
async function agentsOf(cluster: TestCluster): Promise<TestAgent[]> {
  const agents: TestAgent[] = []
  for (let n = 0; n < AGENTS; n++) {
    const at = cluster.processes[n % cluster.processes.length] as ClusterProcess
    const agent = await cluster.agent(at)
    for (let letter = 0; letter < LETTERS_EACH; letter++) expect((await send(at, agent)).status).toBe(200)
    agents.push(agent)
  }
  return agents
}

test.skipIf(missing !== undefined)(
  missing ?? 'a full disk of the database refuses mail, and takes it again once there is room',
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
        await untilReserved(cluster)
        await history.during(async () => {
          await pause(WORK_MS)
          fillUp(join(data, 'filler'))
          while ((await send(one, agent)).status === 200) await pause(0)
          for (let n = 0; n < ASKED; n++) {
            const at = n % 2 === 0 ? one : other
            expectHonest(await send(at, agent))
            agent.target = at
            for (const status of await collect(agent)) expect(status).toBe(200)
          }
          rmSync(join(data, 'filler'))
          await until(async () => (await send(one, agent)).status === 200)
        })
        expect(await history.compare()).toEqual([])
        for (const at of [one, other]) expect((await send(at, agent)).json['status']).toBe('queued')
        await untilReserved(cluster)
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

test.skipIf(missing !== undefined)(
  missing ??
    'on a full disk of the database agents collect and confirm all their mail, and then there is room for more',
  { timeout: 180_000 },
  () =>
    withSmallDisk(DISK_BYTES, async data => {
      const log = mkdtempSync(join(tmpdir(), 'svc-wal-'))
      if (runsAs().uid !== undefined) letThrough(tmpdir())
      // what is deleted makes room once the server has cleaned up after it
      const settings = { autovacuum_naptime: '1s' }
      const cluster = await TestCluster.start(2, { env: {}, server: { data, log, settings } })
      try {
        const agents = await agentsOf(cluster)
        const [one] = cluster.processes as [ClusterProcess]
        await untilReserved(cluster)
        fillUp(join(data, 'filler'))
        while ((await send(one, agents[0] as TestAgent)).status === 200) await pause(0)
        for (let round = 0; round < LETTERS_EACH; round++)
          for (const agent of agents) {
            agent.target = cluster.processes[round % 2] as ClusterProcess
            expect(await collect(agent)).toEqual([200, 200])
          }
        for (const agent of agents.slice(1)) expect(await collect(agent)).toEqual([200])
        const again = agents[1] as TestAgent
        await until(async () => (await send(one, again)).status === 200)
        expect(await collect(again)).toEqual([200, 200])
      } finally {
        await cluster.close()
        rmSync(log, { recursive: true })
      }
    }),
)

const CHURN = [
  'CREATE TABLE churn (n bigint, word text) WITH (fillfactor = 10)',
  "INSERT INTO churn SELECT n, repeat('-', 100) FROM generate_series(1, 200) AS n",
]
/** Needs room in the log alone. */
const CHURN_ON =
  'DO $$ BEGIN FOR n IN 1..2000 LOOP UPDATE churn SET word = repeat(md5(random()::text), 3); COMMIT; PERFORM count(*) FROM churn; END LOOP; END $$'

test.skipIf(missing !== undefined)(
  missing ?? 'a server whose log found no room on the same disk comes back by itself, and mail is collected',
  { timeout: 180_000 },
  () =>
    withSmallDisk(LARGER_BYTES, async data => {
      const cluster = await TestCluster.start(1, { env: {}, server: { data } })
      try {
        const agents = await agentsOf(cluster)
        for (const statement of CHURN) cluster.server.order(statement)
        await untilReserved(cluster)
        fillUp(join(data, 'filler'))
        expect(() => cluster.server.order(CHURN_ON)).toThrow()
        for (const agent of agents) await until(async () => (await collectOrWait(agent)).at(1) === 200)
        const told = agents.map(agent => agent.call('relayPoll', { limit: 100 }))
        for (const { json } of await Promise.all(told))
          expect((json['messages'] as unknown[]).length).toBe(LETTERS_EACH - 1)
      } finally {
        await cluster.close()
      }
    }),
)
