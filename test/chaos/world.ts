/** Two hubs and three nodes as processes, with lines between them that can be cut. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundledProgram } from '../../hub/testing/bundle.ts'
import { bundledNode, freePort } from '../two-nodes/crash-world.ts'
import { Line } from './line.ts'
import { Processes, type Program, type Reply } from './processes.ts'
import { openWeather, type Weather } from './weather.ts'

export type NodeName = 'alice' | 'bob' | 'carol'
export type HubName = 'east' | 'west'
export type Who = NodeName | HubName

export const nodeNames: readonly NodeName[] = ['alice', 'bob', 'carol']
export const hubNames: readonly HubName[] = ['east', 'west']
export const GRANTED = 50_000
export const prices = { 'weather.now': 5, 'weather.broken': 7, task: 9 }

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

export class ChaosWorld extends Processes {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-chaos-'))
  readonly lines = new Map<string, Line>()
  readonly aids = new Map<NodeName, string>()
  /** Hubs by the network of their credits. */
  readonly networks = new Map<string, HubName>()
  /** Where all nodes are at home now. */
  home: HubName = 'east'
  #programs = { hub: '', node: '' }
  #weather: Weather | undefined

  line(node: NodeName, hub: HubName): Line {
    return this.lines.get(`${node} ${hub}`) as Line
  }

  aid(node: NodeName): string {
    return this.aids.get(node) as string
  }

  async open(): Promise<void> {
    this.killWithProcess()
    writeFileSync(join(this.folder, 'answer.mjs'), ANSWERER)
    writeFileSync(join(this.folder, 'passphrase'), `${PASSPHRASE}\n`)
    const [hub, node] = await Promise.all([bundledProgram(), bundledNode(this.folder)])
    this.#programs = { hub, node }
    this.#weather = await openWeather()
    for (const name of hubNames) await this.#openHub(name)
    for (const name of nodeNames) await this.#openNode(name, this.#weather)
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

  async #openHub(name: HubName): Promise<void> {
    this.ports.set(name, await freePort())
    mkdirSync(this.dir(name), { mode: 0o700 })
    writeFileSync(join(this.dir(name), 'config.json'), JSON.stringify({ limits: HUB_LIMITS }), {
      mode: 0o600,
    })
    this.start(name)
    await this.untilUp(name)
    const supported = await fetch(`http://127.0.0.1:${this.ports.get(name)}/x402/supported`)
    const { kinds } = (await supported.json()) as { kinds: { network: string }[] }
    for (const { network } of kinds) this.networks.set(network, name)
  }

  async #openNode(name: NodeName, { services }: Weather): Promise<void> {
    const port = await freePort()
    this.ports.set(name, port)
    mkdirSync(this.dir(name), { mode: 0o700 })
    const modules = { cas: {}, ...(name === 'bob' && { service: services }) }
    const config = { control_addr: `127.0.0.1:${port}`, modules, guest_messages: 10_000 }
    writeFileSync(join(this.dir(name), 'config.json'), JSON.stringify(config), { mode: 0o600 })
    for (const hub of hubNames) {
      const line = new Line(this.ports.get(hub) as number)
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

  protected programOf(who: string): Program {
    const isHub = (hubNames as readonly string[]).includes(who)
    const listen = `127.0.0.1:${this.ports.get(who)}`
    return isHub
      ? {
          words: [this.#programs.hub, 'serve', '--listen', listen, '--data-dir', this.dir(who)],
          env: { PATH: process.env['PATH'] ?? '' },
        }
      : { words: [this.#programs.node, 'daemon'], env: this.#env(who) }
  }

  hubCommand(hub: HubName, ...words: string[]): Promise<string> {
    const env = { PATH: process.env['PATH'] ?? '' }
    return this.command([this.#programs.hub, ...words, '--data-dir', this.dir(hub)], env)
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
    await this.command([this.#programs.node, 'backup', file, ...secret], this.#env(node))
    return file
  }

  async restoreNode(node: NodeName, file: string): Promise<void> {
    await this.end(node)
    rmSync(this.dir(node), { recursive: true })
    const secret = ['--passphrase-file', this.dir('passphrase')]
    await this.command([this.#programs.node, 'restore', file, '--with-settings', ...secret], this.#env(node))
    rmSync(file)
    this.start(node)
  }

  /** Its people read that a newer copy signed something since, know that it is lost, and go on from this one. */
  /** Nodes between a backup and the restore of it: a key event there would be lost with the machine. */
  readonly restoring = new Set<string>()

  async acceptNode(node: NodeName): Promise<void> {
    await this.end(node)
    await this.command([this.#programs.node, 'evidence', 'accept'], this.#env(node))
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
    this.ports.set(name, port)
    const config = { ...JSON.parse(readFileSync(path, 'utf8')), control_addr: `127.0.0.1:${port}` }
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
    this.start(name)
    return name
  }

  async close(keep: boolean): Promise<void> {
    await this.endAll()
    for (const line of this.lines.values()) line.close()
    this.#weather?.close()
    if (!keep) rmSync(this.folder, { recursive: true, force: true })
  }
}
