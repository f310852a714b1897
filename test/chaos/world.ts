/** Two hubs and three nodes as processes, with lines between them that can be cut. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bundledProgram } from '../../hub/testing/bundle.ts'
import { bundledNode, freePort } from '../two-nodes/crash-world.ts'
import { Line } from './line.ts'

export type NodeName = 'alice' | 'bob' | 'carol'
export type HubName = 'east' | 'west'
export type Who = NodeName | HubName
export type Reply = Record<string, unknown>

export const nodeNames: readonly NodeName[] = ['alice', 'bob', 'carol']
export const hubNames: readonly HubName[] = ['east', 'west']
export const GRANTED = 50_000
export const prices = { 'weather.now': 5, 'weather.broken': 7, task: 9 }

const LOOK_MS = 100
const ASK_MS = 120_000
const COMMAND_MS = 60_000
const PASSPHRASE = 'correct horse battery'

const ANSWERER = `
let prompt = ''
process.stdin.on('data', chunk => { prompt += chunk }).on('end', () => {
  console.log('answer to ' + (prompt.match(/task \\d+/g) ?? []).at(-1))
})
`

/** A hub takes as much as the rounds need, and ratings from the first minute on. */
const HUB_LIMITS = {
  probation_hours: 0,
  session_quota: 1_000_000,
  sessions_per_minute: 100_000,
  queued_per_day: 1000,
  stranger_per_minute: 10_000,
  sender_per_minute: 10_000,
  sender_waiting: 10_000,
  check_per_minute: 10_000,
  check_burst: 1000,
  push_per_minute: 10_000,
  push_burst: 1000,
  status_per_minute: 100_000,
  status_burst: 10_000,
  bucket_per_minute: 100_000,
  revoke_per_minute: 10_000,
  revoke_burst: 1000,
  registrations_per_day: 100_000,
}

/** What a node refuses for the moment, and a person tries again. */
const passing = new Set(['old_copy', 'hub_unreachable', 'hub_refused', 'internal', 'no_hub', 'no_credits'])

export class Asked extends Error {
  readonly reply: Reply
  constructor(what: string, reply: Reply) {
    super(`${what}: ${JSON.stringify(reply)}`)
    this.reply = reply
  }
}

export class ChaosWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-chaos-'))
  readonly lines = new Map<string, Line>()
  readonly aids = new Map<NodeName, string>()
  /** Hubs by the network of their credits. */
  readonly networks = new Map<string, HubName>()
  /** Where all nodes are at home now. */
  home: HubName = 'east'
  #children = new Map<string, ChildProcess>()
  #ports = new Map<string, number>()
  #paused = new Set<string>()
  #stopping = false
  #programs = { hub: '', node: '' }
  #service: Server | undefined
  /** Starts of each process that nobody ordered: it ended by itself. */
  readonly ended: string[] = []

  dir(who: string): string {
    return join(this.folder, who)
  }

  line(node: NodeName, hub: HubName): Line {
    return this.lines.get(`${node} ${hub}`) as Line
  }

  aid(node: NodeName): string {
    return this.aids.get(node) as string
  }

  async open(): Promise<void> {
    process.once('exit', () => {
      for (const child of this.#children.values()) child.kill('SIGKILL')
    })
    writeFileSync(join(this.folder, 'answer.mjs'), ANSWERER)
    writeFileSync(join(this.folder, 'passphrase'), `${PASSPHRASE}\n`)
    const [hub, node] = await Promise.all([bundledProgram(), bundledNode(this.folder)])
    this.#programs = { hub, node }
    const url = await this.#openService()
    for (const name of hubNames) await this.#openHub(name)
    for (const name of nodeNames) await this.#openNode(name, url)
    for (const name of nodeNames)
      this.aids.set(name, (await this.ask(name, 'GET', '/status'))['aid'] as string)
    for (const hubName of [...hubNames].reverse()) await this.#joinAll(hubName)
    for (const name of nodeNames)
      for (const other of nodeNames.filter(one => one !== name))
        await this.ask(name, 'POST', '/contact/add', { aid: this.aid(other), petname: other })
    await this.ask('bob', 'POST', '/autoreply/set', { backend: 'exec', poll_interval_seconds: 1 })
    await this.ask('carol', 'POST', '/prices/set', { capability: 'task', amount: prices.task })
    for (const what of ['weather.now', 'weather.broken'] as const)
      await this.ask('bob', 'POST', '/prices/set', { capability: what, amount: prices[what] })
  }

  async #openService(): Promise<string> {
    const service = createServer((request, response) => {
      const isBroken = request.url === '/broken'
      setTimeout(() => response.writeHead(isBroken ? 500 : 200).end('{"celsius":21}'), 200)
    })
    this.#service = service
    await new Promise<void>(done => service.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  }

  async #openHub(name: HubName): Promise<void> {
    this.#ports.set(name, await freePort())
    mkdirSync(this.dir(name), { mode: 0o700 })
    writeFileSync(join(this.dir(name), 'config.json'), JSON.stringify({ limits: HUB_LIMITS }), {
      mode: 0o600,
    })
    this.start(name)
    await this.untilUp(name)
    const supported = await fetch(`http://127.0.0.1:${this.#ports.get(name)}/x402/supported`)
    const { kinds } = (await supported.json()) as { kinds: { network: string }[] }
    for (const { network } of kinds) this.networks.set(network, name)
  }

  async #openNode(name: NodeName, service: string): Promise<void> {
    const port = await freePort()
    this.#ports.set(name, port)
    mkdirSync(this.dir(name), { mode: 0o700 })
    const services = [
      { id: 'weather.now', url: `${service}/weather` },
      { id: 'weather.broken', url: `${service}/broken` },
    ]
    const modules = { cas: {}, ...(name === 'bob' && { service: services }) }
    const config = { control_addr: `127.0.0.1:${port}`, modules, guest_messages: 10_000 }
    writeFileSync(join(this.dir(name), 'config.json'), JSON.stringify(config), { mode: 0o600 })
    for (const hub of hubNames) {
      const line = new Line(this.#ports.get(hub) as number)
      await line.open()
      this.lines.set(`${name} ${hub}`, line)
    }
    this.start(name)
  }

  async #joinAll(hub: HubName): Promise<void> {
    for (const name of nodeNames) {
      await this.hubCommand(hub, 'admit', this.aid(name))
      await this.register(name, hub)
      await this.hubCommand(hub, 'grant', this.aid(name), String(GRANTED), '--reason', 'chaos')
    }
  }

  async register(name: NodeName, hub: HubName): Promise<Reply> {
    return this.ask(name, 'POST', '/hub/register', { url: this.line(name, hub).url, name })
  }

  /** The environment of a node, which has a machine of its own. */
  #env(who: string): Record<string, string> {
    const home = join(this.folder, `home-${who}`)
    mkdirSync(home, { recursive: true })
    return {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      SVC_DATA_DIR: this.dir(who),
      SVC_RUNTIME_DIR: join(this.folder, `run-${who}`),
      SVC_EXEC_COMMAND: `${process.execPath} ${join(this.folder, 'answer.mjs')}`,
    }
  }

  start(who: string): void {
    const isHub = (hubNames as readonly string[]).includes(who)
    const listen = `127.0.0.1:${this.#ports.get(who)}`
    const program = isHub
      ? [this.#programs.hub, 'serve', '--listen', listen, '--data-dir', this.dir(who)]
      : [this.#programs.node, 'daemon']
    const log = openSync(join(this.folder, `${who}.log`), 'a')
    const child = spawn(process.execPath, program, {
      stdio: ['ignore', log, log],
      env: isHub ? { PATH: process.env['PATH'] ?? '' } : this.#env(who),
    })
    closeSync(log)
    this.#children.set(who, child)
    child.once('exit', (code, signal) => {
      if (this.#stopping || this.#children.get(who) !== child) return
      if (signal !== 'SIGKILL') this.ended.push(`${who} ended by itself (${code ?? signal})`)
      this.start(who)
    })
  }

  kill(who: Who): void {
    this.#children.get(who)?.kill('SIGKILL')
  }

  pause(who: Who): void {
    this.#children.get(who)?.kill('SIGSTOP')
    this.#paused.add(who)
  }

  resume(who: Who): void {
    this.#children.get(who)?.kill('SIGCONT')
    this.#paused.delete(who)
  }

  /** Ends a process in good order, and leaves it so. */
  async end(who: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#children.get(who)
    this.#children.delete(who)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>(done => child.once('exit', () => done()))
    child.kill(signal)
    await Promise.race([ended, pause(15_000).then(() => child.kill('SIGKILL'))])
    await ended
  }

  async untilUp(hub: HubName): Promise<void> {
    for (;;) {
      const isUp = await fetch(`http://127.0.0.1:${this.#ports.get(hub)}/`).then(
        () => true,
        () => false,
      )
      if (isUp) return
      await pause(LOOK_MS)
    }
  }

  /** Runs a command to its end; what it printed. */
  async #command(words: string[], env: Record<string, string>): Promise<string> {
    const child = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      timeout: COMMAND_MS,
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => {
        said += bytes.toString()
      })
    const code = await new Promise<number | null>(done => child.once('close', done))
    if (code !== 0) throw new Error(`${words.slice(1).join(' ')}: exit ${code}: ${said}`)
    return said
  }

  hubCommand(hub: HubName, ...words: string[]): Promise<string> {
    const env = { PATH: process.env['PATH'] ?? '' }
    return this.#command([this.#programs.hub, ...words, '--data-dir', this.dir(hub)], env)
  }

  async backUpHub(hub: HubName, n: number): Promise<string> {
    const folder = this.dir(`${hub}-backup-${n}`)
    await this.hubCommand(hub, 'backup', folder)
    return folder
  }

  async restoreHub(hub: HubName, backup: string): Promise<void> {
    await this.end(hub)
    rmSync(this.dir(hub), { recursive: true })
    await this.hubCommand(hub, 'restore', backup)
    rmSync(backup, { recursive: true })
    this.start(hub)
    await this.untilUp(hub)
  }

  async backUpNode(node: NodeName, n: number): Promise<string> {
    const file = this.dir(`${node}-${n}.svc`)
    const secret = ['--passphrase-file', this.dir('passphrase')]
    await this.#command([this.#programs.node, 'backup', file, ...secret], this.#env(node))
    return file
  }

  async restoreNode(node: NodeName, file: string): Promise<void> {
    await this.end(node)
    rmSync(this.dir(node), { recursive: true })
    const secret = ['--passphrase-file', this.dir('passphrase')]
    await this.#command([this.#programs.node, 'restore', file, '--with-settings', ...secret], this.#env(node))
    rmSync(file)
    this.start(node)
  }

  /** Its people read that a newer copy signed something since, know that it is lost, and go on from this one. */
  /** Nodes between a backup and the restore of it: a key event there would be lost with the machine. */
  readonly restoring = new Set<string>()

  async acceptNode(node: NodeName): Promise<void> {
    await this.end(node)
    await this.#command([this.#programs.node, 'evidence', 'accept'], this.#env(node))
    this.start(node)
  }

  /** The node goes on elsewhere: nothing is left of the machine that it was on. */
  forgetMachine(node: NodeName): void {
    rmSync(join(this.folder, `run-${node}`), { recursive: true, force: true })
    rmSync(join(this.folder, `home-${node}`), { recursive: true, force: true })
  }

  /** A directory that somebody copies to a second machine and starts there, while the first one runs. */
  async startCopy(node: NodeName): Promise<string> {
    const name = `${node}-copy`
    this.pause(node)
    for (const path of [this.dir(name), this.dir(`run-${name}`), join(this.folder, `home-${name}`)])
      rmSync(path, { recursive: true, force: true })
    cpSync(this.dir(node), this.dir(name), { recursive: true, filter: path => !path.endsWith('.sock') })
    this.resume(node)
    rmSync(join(this.dir(name), 'lock'), { recursive: true, force: true })
    const path = join(this.dir(name), 'config.json')
    const port = await freePort()
    this.#ports.set(name, port)
    const config = { ...JSON.parse(readFileSync(path, 'utf8')), control_addr: `127.0.0.1:${port}` }
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
    this.start(name)
    return name
  }

  /** One call of a node's control interface; undefined while its process is away. */
  async #askOnce(
    who: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<[boolean, Reply] | undefined> {
    try {
      const token = readFileSync(join(this.dir(who), 'control_token.txt'), 'utf8').trim()
      const response = await fetch(`http://127.0.0.1:${this.#ports.get(who)}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        signal: AbortSignal.timeout(COMMAND_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return [response.ok, (await response.json()) as Reply]
    } catch {
      return undefined
    }
  }

  /** One call, repeated while the process is away or refuses for the moment; any other refusal is thrown. */
  async ask(who: string, method: string, path: string, body?: unknown, patienceMs = ASK_MS): Promise<Reply> {
    const end = Date.now() + patienceMs
    for (;;) {
      const answer = await this.#askOnce(who, method, path, body)
      if (answer?.[0]) return answer[1]
      const refused = answer?.[1] ?? { reason: 'away' }
      const isPassing = answer === undefined || passing.has(refused['reason'] as string)
      if (!isPassing || Date.now() > end) throw new Asked(`${who} ${method} ${path}`, refused)
      await pause(LOOK_MS)
    }
  }

  async close(keep: boolean): Promise<void> {
    this.#stopping = true
    for (const who of this.#paused) this.resume(who as Who)
    await Promise.all([...this.#children.keys()].map(who => this.end(who)))
    for (const line of this.lines.values()) line.close()
    this.#service?.close()
    if (!keep) rmSync(this.folder, { recursive: true, force: true })
  }
}
