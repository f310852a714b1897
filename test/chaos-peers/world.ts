/** Three hubs that list each other and nodes at each, as processes, with lines between the hubs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Order } from '../../hub/operator/order-shapes.ts'
import { type OperatorReply, orderRunningHub } from '../../hub/operator/socket.ts'
import { bundledProgram } from '../../hub/testing/bundle.ts'
import { callRoute, random, TestAgent } from '../../hub/testing/hub.ts'
import { Line } from '../chaos/line.ts'
import { Processes, type Program, type Reply } from '../chaos/processes.ts'
import { openWeather, type Weather } from '../chaos/weather.ts'
import { prices } from '../chaos/world.ts'
import { bundledNode, freePort } from '../two-nodes/crash-world.ts'
import { ChaosHub } from './hub.ts'

export const hubNames = ['east', 'north', 'west'] as const
export type HubName = (typeof hubNames)[number]
/** Nodes at each hub; the last of them has prices. */
const NODES = Math.max(2, Number(process.env['CHAOS_NODES'] ?? 2))
const stays: readonly string[] = hubNames.flatMap(hub =>
  Array.from({ length: NODES }, (_, n) => `${hub}-${n + 1}`),
)
/** One that moves between the hubs, and takes credits along. */
export const ROVER = 'rover'
export const nodeNames: readonly string[] = [...stays, ROVER]
export const sellers = stays.filter(name => name.endsWith(`-${NODES}`))
/** Tasks in words cost nothing there. */
export const freeNodes = stays.filter(name => !sellers.includes(name))

/** Where a node has credits. */
export const accountsOf = (node: string): readonly HubName[] =>
  node === ROVER ? hubNames : [node.split('-')[0] as HubName]

const GRANTED = 1_000_000
export const NODE_GRANTED = 50_000
const MAY_SPEND = { auto_max: 100, agent_max: 100, day_max: 1_000_000, payee_day_max: 1_000_000 }
const ORDER_MS = 60_000
const LOOK_MS = 100
const LIMIT = 500_000
const HUB_LIMITS = {
  probation_hours: 0,
  trial_credits: 0,
  session_quota: 1_000_000,
  sessions_per_minute: 100_000,
  stranger_per_minute: 10_000,
  sender_per_minute: 10_000,
  sender_waiting: 10_000,
  check_per_minute: 10_000,
  check_burst: 1000,
  push_per_minute: 10_000,
  push_burst: 1000,
  bucket_per_minute: 100_000,
  status_per_minute: 100_000,
  status_burst: 10_000,
  registrations_per_day: 100_000,
}

export class PeersChaos extends Processes {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-peers-chaos-'))
  readonly lines = new Map<string, Line>()
  readonly #hubs = new Map<HubName, ChaosHub>()
  readonly #aids = new Map<string, string>()
  readonly #homes = new Map<string, HubName>()
  #weather: Weather | undefined
  /** Somebody at each hub who pays and is paid without a node. */
  readonly #agents = new Map<HubName, TestAgent>()
  readonly had = new Map<TestAgent, number>()
  #programs = { hub: '', node: '' }

  hub(name: HubName): ChaosHub {
    return this.#hubs.get(name) as ChaosHub
  }

  get hubs(): ChaosHub[] {
    return hubNames.map(name => this.hub(name))
  }

  agent(name: HubName): TestAgent {
    return this.#agents.get(name) as TestAgent
  }

  aid(node: string): string {
    return this.#aids.get(node) as string
  }

  homeOf(node: string): HubName {
    return this.#homes.get(node) as HubName
  }

  line(from: HubName, to: HubName): Line {
    return this.lines.get(`${from} ${to}`) as Line
  }

  protected programOf(who: string): Program {
    const PATH = process.env['PATH'] ?? ''
    const port = this.ports.get(who)
    if ((hubNames as readonly string[]).includes(who))
      return {
        words: [this.#programs.hub, 'serve', '--listen', `127.0.0.1:${port}`, '--data-dir', this.dir(who)],
        env: { PATH },
      }
    const home = join(this.folder, `home-${who}`)
    mkdirSync(home, { recursive: true })
    const runtime = join(this.folder, `run-${who}`)
    const env = { PATH, HOME: home, SVC_DATA_DIR: this.dir(who), SVC_RUNTIME_DIR: runtime }
    return { words: [this.#programs.node, 'daemon'], env }
  }

  async open(): Promise<void> {
    this.killWithProcess()
    const [hub, node] = await Promise.all([bundledProgram(), bundledNode(this.folder)])
    this.#programs = { hub, node }
    for (const name of hubNames) await this.#openHub(name)
    for (const from of hubNames)
      for (const to of hubNames.filter(one => one !== from)) await this.#join(from, to)
    for (const name of hubNames) await this.#openAgent(name)
    this.#weather = await openWeather()
    for (const name of nodeNames) await this.#openNode(name, this.#weather)
    for (const name of sellers) await this.#sell(name)
    for (const name of nodeNames)
      for (const other of nodeNames.filter(one => one !== name))
        await this.ask(name, 'POST', '/contact/add', { aid: this.aid(other), petname: other })
  }

  /** What an operator orders, given again while the hub is away. */
  async order(hub: HubName, order: Order): Promise<OperatorReply> {
    for (const end = Date.now() + ORDER_MS; ; await pause(LOOK_MS)) {
      const reply = await orderRunningHub(this.dir(hub), order).catch(() => undefined)
      if (reply !== undefined) return reply
      if (Date.now() > end) throw new Error(`${hub} takes no order: ${order.command}`)
    }
  }

  async #openHub(name: HubName): Promise<void> {
    this.ports.set(name, await freePort())
    const directory = this.dir(name)
    mkdirSync(directory, { mode: 0o700 })
    writeFileSync(join(directory, 'config.json'), JSON.stringify({ limits: HUB_LIMITS }), { mode: 0o600 })
    this.start(name)
    await this.untilUp(name)
    const url = `http://127.0.0.1:${this.ports.get(name)}`
    const log = join(this.folder, `${name}.log`)
    this.#hubs.set(name, new ChaosHub({ name, directory, log, url }))
  }

  async #join(from: HubName, to: HubName): Promise<void> {
    const line = new Line(this.ports.get(to) as number)
    await line.open()
    this.lines.set(`${from} ${to}`, line)
    await this.list(from, to)
  }

  /** A hub lists another one, and lets it owe something. */
  async list(from: HubName, to: HubName): Promise<void> {
    const { url } = this.line(from, to)
    const kel = String((await callRoute(this.hub(to), 'hubIdentity', undefined)).json['kel'])
    await this.order(from, { command: 'peers', add: { url, kel } })
    const limit = { aid: this.hub(to).aid, credits: LIMIT }
    await this.order(from, { command: 'peers', limit })
  }

  async #openAgent(name: HubName): Promise<void> {
    const agent = new TestAgent(this.hub(name).target)
    await this.order(name, { command: 'admit', aid: agent.aid })
    const { status } = await agent.register()
    if (status !== 200) throw new Error(`not registered at ${name}`)
    const id = Buffer.from(random(16)).toString('hex')
    const given = { amount: GRANTED, reason: 'chaos', id }
    await this.order(name, { command: 'grant', aid: agent.aid, ...given })
    this.#agents.set(name, agent)
    this.had.set(agent, GRANTED)
  }

  async #openNode(name: string, { services }: Weather): Promise<void> {
    const port = await freePort()
    this.ports.set(name, port)
    mkdirSync(this.dir(name), { mode: 0o700 })
    const modules = { cas: {}, ...(sellers.includes(name) && { service: services }) }
    const config = { control_addr: `127.0.0.1:${port}`, modules, guest_messages: 10_000 }
    writeFileSync(join(this.dir(name), 'config.json'), JSON.stringify(config), { mode: 0o600 })
    this.start(name)
    const aid = String((await this.ask(name, 'GET', '/status'))['aid'])
    this.#aids.set(name, aid)
    for (const hub of accountsOf(name)) {
      await this.order(hub, { command: 'admit', aid })
      await this.register(name, hub)
      const id = Buffer.from(random(16)).toString('hex')
      await this.order(hub, { command: 'grant', aid, amount: NODE_GRANTED, reason: 'chaos', id })
    }
    await this.ask(name, 'POST', '/visibility', { visibility: 'federated' })
    await this.ask(name, 'POST', '/spend/set', MAY_SPEND)
  }

  async #sell(name: string): Promise<void> {
    for (const [capability, amount] of Object.entries(prices))
      await this.ask(name, 'POST', '/prices/set', { capability, amount })
  }

  async register(node: string, hub: HubName): Promise<Reply> {
    const reply = await this.ask(node, 'POST', '/hub/register', { url: this.hub(hub).url, name: node })
    this.#homes.set(node, hub)
    return reply
  }

  async #hubCommand(hub: HubName, ...words: string[]): Promise<string> {
    const env = { PATH: process.env['PATH'] ?? '' }
    return await this.command([this.#programs.hub, ...words, '--data-dir', this.dir(hub)], env)
  }

  /** When the copy was begun; its operator repeats the command while the hub hangs. */
  async #copy(hub: HubName, folder: string): Promise<number> {
    for (const end = Date.now() + ORDER_MS; ; await pause(LOOK_MS)) {
      const savedMs = Date.now()
      try {
        await this.#hubCommand(hub, 'backup', folder)
        return savedMs
      } catch (error) {
        if (Date.now() > end) throw error
        rmSync(folder, { recursive: true, force: true })
      }
    }
  }

  /** Copies a hub as it is now; what comes out puts it back to this moment. */
  async backUpHub(hub: HubName, n: number): Promise<() => Promise<void>> {
    const folder = this.dir(`${hub}-backup-${n}`)
    const savedMs = await this.#copy(hub, folder)
    return async () => {
      await this.end(hub)
      rmSync(this.dir(hub), { recursive: true })
      await this.#hubCommand(hub, 'restore', folder)
      rmSync(folder, { recursive: true })
      this.start(hub)
      await this.untilUp(hub)
      this.hub(hub).restores.push({ savedMs, restoredMs: Date.now() })
    }
  }

  async close(keep: boolean): Promise<void> {
    await this.endAll()
    for (const line of this.lines.values()) line.close()
    this.#weather?.close()
    if (!keep) rmSync(this.folder, { recursive: true, force: true })
  }
}
