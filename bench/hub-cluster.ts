/** Processes of one hub over one PostgreSQL server: their sends beside plain inserts, two beside one, and mail across them. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connectTo } from '../hub/store/postgres/connections.ts'
import type { TestAgent } from '../hub/testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../hub/testing/mail.ts'
import { withoutPostgres } from '../hub/testing/postgres-server.ts'
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

/** So many that two groups seldom meet in a mailbox, as where a hub needs more than one process. */
const RECIPIENTS = 256
const SENDS = 2000
const CLIENTS = 64
const ROUNDS = 5
const MAILS = 40
/** What the server of this measurement is asked for at once. */
const GROUP = 64
const CONTENT_BYTES = 4096
/** Of processor time in /proc. */
const TICKS_PER_SECOND = 100

type Measured = { url: string; recipients: TestAgent[] }

/** Processor seconds that a process has used. */
function cpuOf({ pid }: HubProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Rows a second, and processor seconds of the processes for each thousand. */
async function sends(
  { recipients }: Measured,
  processes: HubProcess[],
): Promise<{ rate: number; cpu: number }> {
  const each = Math.floor(SENDS / processes.length)
  const prepared = processes.map(hub => prepareSends(hub, recipients, each))
  const before = processes.map(cpuOf)
  const startedMs = performance.now()
  const loads = await Promise.all(
    processes.map((hub, n) => load(hub.url, prepared[n] ?? [], CLIENTS / processes.length)),
  )
  const seconds = (performance.now() - startedMs) / 1000
  const failed = loads.reduce((sum, one) => sum + one.failed, 0)
  if (failed > 0) throw new Error(`${failed} sends were refused`)
  const cpu = processes.reduce((sum, hub, n) => sum + cpuOf(hub) - (before[n] ?? 0), 0)
  return { rate: (each * processes.length) / seconds, cpu: (cpu * 1000) / (each * processes.length) }
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

/** For connections that are made from now on, word to other processes is a function that does nothing. */
async function hearNothing(url: string): Promise<void> {
  const connections = connectTo(url)
  for (const change of [
    'CREATE SCHEMA quiet',
    "CREATE FUNCTION quiet.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT'",
    'ALTER DATABASE postgres SET search_path = quiet, pg_catalog, public',
  ])
    await connections.run(change)
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
  told: 'sends of a process that tells the others of mail ÷ of one whose NOTIFY does nothing',
  rate: 'two processes ÷ one, with load and database on the same two cores',
  poll: 'mail to a poll held at another process ÷ at the same one, p50',
  beside: 'sends of one process ÷ those of a hub with SQLite',
} as const

export async function run(): Promise<Row[]> {
  if (withoutPostgres !== undefined) {
    process.stderr.write(`bench: ${withoutPostgres}\n`)
    return []
  }
  await using cluster = await HubCluster.start(4)
  const processes = [...cluster.processes]
  const [one, other] = processes as [HubProcess, HubProcess]
  const measured = { url: cluster.server.url, recipients: await registerAgents(one, RECIPIENTS) }
  await hearNothing(measured.url)
  const silent = await cluster.add()
  const sqlite = await startHubProcess({ built: true, log: cluster.log })
  const alone = { url: '', recipients: await registerAgents(sqlite, RECIPIENTS) }
  const poller = (await registerAgents(one, 1))[0] as TestAgent
  for (const hub of [...processes, silent]) await sends(measured, [hub])
  await sends(alone, [sqlite])
  const rounds: Record<keyof typeof names | 'one' | 'both' | 'plain' | 'held', number>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const plain = await inserts(measured.url)
    const single = await sends(measured, [one])
    const unheard = await sends(measured, [silent])
    const both = await sends(measured, [one, other])
    const all = await sends(measured, processes)
    const embedded = await sends(alone, [sqlite])
    const [same, far] = [await across(poller, one, one), await across(poller, one, other)]
    rounds.push({
      ...{ one: single.rate, both: both.rate, plain, held: far },
      inserts: single.rate / plain,
      two: (2 * single.cpu) / both.cpu,
      four: (4 * single.cpu) / all.cpu,
      told: single.rate / unheard.rate,
      rate: both.rate / single.rate,
      poll: far / same,
      beside: single.rate / embedded.rate,
    })
  }
  await sqlite.stop()
  const middle = (name: keyof (typeof rounds)[number]): number => median(rounds.map(round => round[name]))
  return [
    atLeast(names.inserts, middle('inserts'), '×', 0.5),
    atLeast(names.two, middle('two'), '×', 1.6),
    atLeast(names.four, middle('four'), '×', Number.NEGATIVE_INFINITY),
    atLeast(names.told, middle('told'), '×', 0.95),
    atMost(names.poll, middle('poll'), '×', 1.5),
    atLeast(names.rate, middle('rate'), '×', Number.NEGATIVE_INFINITY),
    atLeast(names.beside, middle('beside'), '×', Number.NEGATIVE_INFINITY),
    atLeast('sends of one process', middle('one'), '/s', Number.NEGATIVE_INFINITY),
    atLeast('sends of two processes', middle('both'), '/s', Number.NEGATIVE_INFINITY),
    atLeast('inserts of the same rows', middle('plain'), '/s', Number.NEGATIVE_INFINITY),
    atMost('mail to a poll held at another process, p50', middle('held'), 'ms', Number.POSITIVE_INFINITY),
  ]
}

if (import.meta.main) console.table(await run())
