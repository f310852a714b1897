/**
 * A hub and nodes as processes that may be killed at any moment, a supervisor that starts them again, and the
 * checks that must hold afterwards.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { build } from 'esbuild'
import { openChain } from '../../daemon/chain/chain.ts'
import { openIdentity } from '../../daemon/identity/identity.ts'
import { openStore } from '../../daemon/store/open.ts'
import { bundledProgram } from '../../hub/testing/bundle.ts'
import { present } from '../../protocol/encoding/present.ts'
import { systemTimers } from '../../protocol/timers.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const LOOK_MS = 40
const LOOKS_MAX = 1500

const ANSWERER = `
let prompt = ''
process.stdin.on('data', chunk => { prompt += chunk }).on('end', () => {
  console.log('answer to ' + (prompt.match(/task \\d+/g) ?? []).at(-1))
})
`

export type NodeName = 'alice' | 'bob' | 'carol' | 'dora'
/** What takes letters at the address of a node. */
type Serving = `${NodeName} serve`
export type Who = 'hub' | NodeName | Serving
type Reply = Record<string, unknown>

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  await new Promise<void>(done => server.close(() => done()))
  return port
}

/** The node's program as one bundle of the present sources, which starts in half the time. */
export async function bundledNode(folder: string): Promise<string> {
  const outdir = join(folder, 'program')
  await build({
    entryPoints: {
      svc: join(ROOT, 'cli/program.ts'),
      'pow-worker': join(ROOT, 'daemon/hubs/pow-worker.ts'),
      'signature-worker': join(ROOT, 'daemon/chain/signature-worker.ts'),
    },
    outdir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    splitting: true,
    logLevel: 'error',
    external: ['cbor-extract', 'react-devtools-core', 'bufferutil', 'utf-8-validate'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  })
  writeFileSync(join(outdir, 'package.json'), '{"type":"module"}')
  return join(outdir, 'svc.js')
}

const ATTACHMENT_BYTES = 200_000

export class CrashLab {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-crash-'))
  readonly nodes: readonly NodeName[]
  readonly wire: 1 | 3
  /** Whether its nodes take letters at an address each, and send them there. */
  readonly isDirect: boolean
  #config: object
  #children = new Map<Who, ChildProcess>()
  #startedAt = new Map<Who, number>()
  #ports = new Map<Who, number>()
  #stopping = false
  #programs = { hub: '', node: '' }
  kills = 0
  /** What the hub is started with besides, from its next start on. */
  hubArgs: readonly string[] = []

  /** Nodes with these settings; each knows all others as contacts. The hub speaks this wire alone. */
  constructor(
    nodes: readonly NodeName[] = ['alice', 'bob'],
    config: object = {},
    wire: 1 | 3 = 3,
    isDirect = false,
  ) {
    this.isDirect = isDirect
    this.nodes = nodes
    this.wire = wire
    this.#config = config
  }

  /** Starts the hub and the nodes, registers them, gives bob an answering program. */
  async open(): Promise<void> {
    const script = join(this.folder, 'answer.mjs')
    writeFileSync(script, ANSWERER)
    const [hub, node] = await Promise.all([bundledProgram(), bundledNode(this.folder)])
    this.#programs = { hub, node }
    for (const who of ['hub', ...this.nodes] as const) {
      this.#ports.set(who, await freePort())
      if (who !== 'hub') this.#configure(who)
      this.start(who)
    }
    for (const who of this.nodes) {
      await this.admit(await this.aid(who))
      await this.ask(who, 'POST', '/hub/register', { url: this.hubUrl, name: who, wire: this.wire })
    }
    for (const who of this.nodes)
      for (const other of this.nodes.filter(name => name !== who))
        await this.ask(who, 'POST', '/contact/add', { aid: await this.aid(other), petname: other })
    await this.ask('bob', 'POST', '/autoreply/set', { backend: 'exec', poll_interval_seconds: 1 })
    if (this.isDirect) for (const who of this.nodes) await this.#openAddress(who)
  }

  async #openAddress(who: NodeName): Promise<void> {
    const port = await freePort()
    this.#ports.set(`${who} serve`, port)
    this.start(`${who} serve`)
    await this.#listening(`${who} serve`)
    await this.#advertise(who)
    await this.ask(who, 'POST', '/p2p/set', { send: true, hosts: ['127.0.0.1'] })
  }

  async #advertise(who: NodeName): Promise<void> {
    const address = `127.0.0.1:${this.#ports.get(`${who} serve`)}`
    await this.ask(who, 'POST', '/p2p/advertise', { address })
  }

  /** Whoever has met is told at once where the others take mail. */
  async tellAddresses(): Promise<void> {
    for (const who of this.nodes) await this.#advertise(who)
    for (const who of this.nodes)
      await this.until(`${who} knows where the others are`, async () => {
        const { contacts } = await this.ask(who, 'GET', '/p2p/status')
        return (contacts as unknown[]).length === this.nodes.length - 1
      })
  }

  #listening(who: Who): Promise<void> {
    const reached = () =>
      new Promise<boolean>(done => {
        const socket = connect(this.#ports.get(who) ?? 0, '127.0.0.1')
        socket.once('error', () => done(false))
        socket.once('connect', () => done(true))
        socket.once('connect', () => socket.destroy())
      })
    return this.until(`${who} listens`, reached)
  }

  /** Both nodes as after a start, so that nothing rests; each takes letters at its address. */
  async startAnew(): Promise<void> {
    for (const who of this.nodes) await this.arm(who, '')
    await this.serving()
  }

  /** Waits until both take letters: what took them ended with a node that was started again. */
  async serving(): Promise<void> {
    for (const who of this.nodes) await this.#listening(`${who} serve`)
  }

  get hubUrl(): string {
    return `http://127.0.0.1:${this.#ports.get('hub')}`
  }

  async aid(who: NodeName): Promise<string> {
    return (await this.ask(who, 'GET', '/status'))['aid'] as string
  }

  /** The process that is `who` now, and for how many milliseconds it has been. */
  processOf(who: Who): { pid: number | undefined; ageMs: number } {
    return {
      pid: this.#children.get(who)?.pid,
      ageMs: Date.now() - (this.#startedAt.get(who) ?? Date.now()),
    }
  }

  dir(who: Who): string {
    return join(this.folder, who.replace(/ serve$/, ''))
  }

  #programOf(who: Who): string[] {
    const { hub, node } = this.#programs
    const address = `127.0.0.1:${this.#ports.get(who)}`
    const at = ['--wire', String(this.wire), '--listen', address, '--data-dir', this.dir('hub')]
    if (who === 'hub') return [hub, 'serve', ...at, ...this.hubArgs]
    return who.endsWith(' serve') ? [node, 'p2p', 'serve', '--listen', address] : [node, 'daemon']
  }

  #configure(who: Who): void {
    const config = { control_addr: `127.0.0.1:${this.#ports.get(who)}`, ...this.#config }
    const dir = this.dir(who)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeFileSync(join(dir, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  }

  /** Starts a process; when a fault kills it, it is started again without the fault. */
  start(who: Who, fault?: string): void {
    const child = spawn(process.execPath, this.#programOf(who), {
      cwd: ROOT,
      stdio: 'ignore',
      env: {
        PATH: process.env['PATH'],
        HOME: this.folder,
        SVC_DATA_DIR: this.dir(who),
        SVC_RUNTIME_DIR: this.dir(who).replace(/[^/]+$/, name => `run-${name}`),
        SVC_EXEC_COMMAND: `${process.execPath} ${join(this.folder, 'answer.mjs')}`,
        ...present({ SVC_FAULT: fault }),
      },
    })
    this.#children.set(who, child)
    this.#startedAt.set(who, Date.now())
    child.once('exit', (_code, signal) => {
      if (signal === 'SIGKILL') this.kills += 1
      if (!this.#stopping && this.#children.get(who) === child) this.start(who)
    })
  }

  /** Ends a process in good order; it stays away until it is started. */
  async halt(who: Who): Promise<void> {
    const child = this.#children.get(who)
    this.#children.delete(who)
    await this.#end(child, 'SIGTERM')
  }

  /** Ends a process in good order and starts it again with a fault armed. */
  async arm(who: Who, fault: string): Promise<void> {
    await this.halt(who)
    this.start(who, fault)
    if (who === 'hub') await this.#serving()
    else if (who.endsWith(' serve')) await this.#listening(who)
    else await this.ask(who, 'GET', '/status')
  }

  kill(who: Who): void {
    this.#children.get(who)?.kill('SIGKILL')
  }

  async admit(aid: string): Promise<void> {
    const child = spawn(process.execPath, [this.#programs.hub, 'admit', '--data-dir', this.dir('hub'), aid], {
      cwd: ROOT,
      stdio: 'ignore',
      env: { PATH: process.env['PATH'] },
    })
    await new Promise<void>(done => child.once('exit', () => done()))
  }

  /** One call of a node's control interface, repeated while the process is away. */
  async ask(who: Who, method: string, path: string, body?: unknown): Promise<Reply> {
    for (let i = 0; ; i++) {
      try {
        const token = readFileSync(join(this.dir(who), 'control_token.txt'), 'utf8').trim()
        const response = await fetch(`http://127.0.0.1:${this.#ports.get(who)}${path}`, {
          method,
          headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        const reply = (await response.json()) as Reply
        if (response.ok || i >= LOOKS_MAX) return reply
        if (reply['reason'] === 'wrong_state') return reply
      } catch (error) {
        if (i >= LOOKS_MAX) throw error
      }
      await pause(LOOK_MS)
    }
  }

  /** A file that the hub keeps as a file of its own, too large for a row of its database. */
  #attachment(n: number): string {
    const path = join(this.folder, `file-${n}.bin`)
    writeFileSync(path, Buffer.alloc(ATTACHMENT_BYTES, n % 251))
    return path
  }

  /** A task from delegation to the counter-signed receipt, whatever dies on the way. */
  async runTask(n: number, withFile = false): Promise<string> {
    const attach = withFile ? { attach: [this.#attachment(n)] } : {}
    const order = { to: await this.aid('bob'), task: `task ${n}`, idempotency_key: `order-${n}`, ...attach }
    const id = (await this.ask('alice', 'POST', '/delegate', order))['interaction_id'] as string
    await this.until(`answer ${n}`, async () => {
      const thread = await this.ask('alice', 'POST', '/thread', { interaction_id: id })
      return (thread['turns'] as { text: string }[]).some(turn => turn.text === `answer to task ${n}`)
    })
    if (withFile) await this.#compareFiles(n, id)
    await this.ask('alice', 'POST', '/end', { interaction_id: id, mode: 'either' })
    await this.until(`receipt ${n}`, async () => {
      const thread = await this.ask('alice', 'POST', '/thread', { interaction_id: id })
      return (thread['receipt'] as { verified?: boolean } | undefined)?.verified === true
    })
    await this.until(`counter-signature ${n}`, async () => {
      return (await this.ask('bob', 'POST', '/verify', { interaction_id: id }))['counter_signed'] === true
    })
    return id
  }

  /** Alice's rating of an ended task, until the hub has it; a hub of wire 1 publishes the task with it. */
  async review(id: string): Promise<void> {
    const given = { interaction_id: id, rating: 4, comment: 'as asked', publish: true }
    await this.ask('alice', 'POST', '/review', given)
    await this.#tryReviews()
    await this.until('the hub has the review', async () => {
      const { review } = await this.ask('alice', 'POST', '/thread', { interaction_id: id })
      return (review as { uploaded?: boolean } | undefined)?.uploaded === true
    })
  }

  /** Where the hub was away, the next try would be ten minutes later. */
  async #tryReviews(): Promise<void> {
    await this.halt('alice')
    const database = new DatabaseSync(join(this.dir('alice'), 'interactions', 'store.db'))
    database.exec("UPDATE reviews SET next_at = 0 WHERE state = 'kept'")
    database.close()
    await this.#serving()
    this.start('alice')
  }

  #serving(): Promise<void> {
    const isServing = async () => (await fetch(`${this.hubUrl}/healthz`)).ok
    return this.until('the hub serves', () => isServing().catch(() => false))
  }

  /** How often the hub shows a review of a task. */
  async reviewsOf(id: string): Promise<number> {
    const answer = await fetch(`${this.hubUrl}/agents/${await this.aid('bob')}`, {
      headers: { 'X-Svc-Wire': String(this.wire) },
    })
    const { reviews = [] } = (await answer.json()) as { reviews?: { interaction_id: string }[] }
    return reviews.filter(({ interaction_id }) => interaction_id === id).length
  }

  /** The file in bob's store is the one that alice sent. */
  async #compareFiles(n: number, id: string): Promise<void> {
    await this.until(`file ${n}`, async () => {
      const thread = await this.ask('bob', 'POST', '/thread', { interaction_id: id })
      const files = (thread['turns'] as { attachments: { path: string | null }[] }[]).flatMap(
        turn => turn.attachments,
      )
      const path = files[0]?.path
      return path != null && readFileSync(path).equals(readFileSync(join(this.folder, `file-${n}.bin`)))
    })
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (let i = 0; i < LOOKS_MAX; i++) {
      if (await holds()) return
      await pause(LOOK_MS)
    }
    throw new Error(`did not happen: ${what}`)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all([...this.#children.values()].map(child => this.#end(child, 'SIGTERM')))
  }

  async close(): Promise<void> {
    await this.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>(done => child.once('exit', () => done()))
    child.kill(signal)
    await ended
  }
}

export type Story = { id: string; texts: string[]; kinds: number[]; messages: number; digests: string[] }

/** What a stopped node holds of its interactions; opening the chain verifies it as every start does. */
export async function readNode(dir: string): Promise<{ stories: Map<string, Story>; chainLength: number }> {
  const store = openStore(dir)
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
  const chain = await openChain(dir, store, openIdentity(dir, { now: Date.now, random }), {
    now: Date.now,
    timers: systemTimers,
  })
  const chainLength = chain.length
  chain.close()
  store.close()
  const database = new DatabaseSync(join(dir, 'interactions', 'store.db'), { readOnly: true })
  const stories = new Map<string, Story>()
  for (const { key, id } of database.prepare('SELECT key, id FROM interactions').all() as {
    key: number
    id: string
  }[]) {
    const rows = database
      .prepare(
        'SELECT text, kind, digest, delivery FROM messages WHERE interaction = ? AND number > 0 ORDER BY sender, number',
      )
      .all(key) as { text: string; kind: number; digest: Uint8Array }[]
    stories.set(id, {
      id,
      texts: rows.map(row => row.text).filter(Boolean),
      kinds: rows.map(row => row.kind),
      messages: rows.length,
      digests: rows.map(row => Buffer.from(row.digest).toString('hex')),
    })
  }
  database.close()
  return { stories, chainLength }
}
