/** A hub and two nodes as processes, and lines between them that lose what they are told to. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bundledProgram } from '../../hub/testing/bundle.ts'
import { PostgresServer } from '../../hub/testing/postgres-server.ts'
import { bundledNode, freePort } from '../two-nodes/crash-world.ts'
import { LossyLine } from './lossy-line.ts'

export type Name = 'alice' | 'bob'
export type Reply = Record<string, unknown>
export const GRANTED = 1000
export const PRICE = 5

const LOOK_MS = 100
/** Another process of the hub, where that is one of several. */
const OTHER = 'hub-other'
/** What each machine of a hub has a copy of. */
const COPIED = ['identity.kel', 'identity.next', 'secret']
const PATIENCE_MS = 180_000
const COMMAND_MS = 120_000
/** What a node refuses for the moment. */
const PASSING = new Set(['old_copy', 'hub_unreachable', 'hub_refused', 'internal', 'no_hub'])

let bundles: Promise<{ hub: string; node: string }> | undefined
const bundled = () => {
  bundles ??= Promise.all([bundledProgram(), bundledNode(mkdtempSync(join(tmpdir(), 'svc-programs-')))]).then(
    ([hub, node]) => ({ hub, node }),
  )
  return bundles
}

export class ProcessWorld implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-processes-'))
  readonly aids = { alice: '', bob: '' }
  readonly lines = new Map<string, LossyLine>()
  readonly #children = new Map<string, ChildProcess>()
  readonly #ports = new Map<string, number>()
  #programs = { hub: '', node: '' }
  /** The database of the hub, where that is one of several processes. */
  database: PostgresServer | undefined
  kills = 0
  /** What the accounts had before anything was paid. */
  readonly had = { alice: 0, bob: 0 }

  /** `isShared`: the hub is two processes over one database. */
  async open({ isShared = false } = {}): Promise<this> {
    this.#programs = await bundled()
    if (isShared) this.database = await PostgresServer.start()
    writeFileSync(join(this.folder, 'passphrase'), 'correct horse battery\n')
    await this.openHub('hub')
    if (isShared) await this.#openOther()
    await Promise.all((['alice', 'bob'] as const).map(name => this.#openNode(name)))
    await this.join('hub')
    await this.hubCommand('hub', 'grant', this.aids.alice, String(GRANTED), '--reason', 'test')
    await this.ask('alice', '/contact/add', { aid: this.aids.bob, petname: 'bob' })
    await this.ask('bob', '/contact/add', { aid: this.aids.alice, petname: 'alice' })
    await this.ask('bob', '/prices/set', { capability: 'task', amount: PRICE })
    for (const name of ['alice', 'bob'] as const)
      this.had[name] = (await this.ask(name, '/balance', undefined, 'GET'))['balance'] as number
    return this
  }

  dir(who: string): string {
    return join(this.folder, who)
  }

  line(name: Name, hub = 'hub'): LossyLine {
    return this.lines.get(`${name} ${hub}`) as LossyLine
  }

  async openHub(name: string): Promise<void> {
    const port = await freePort()
    this.#ports.set(name, port)
    mkdirSync(this.dir(name), { mode: 0o700 })
    for (const node of ['alice', 'bob']) {
      const line = new LossyLine(`http://127.0.0.1:${port}`)
      await line.open()
      this.lines.set(`${node} ${name}`, line)
    }
    await this.startHub(name)
  }

  async #openOther(): Promise<void> {
    this.#ports.set(OTHER, await freePort())
    mkdirSync(this.dir(OTHER), { mode: 0o700 })
    for (const file of COPIED) cpSync(join(this.dir('hub'), file), join(this.dir(OTHER), file))
    await this.startHub(OTHER)
  }

  /** The first process of the hub is killed and stays away; both nodes go to the other one. */
  loseProcess(): void {
    const child = this.#children.get('hub')
    this.#children.delete('hub')
    child?.kill('SIGKILL')
    for (const line of this.lines.values()) line.leadTo(`http://127.0.0.1:${this.#ports.get(OTHER)}`)
  }

  async startHub(name: string): Promise<void> {
    this.start(name)
    const url = `http://127.0.0.1:${this.#ports.get(name)}/`
    await this.until(`${name} is up`, () => fetch(url).then(() => true))
  }

  async #openNode(name: Name): Promise<void> {
    await this.#configure(name, {})
    this.start(name)
    this.aids[name] = (await this.ask(name, '/status', undefined, 'GET'))['aid'] as string
  }

  async #configure(who: string, config: object): Promise<void> {
    const port = await freePort()
    this.#ports.set(who, port)
    mkdirSync(this.dir(who), { recursive: true, mode: 0o700 })
    const file = join(this.dir(who), 'config.json')
    writeFileSync(file, JSON.stringify({ ...config, control_addr: `127.0.0.1:${port}` }), { mode: 0o600 })
  }

  /** Both are admitted to a hub and register there. */
  async join(hub: string, names: readonly Name[] = ['alice', 'bob']): Promise<void> {
    await Promise.all(
      names.map(async name => {
        await this.hubCommand(hub, 'admit', this.aids[name])
        await this.ask(name, '/hub/register', { url: this.line(name, hub).url, name })
      }),
    )
  }

  #env(who: string): NodeJS.ProcessEnv {
    const home = join(this.folder, `home-${who}`)
    mkdirSync(home, { recursive: true })
    const runtime = join(this.folder, `run-${who}`)
    return { PATH: process.env['PATH'], HOME: home, SVC_DATA_DIR: this.dir(who), SVC_RUNTIME_DIR: runtime }
  }

  /** Starts a process; one that a fault kills is started again without it. */
  start(who: string, more: NodeJS.ProcessEnv = {}): void {
    const isHub = who.startsWith('hub')
    const listen = `127.0.0.1:${this.#ports.get(who)}`
    const store = this.database && ['--store', this.database.url, '--files', this.dir('files')]
    const words = isHub
      ? [this.#programs.hub, 'serve', '--listen', listen, '--data-dir', this.dir(who), ...(store ?? [])]
      : [this.#programs.node, 'daemon']
    const env = isHub ? { PATH: process.env['PATH'] } : this.#env(who)
    const child = spawn(process.execPath, words, { stdio: 'ignore', env: { ...env, ...more } })
    this.#children.set(who, child)
    child.once('exit', (_, signal) => {
      if (this.#children.get(who) !== child) return
      if (signal === 'SIGKILL') this.kills += 1
      this.start(who)
    })
  }

  signal(who: string, signal: NodeJS.Signals): void {
    this.#children.get(who)?.kill(signal)
  }

  /** Ends a process in good order and leaves it so. */
  async end(who: string): Promise<void> {
    const child = this.#children.get(who)
    this.#children.delete(who)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>(done => child.once('exit', () => done()))
    child.kill('SIGTERM')
    await Promise.race([ended, pause(15_000).then(() => child.kill('SIGKILL'))])
    await ended
  }

  #command(words: string[], env: NodeJS.ProcessEnv): Promise<void> {
    return new Promise((resolve, reject) => {
      execFile(process.execPath, words, { env, timeout: COMMAND_MS }, (error, out, err) =>
        error === null ? resolve() : reject(new Error(`${words[1]}: ${err || out || error.message}`)),
      )
    })
  }

  hubCommand(hub: string, ...words: string[]): Promise<void> {
    const env = { PATH: process.env['PATH'] }
    return this.#command([this.#programs.hub, ...words, '--data-dir', this.dir(hub)], env)
  }

  nodeCommand(name: Name, ...words: string[]): Promise<void> {
    const secret = ['--passphrase-file', join(this.folder, 'passphrase')]
    return this.#command([this.#programs.node, ...words, ...secret], this.#env(name))
  }

  /** The owner of a stopped node goes on from an older copy of its directory. */
  acceptCopy(name: Name): Promise<void> {
    return this.#command([this.#programs.node, 'evidence', 'accept'], this.#env(name))
  }

  /** What a stopped node left on its machine outside of its directory is gone, as on another one. */
  forgetMachine(name: Name): void {
    for (const place of ['home', 'run'])
      rmSync(join(this.folder, `${place}-${name}`), { recursive: true, force: true })
  }

  /** The directory of a node, on a second machine beside the first. */
  async startCopy(of: Name): Promise<string> {
    const name = `${of}-copy`
    this.signal(of, 'SIGSTOP')
    cpSync(this.dir(of), this.dir(name), { recursive: true, filter: path => !path.endsWith('.sock') })
    this.signal(of, 'SIGCONT')
    rmSync(join(this.dir(name), 'lock'), { recursive: true, force: true })
    await this.#configure(name, JSON.parse(readFileSync(join(this.dir(name), 'config.json'), 'utf8')))
    this.start(name)
    return name
  }

  /** One call of a node, repeated while its process is away or refuses for the moment. */
  async ask(who: string, path: string, body: unknown = {}, method = 'POST'): Promise<Reply> {
    const end = Date.now() + PATIENCE_MS
    for (let last = 'away'; ; ) {
      try {
        const token = readFileSync(join(this.dir(who), 'control_token.txt'), 'utf8').trim()
        const response = await fetch(`http://127.0.0.1:${this.#ports.get(who)}${path}`, {
          method,
          headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
          ...(method === 'POST' && { body: JSON.stringify(body) }),
        })
        const reply = (await response.json()) as Reply
        if (response.ok) return reply
        last = JSON.stringify(reply)
        if (!PASSING.has(String(reply['reason']))) throw new Refused(`${who} ${path}: ${last}`)
      } catch (error) {
        if (error instanceof Refused || Date.now() > end) throw error
      }
      if (Date.now() > end) throw new Error(`${who} ${path}: ${last}`)
      await pause(LOOK_MS)
    }
  }

  async until(what: string, holds: () => Promise<unknown> | unknown): Promise<void> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause(LOOK_MS))
      if (await Promise.resolve(holds()).catch(() => false)) return
    throw new Error(`did not happen: ${what}`)
  }

  heal(): void {
    for (const line of this.lines.values()) line.heal()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#children.keys()].map(who => this.end(who)))
    for (const line of this.lines.values()) line.close()
    await this.database?.stop()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

class Refused extends Error {}
