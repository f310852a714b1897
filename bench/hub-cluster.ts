/** Processes of one hub over one PostgreSQL server: their sends beside plain inserts, two beside one, and mail across them. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectTo } from '../hub/store/postgres/connections.ts'
import type { TestAgent } from '../hub/testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../hub/testing/mail.ts'
import { PostgresServer, withoutPostgres } from '../hub/testing/postgres-server.ts'
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
const COPIED = ['identity.kel', 'identity.next', 'secret']

type Measured = { url: string; processes: HubProcess[]; recipients: TestAgent[] }

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

async function start(folder: string): Promise<{ server: PostgresServer; measured: Measured }> {
  const server = await PostgresServer.start()
  const flags = ['--store', server.url, '--files', join(folder, 'files')]
  const processes: HubProcess[] = []
  for (let n = 0; n < 2; n++) {
    const directory = join(folder, `process-${n}`)
    mkdirSync(directory, { mode: 0o700 })
    const [first] = processes
    if (first !== undefined)
      for (const name of COPIED) copyFileSync(join(first.directory, name), join(directory, name))
    processes.push(await startHubProcess({ built: true, directory, flags, log: join(folder, 'log') }))
  }
  const recipients = await registerAgents(processes[0] as HubProcess, RECIPIENTS)
  return { server, measured: { url: server.url, processes, recipients } }
}

const names = {
  inserts: 'sends of one process ÷ inserts of the same rows by the same driver',
  two: 'two processes ÷ one, by the processor time of the hub',
  rate: 'two processes ÷ one, with load and database on the same two cores',
  poll: 'mail to a poll held at another process ÷ at the same one, p50',
  beside: 'sends of one process ÷ those of a hub with SQLite',
} as const

export async function run(): Promise<Row[]> {
  if (withoutPostgres !== undefined) {
    process.stderr.write(`bench: ${withoutPostgres}\n`)
    return []
  }
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-cluster-bench-'))
  const { server, measured } = await start(folder)
  const [one, other] = measured.processes as [HubProcess, HubProcess]
  const sqlite = await startHubProcess({ built: true, log: join(folder, 'log') })
  const alone = { url: '', processes: [sqlite], recipients: await registerAgents(sqlite, RECIPIENTS) }
  const poller = (await registerAgents(one, 1))[0] as TestAgent
  await Promise.all([sends(measured, [one]), sends(measured, [other]), sends(alone, [sqlite])])
  const rounds: Record<keyof typeof names | 'one' | 'both' | 'plain' | 'held', number>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const plain = await inserts(measured.url)
    const single = await sends(measured, [one])
    const both = await sends(measured, [one, other])
    const embedded = await sends(alone, [sqlite])
    const [same, far] = [await across(poller, one, one), await across(poller, one, other)]
    rounds.push({
      ...{ one: single.rate, both: both.rate, plain, held: far },
      inserts: single.rate / plain,
      two: (2 * single.cpu) / both.cpu,
      rate: both.rate / single.rate,
      poll: far / same,
      beside: single.rate / embedded.rate,
    })
  }
  for (const hub of [one, other, sqlite]) await hub.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
  const middle = (name: keyof (typeof rounds)[number]): number => median(rounds.map(round => round[name]))
  return [
    atLeast(names.inserts, middle('inserts'), '×', 0.5),
    atLeast(names.two, middle('two'), '×', 1.6),
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
