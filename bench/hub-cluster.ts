/** Processes of one hub over one PostgreSQL server: their sends beside plain inserts, two beside one, and mail across them. */
import { randomBytes } from 'node:crypto'
import { connectTo } from '../hub/store/postgres/connections.ts'
import type { TestAgent } from '../hub/testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../hub/testing/mail.ts'
import { withoutPostgres } from '../hub/testing/postgres-server.ts'
import { runAlone } from './lib/help.ts'
import { HubCluster } from './lib/hub-cluster.ts'
import {
  atLeast,
  atMost,
  type HubProcess,
  load,
  median,
  prepareSends,
  type Row,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'
import { processorSeconds } from './lib/processor-time.ts'

/** So many that two groups seldom meet in a mailbox, as where a hub needs more than one process. */
const RECIPIENTS = 256
const SENDS = 2000
const CLIENTS = 64
const ROUNDS = 5
const MAILS = 40
/** What the server of this measurement is asked for at once. */
const GROUP = 64
const CONTENT_BYTES = 4096
/** A hub of one process or more over one database. */
type Measured = { cluster: HubCluster; recipients: TestAgent[]; processes: readonly HubProcess[] }
/** A second, and processor seconds of hub and database for each thousand. */
type Sends = { rate: number; cpu: number; database: number }

async function measure(cluster: HubCluster): Promise<Measured> {
  const { processes } = cluster
  const recipients = await registerAgents(processes[0] as HubProcess, RECIPIENTS)
  return { cluster, recipients, processes }
}

/** Sends to all of them at once, as many to each of their processes. */
async function sends(
  ...hubs: readonly Pick<Measured, 'processes' | 'recipients'>[]
): Promise<Omit<Sends, 'database'>> {
  const at = hubs.flatMap(({ processes, recipients }) => processes.map(hub => ({ hub, recipients })))
  const each = Math.floor(SENDS / at.length)
  const prepared = at.map(({ hub, recipients }) => prepareSends(hub, recipients, each))
  const used = () => at.reduce((sum, { hub }) => sum + processorSeconds(hub.pid), 0)
  const before = used()
  const startedMs = performance.now()
  const loads = await Promise.all(
    at.map(({ hub }, n) => load(hub.url, prepared[n] ?? [], CLIENTS / at.length)),
  )
  const seconds = (performance.now() - startedMs) / 1000
  const failed = loads.reduce((sum, one) => sum + one.failed, 0)
  if (failed > 0) throw new Error(`${failed} sends were refused`)
  const count = each * at.length
  return { rate: count / seconds, cpu: ((used() - before) * 1000) / count }
}

/** The same, with what their databases used. */
async function sendsAndDatabases(...hubs: readonly Measured[]): Promise<Sends> {
  const used = () => hubs.reduce((sum, { cluster }) => sum + cluster.databaseSeconds, 0)
  const before = used()
  const sent = await sends(...hubs)
  return { ...sent, database: ((used() - before) * 1000) / SENDS }
}

const TABLES = [
  'bench (mailbox bigint, id bigint, digest bytea, content bytea, PRIMARY KEY (mailbox, id))',
  'bench_digest (mailbox bigint, digest bytea, PRIMARY KEY (mailbox, digest))',
  'bench_use (mailbox bigint, capability bytea, PRIMARY KEY (mailbox, capability))',
]

/** Rows of sends a second: an envelope, its digest and the use of its capability, as many at once as a group has. */
async function inserts(url: string): Promise<number> {
  const connections = connectTo(url)
  for (const table of TABLES) await connections.run(`CREATE TABLE IF NOT EXISTS ${table}`)
  await connections.run('TRUNCATE bench, bench_digest, bench_use')
  const content = randomBytes(CONTENT_BYTES)
  const insert = (first: number) =>
    connections.transaction(async db => {
      const boxes = Array.from({ length: GROUP }, (_, n) => (first + n) % RECIPIENTS)
      const ids = Array.from({ length: GROUP }, (_, n) => first + n)
      const [digests, capabilities] = [ids.map(() => randomBytes(32)), ids.map(() => randomBytes(16))]
      await db.run(
        'INSERT INTO bench SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[])',
        ...[boxes, ids, digests],
        Array<Uint8Array>(GROUP).fill(content),
      )
      const pairs = (table: string, all: Uint8Array[]) =>
        db.run(`INSERT INTO ${table} SELECT * FROM unnest($1::bigint[], $2::bytea[])`, boxes, all)
      await pairs('bench_digest', digests)
      await pairs('bench_use', capabilities)
    })
  const startedMs = performance.now()
  const groups = Math.floor(SENDS / GROUP)
  for (let group = 0; group < groups; group += 2)
    await Promise.all([insert(group * GROUP), insert((group + 1) * GROUP)])
  const rate = (groups * GROUP) / ((performance.now() - startedMs) / 1000)
  await connections.close()
  return rate
}

/** From now on, word to other processes is a function that does nothing. */
async function hearNothing(url: string): Promise<void> {
  const connections = connectTo(url)
  await connections.run(
    "CREATE OR REPLACE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT'",
  )
  await connections.close()
}

/** From a send at one process to the answer of a poll that another one held, ms. */
async function across(agent: TestAgent, from: HubProcess, to: HubProcess): Promise<number> {
  const took: number[] = []
  agent.target = to
  let afterId = 0
  for (let n = 0; n < MAILS; n++) {
    const held = agent.poll({ after_id: afterId }, { headers: { Prefer: 'wait=20' } })
    await new Promise(resolve => setTimeout(resolve, 15))
    const startedMs = performance.now()
    const envelope = sealedUnderCapability(agent, agent.capability())
    const [{ messages }] = await Promise.all([held, sendEnvelope(from, envelope)])
    took.push(performance.now() - startedMs)
    afterId = messages.at(-1)?.id ?? afterId
  }
  return median(took)
}

const names = {
  inserts: 'sends of one process ÷ inserts of the same rows by the same driver',
  two: 'two processes ÷ one, by the processor time of the hub',
  four: 'four processes ÷ one, by the processor time of the hub',
  divided:
    'two databases with half of the mailboxes each ÷ one, a process for each, by the processor time of hubs and databases',
  told: 'sends of a process that tells the others of mail ÷ of one whose NOTIFY does nothing',
  rate: 'two processes ÷ one, with load and database on the same two cores',
  poll: 'mail to a poll held at another process ÷ at the same one, p50',
  beside: 'sends of one process ÷ those of a hub with SQLite',
} as const

const UNBOUND = Number.NEGATIVE_INFINITY
const total = ({ cpu, database }: Sends): number => cpu + database

export async function run(): Promise<Row[]> {
  if (withoutPostgres !== undefined) {
    process.stderr.write(`bench: ${withoutPostgres}\n`)
    return []
  }
  await using cluster = await HubCluster.start(4)
  await using second = await HubCluster.start(1)
  const processes = [...cluster.processes]
  const [one, other] = processes as [HubProcess, HubProcess]
  const four = { ...(await measure(cluster)), processes }
  const [two, single] = [
    { ...four, processes: [one, other] },
    { ...four, processes: [one] },
  ]
  const apart = await measure(second)
  await hearNothing(cluster.server.url)
  const silent = { ...four, processes: [await cluster.add()] }
  const sqlite = await startHubProcess({ built: true, log: cluster.log })
  const embedded = { processes: [sqlite], recipients: await registerAgents(sqlite, RECIPIENTS) }
  const poller = (await registerAgents(one, 1))[0] as TestAgent
  for (const hub of processes) await sends({ ...four, processes: [hub] })
  for (const hub of [silent, apart, embedded]) await sends(hub)
  const rounds: Record<
    keyof typeof names | 'one' | 'both' | 'plain' | 'held' | 'hub' | 'database',
    number
  >[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const plain = await inserts(cluster.server.url)
    const ofOne = await sendsAndDatabases(single)
    const unheard = await sends(silent)
    const both = await sendsAndDatabases(two)
    const all = await sends(four)
    const divided = await sendsAndDatabases(single, apart)
    const beside = await sends(embedded)
    const [same, far] = [await across(poller, one, one), await across(poller, one, other)]
    rounds.push({
      ...{ one: ofOne.rate, both: both.rate, plain, held: far, hub: ofOne.cpu, database: ofOne.database },
      inserts: ofOne.rate / plain,
      two: (2 * ofOne.cpu) / both.cpu,
      four: (4 * ofOne.cpu) / all.cpu,
      divided: (2 * total(ofOne)) / total(divided),
      told: ofOne.rate / unheard.rate,
      rate: both.rate / ofOne.rate,
      poll: far / same,
      beside: ofOne.rate / beside.rate,
    })
  }
  await sqlite.stop()
  const middle = (name: keyof (typeof rounds)[number]): number => median(rounds.map(round => round[name]))
  return [
    atLeast(names.inserts, middle('inserts'), '×', 0.5),
    atLeast(names.two, middle('two'), '×', 1.6),
    atLeast(names.four, middle('four'), '×', UNBOUND),
    atLeast(names.divided, middle('divided'), '×', UNBOUND),
    atLeast(names.told, middle('told'), '×', 0.95),
    atMost(names.poll, middle('poll'), '×', 1.5),
    atLeast(names.rate, middle('rate'), '×', UNBOUND),
    atLeast(names.beside, middle('beside'), '×', UNBOUND),
    atLeast('sends of one process', middle('one'), '/s', UNBOUND),
    atLeast('sends of two processes', middle('both'), '/s', UNBOUND),
    atLeast('inserts of the same rows', middle('plain'), '/s', UNBOUND),
    atLeast('processor time of the hub for a send', middle('hub'), 'ms', UNBOUND),
    atLeast('processor time of the database for a send', middle('database'), 'ms', UNBOUND),
    atMost('mail to a poll held at another process, p50', middle('held'), 'ms', Number.POSITIVE_INFINITY),
  ]
}

if (import.meta.main) await runAlone(import.meta.filename, run)
