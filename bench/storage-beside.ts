/**
 * The hub's sends beside a plain insert into PostgreSQL and a publish into NATS JetStream, where those are installed:
 * 64 clients and 4 KiB of content each, every subject measured in turn. What each makes durable before it answers
 * differs: docs/performance.md says how.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { openDataDirectory } from '../hub/data-dir.ts'
import type { Enqueue } from '../hub/store/port.ts'
import { random } from '../hub/testing/hub.ts'
import { systemTimers } from '../protocol/timers.ts'
import { endedWith } from './lib/ended-with.ts'
import { runAlone } from './lib/help.ts'
import {
  atLeast,
  load,
  median,
  prepareSends,
  type Row,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'
import { addAgent, waiting } from './lib/hub-store-items.ts'

const CLIENTS = 64
const CONTENT_BYTES = 4096
const ROUNDS = 5
const OPERATIONS = 4000
const INSERT_SECONDS = 2
const RECIPIENTS = 16
const POSTGRES_FOLDERS = '/usr/lib/postgresql'
const NATS_PROGRAMS = ['/usr/sbin/nats-server', '/usr/bin/nats-server', '/usr/local/bin/nats-server']
const START_TRIES = 100
const START_WAIT_MS = 50

const execute = promisify(execFile)

/** Something that stores 4 KiB items and answers when each is stored. */
type Subject = { name: string; perSecond(): Promise<number>; stop(): Promise<void> }

async function hub(): Promise<Subject> {
  const process = await startHubProcess()
  const recipients = await registerAgents(process, RECIPIENTS)
  return {
    name: 'hub, kind-1 sends',
    async perSecond() {
      const sends = prepareSends(process, recipients, OPERATIONS, CONTENT_BYTES)
      const { perSecond, failed } = await load(process.url, sends, CLIENTS)
      if (failed > 0) throw new Error(`${failed} sends were refused`)
      return perSecond
    },
    stop: () => process.stop(),
  }
}

/** The hub's store alone: no HTTP and no signatures, each item flushed before its answer. */
async function store(): Promise<Subject> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-beside-store-'))
  const data = await openDataDirectory({
    directory,
    now: Date.now,
    timers: systemTimers,
    random,
    onBroken: () => undefined,
  })
  const mailboxes = await Promise.all(Array.from({ length: RECIPIENTS }, () => addAgent(data.store)))
  return {
    name: 'hub store alone, envelopes',
    async perSecond() {
      const items = Array.from({ length: OPERATIONS }, (_, i) =>
        waiting(mailboxes[i % RECIPIENTS] as number, CONTENT_BYTES),
      )
      return inTurn(OPERATIONS, async left => {
        await data.store.enqueue(items[left] as Enqueue)
      })
    },
    async stop() {
      await data.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Operations a second of 64 clients that each wait for an answer before the next. */
async function inTurn(count: number, operation: (left: number) => Promise<void>): Promise<number> {
  let left = count
  const start = performance.now()
  const client = async (): Promise<void> => {
    while (left > 0) await operation(--left)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return count / ((performance.now() - start) / 1000)
}

const INSERT = `\\set mailbox random(1, ${RECIPIENTS})
INSERT INTO mail (mailbox, content) VALUES (:mailbox, decode('${'5a'.repeat(CONTENT_BYTES)}', 'hex'));
`

/** A server of its own with the settings it ships with; PostgreSQL does not run as root, so root hands it over. */
async function postgres(): Promise<Subject | undefined> {
  const bin = postgresPrograms()
  if (bin === undefined) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'svc-beside-postgres-'))
  chmodSync(directory, 0o777)
  const data = join(directory, 'data')
  const script = join(directory, 'insert.sql')
  writeFileSync(script, INSERT, { mode: 0o644 })
  const program = (name: string, ...args: string[]): Promise<{ stdout: string }> => {
    const [command = '', ...rest] = asServerUser([join(bin, name), ...args])
    return execute(command, rest, {
      cwd: directory,
      env: { ...process.env, PGHOST: directory, PGUSER: 'svc' },
    })
  }
  await program('initdb', '-D', data, '-U', 'svc', '--auth=trust', '--encoding=UTF8')
  const options = `-c listen_addresses='' -c unix_socket_directories='${directory}' -c max_connections=${CLIENTS + 8}`
  await program('pg_ctl', '-D', data, '-w', '-l', join(directory, 'log'), '-o', options, 'start')
  const table =
    'CREATE TABLE mail (mailbox int NOT NULL, id bigserial, content bytea NOT NULL, PRIMARY KEY (mailbox, id))'
  await program('psql', '-q', '-d', 'postgres', '-c', table)
  return {
    name: 'PostgreSQL, plain inserts',
    async perSecond() {
      const size = ['-c', String(CLIENTS), '-j', '2', '-T', String(INSERT_SECONDS)]
      const { stdout } = await program('pgbench', '-n', '-M', 'prepared', ...size, '-f', script, 'postgres')
      return Number(/tps = ([0-9.]+)/.exec(stdout)?.[1])
    },
    async stop() {
      await program('pg_ctl', '-D', data, '-m', 'fast', '-w', 'stop')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function postgresPrograms(): string | undefined {
  if (!existsSync(POSTGRES_FOLDERS)) return undefined
  const newest = readdirSync(POSTGRES_FOLDERS)
    .sort((a, b) => Number(b) - Number(a))
    .map(release => join(POSTGRES_FOLDERS, release, 'bin'))
  return newest.find(folder => existsSync(join(folder, 'pgbench')))
}

function asServerUser(command: string[]): string[] {
  return process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', ...command] : command
}

/** A server of its own with a file store; each of the 64 publishers waits for the server's acknowledgement. */
async function nats(): Promise<Subject | undefined> {
  const program = NATS_PROGRAMS.find(path => existsSync(path))
  if (program === undefined) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'svc-beside-nats-'))
  const port = await freePort()
  const args = ['-js', '-sd', directory, '-a', '127.0.0.1', '-p', String(port)]
  const server = spawn(program, args, { stdio: 'ignore' })
  server.once(
    'exit',
    endedWith(() => server.kill()),
  )
  const connection = await connectTo(port, server)
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'mail', subjects: ['mail.*'], storage: 'file' })
  const stream = jetstream(connection)
  const content = new Uint8Array(CONTENT_BYTES).fill(0x5a)
  return {
    name: 'NATS JetStream, publishes',
    async perSecond() {
      return inTurn(OPERATIONS, async left => {
        await stream.publish(`mail.${left % RECIPIENTS}`, content)
      })
    },
    async stop() {
      await connection.close()
      server.kill('SIGTERM')
      await once(server, 'exit')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function connectTo(port: number, server: ChildProcess): Promise<Awaited<ReturnType<typeof connect>>> {
  for (let tries = 0; ; tries++) {
    try {
      return await connect({ servers: `127.0.0.1:${port}`, reconnect: false })
    } catch (error) {
      if (tries === START_TRIES || server.exitCode !== null) throw error
      await new Promise(resolve => setTimeout(resolve, START_WAIT_MS))
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Rows without a target: the comparison places the hub, it is no race. */
export async function run(): Promise<Row[]> {
  const others = { PostgreSQL: await postgres(), 'NATS JetStream': await nats() }
  for (const [name, subject] of Object.entries(others))
    if (subject === undefined) process.stderr.write(`storage-beside: ${name} is not installed; left out\n`)
  const subjects = [
    await hub(),
    await store(),
    ...Object.values(others).filter(subject => subject !== undefined),
  ]
  const figures = subjects.map(() => [] as number[])
  for (let i = 0; i <= ROUNDS; i++) {
    for (const [at, subject] of subjects.entries()) {
      const figure = await subject.perSecond()
      if (i > 0) figures[at]?.push(figure)
    }
  }
  for (const subject of subjects) await subject.stop()
  const [hubRate, storeRate = [], ...otherRates] = figures
  const rates = subjects.map(({ name }, at) =>
    atLeast(`${name}, 64 clients, 4 KiB`, median(figures[at] ?? []), '/s', 0),
  )
  const ratios = [hubRate ?? [], ...otherRates].map((theirs, at) => {
    const ratio = median(storeRate.map((figure, i) => figure / (theirs[i] as number)))
    return atLeast(`hub store alone ÷ ${subjects[at === 0 ? 0 : at + 1]?.name}`, ratio, '×', 0)
  })
  return [...rates, ...ratios]
}

if (import.meta.main) await runAlone(import.meta.filename, run)
