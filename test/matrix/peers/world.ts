/** Hubs that list each other, with lines between them on which anything can happen, and agents at each. */
import { cpSync, existsSync, linkSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { random, type Target, TestAgent } from '../../../hub/testing/hub.ts'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import { HubSide } from './hub-side.ts'
import { insist } from './insist.ts'
import type { Correspondents, Letter } from './letters.ts'
import { PeerLine } from './line.ts'
import { faultsOfNeighbours } from './neighbours.ts'
import type { Across } from './payments.ts'
import type { Reading } from './reading.ts'
import type { Statement } from './statements.ts'

export const GRANTED = 1000
export const LIMIT = 500
const START_MS = 1_800_000_000_000
const HOUR_MS = 3_600_000
/** The step that no clock of holds takes for a jump. */
const STEP_MS = HOUR_MS / 2
/** No call to a peer lasts longer. */
const CALL_MS = 11_000
/** After a start every signing time must lie above start + 2 s. */
const PAST_START_FLOOR_MS = 3000
const WAITS_MAX = 12
const QUIET_MS_MAX = 20_000
/** Other threads have their turn as well. */
const SPINS = 20
const RESERVE = 'reserve'

export type Agents = Correspondents
export type Name = 'east' | 'west'
const names: readonly Name[] = ['east', 'west']

type Kept = { folder: string; atMs: number; agents: Agents; neighbours: Record<Name, Correspondents> }
/** Lines live as long as the process: what hubs list stays true in each world. */
const lines = { 'east west': new PeerLine(), 'west east': new PeerLine() }

/** Somebody waits for what is kept on its way. */
const isKeeping = ({ fault, waiting, travelling }: PeerLine): boolean =>
  travelling > 0 || (fault?.isKeeping === true && waiting > 0)

export class PeersWorld implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-peers-'))
  readonly timers: TestTimers
  readonly east: HubSide
  readonly west: HubSide
  readonly letters: Letter[] = []
  readonly payments: Across[] = []
  readonly readings: Reading[] = []
  readonly statements: Statement[] = []
  /** What agents had when the world began. */
  readonly had = new Map<TestAgent, number>()
  agents!: Agents
  readonly #neighbours = new Map<HubSide, Correspondents>()
  /** What a fault between hubs did to agents who need one hub alone. */
  readonly harmed: string[] = []
  readonly #saved = new Map<HubSide, () => Promise<void>>()

  private constructor(startMs: number) {
    this.timers = new TestTimers(startMs)
    this.east = new HubSide('east', join(this.folder, 'east'), this.timers)
    this.west = new HubSide('west', join(this.folder, 'west'), this.timers)
  }

  /** A world that goes on from the first one of this process. */
  static async open(): Promise<PeersWorld> {
    begun ??= begin()
    const { folder, atMs, agents, neighbours } = await begun
    const world = new PeersWorld(atMs)
    for (const name of names) {
      const target = join(world.folder, name)
      const isReserve = (path: string) => path.endsWith(RESERVE)
      cpSync(join(folder, name), target, { recursive: true, filter: path => !isReserve(path) })
      linkSync(join(folder, name, RESERVE), join(target, RESERVE))
    }
    await world.#start()
    world.agents = {
      alice: again(agents.alice, world.east.target),
      bob: again(agents.bob, world.west.target),
      capability: agents.capability,
    }
    for (const name of names) world.#neighbours.set(world[name], againAll(neighbours[name], world[name]))
    for (const { alice, bob } of [world.agents, ...world.#neighbours.values()]) {
      world.had.set(alice, GRANTED)
      world.had.set(bob, 0)
    }
    return world
  }

  /** A world in which nobody is yet. */
  static async new(): Promise<PeersWorld> {
    for (const line of Object.values(lines)) await line.open()
    const world = new PeersWorld(START_MS)
    await world.#start()
    return world
  }

  async #start(): Promise<void> {
    for (const line of Object.values(lines)) line.renew()
    await Promise.all(this.hubs.map(hub => hub.start()))
    await this.reachable(...this.hubs)
  }

  get hubs(): [HubSide, HubSide] {
    return [this.east, this.west]
  }

  other(hub: HubSide): HubSide {
    return hub === this.east ? this.west : this.east
  }

  /** The way of what a hub asks the other one. */
  line(from: HubSide): PeerLine {
    return from === this.east ? lines['east west'] : lines['west east']
  }

  async startHub(hub: HubSide): Promise<void> {
    await hub.start()
    await this.reachable(hub)
  }

  async stopHub(hub: HubSide): Promise<void> {
    this.line(this.other(hub)).target = undefined
    await hub.stop()
  }

  /** The ways to hubs that have started end where they listen now, and their first seconds are over. */
  async reachable(...hubs: HubSide[]): Promise<void> {
    for (const hub of hubs) this.line(this.other(hub)).target = hub.url
    await this.timers.skip(PAST_START_FLOOR_MS)
  }

  /** A hub lists the other one, as its operator orders it, and lets it owe something. */
  async list(hub: HubSide, credits = LIMIT): Promise<void> {
    const other = this.other(hub)
    const kel = Buffer.from(other.hub.context.identity.kelBytes).toString('base64url')
    await hub.running.order({ command: 'peers', add: { url: this.line(hub).url, kel } })
    await hub.running.order({ command: 'peers', limit: { aid: other.aid, credits } })
  }

  async unlist(hub: HubSide): Promise<void> {
    await hub.running.order({ command: 'peers', remove: this.other(hub).aid })
  }

  /** Another agent of a hub, with nothing. */
  async registered(hub: HubSide): Promise<TestAgent> {
    const agent = await registered(hub)
    this.had.set(agent, 0)
    return agent
  }

  /** An agent that lives at another hub from now on, where it has nothing yet. */
  async moved(agent: TestAgent, to: HubSide): Promise<TestAgent> {
    const moved = again(agent, to.target)
    await to.store.admit(moved.aid, true)
    const { status, json } = await moved.register()
    if (status !== 200) throw new Error(`not registered: ${JSON.stringify(json)}`)
    this.had.set(moved, 0)
    return moved
  }

  /** Backs up each hub; {@link putBack} puts it back to this moment. */
  async save(): Promise<void> {
    for (const hub of this.hubs) this.#saved.set(hub, await hub.backUp(this.folder))
  }

  async putBack(hub: HubSide): Promise<void> {
    await this.#saved.get(hub)?.()
    await this.reachable(hub)
  }

  /** Whether hubs still ask each other something, but for what a line keeps. */
  get #isAsking(): boolean {
    return this.hubs.some(hub => {
      if (!hub.isUp || isKeeping(this.line(hub))) return false
      return hub.hub.context.peers.all.some(({ aid }) => hub.hub.context.peers.contact(aid).waiting > 0)
    })
  }

  /** Until what is under way has ended, or waits for time to pass. */
  async #settle(isOpen: () => boolean): Promise<void> {
    const endMs = performance.now() + QUIET_MS_MAX
    let turns = 1
    const isKept = () => Object.values(lines).some(isKeeping)
    while ((isOpen() && !isKept()) || this.#isAsking) {
      if (performance.now() > endMs) throw new Error('the world does not come to rest')
      await (turns++ % SPINS === 0 ? pause(1) : nextTurn())
    }
  }

  /** Lets all of it come to its end; calls to a peer that keeps them are given up meanwhile. */
  async through(work: readonly Promise<unknown>[]): Promise<void> {
    let open = work.length
    const counted = work.map(one => one.catch(() => undefined).finally(() => (open -= 1)))
    for (let wait = 0; open > 0; wait++) {
      await this.#settle(() => open > 0)
      if (wait === WAITS_MAX) throw new Error('a request has no end')
      if (open > 0) await this.timers.skip(CALL_MS)
    }
    await Promise.all(counted)
  }

  /** Until the body of a letter is on its way to the other hub, whose head it has taken. */
  async untilTravelling(from: HubSide): Promise<void> {
    await this.#settle(() => this.line(from).travelling === 0)
  }

  /** Clients ask once for what they have no answer to; hubs do what is due. Bodies that travel arrive. */
  async turn(): Promise<void> {
    for (const line of Object.values(lines)) line.letBodiesGo()
    const asked = [...this.letters, ...this.payments].map(one => insist(() => one.ask()))
    if (Object.values(lines).some(({ fault }) => fault !== undefined)) await this.#askNeighbours()
    await this.through(asked)
    await this.timers.skip(20_000)
    await this.through([])
    await this.#written()
  }

  /** While somebody waits for a peer, others at the same hub do not. */
  async #askNeighbours(): Promise<void> {
    for (const [hub, both] of this.#neighbours)
      if (hub.isUp && hub.kills === 0)
        this.harmed.push(...(await insist(() => faultsOfNeighbours(both, this.had))))
  }

  /** What hubs began by themselves is on the disk. */
  async #written(): Promise<void> {
    for (let round = 0; round < 2; round++) {
      await this.#settle(() => false)
      await Promise.all(
        this.hubs
          .filter(hub => hub.isUp)
          .map(hub => hub.store.putSetting('a write', 'behind all others').catch(() => undefined)),
      )
      for (let turn = 0; turn < 4; turn++) await nextTurn()
    }
  }

  /** Time passes as on clocks that are right. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      const step = Math.min(left, STEP_MS)
      this.timers.leap(step)
      for (const hub of this.hubs) if (hub.isUp) hub.hub.credits.holds.clock.look()
    }
    await this.timers.skip(0)
    await this.#written()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const line of Object.values(lines)) line.renew()
    await Promise.all(this.hubs.map(hub => hub.stop()))
    rmSync(this.folder, { recursive: true, force: true })
  }
}

let begun: Promise<Kept> | undefined

/** Alice at one hub with some credits, bob at the other, and both hubs listed. */
async function begin(): Promise<Kept> {
  const world = await PeersWorld.new()
  const { east, west, timers } = world
  const alice = await registered(east)
  const bob = await registered(west)
  await grant(east, alice)
  for (const hub of world.hubs) await world.list(hub)
  const agents = correspondents(alice, bob)
  const neighbours = { east: await near(east), west: await near(west) }
  for (const hub of world.hubs) await world.stopHub(hub)
  for (const name of names) if (!existsSync(join(world.folder, name, RESERVE))) throw new Error('no reserve')
  process.once('exit', () => rmSync(world.folder, { recursive: true, force: true }))
  return { folder: world.folder, atMs: timers.now(), agents, neighbours }
}

async function grant(hub: HubSide, { aid }: TestAgent): Promise<void> {
  const id = Buffer.from(random(16)).toString('hex')
  await hub.running.order({ command: 'grant', aid, amount: GRANTED, reason: 'a test', id })
}

const correspondents = (alice: TestAgent, bob: TestAgent): Correspondents => ({
  alice,
  bob,
  capability: bob.capability({ usesPerDay: 100, expMs: bob.endOfDay(20) }),
})

/** Two agents of one hub. */
async function near(hub: HubSide): Promise<Correspondents> {
  const [one, other] = [await registered(hub), await registered(hub)]
  await grant(hub, one)
  return correspondents(one, other)
}

async function registered(hub: HubSide): Promise<TestAgent> {
  const agent = new TestAgent(hub.target)
  await hub.store.admit(agent.aid, true)
  const { status, json } = await agent.register()
  if (status !== 200) throw new Error(`not registered: ${JSON.stringify(json)}`)
  return agent
}

const againAll = ({ alice, bob, capability }: Correspondents, hub: HubSide): Correspondents => ({
  alice: again(alice, hub.target),
  bob: again(bob, hub.target),
  capability,
})

/** The same agent in another world. */
function again(agent: TestAgent, target: Target): TestAgent {
  const { seed, nextSeed, log, mailboxSeed, epoch, encryptionSeed, keySet, strangers } = agent
  return Object.assign(new TestAgent(target), {
    seed,
    nextSeed,
    log,
    mailboxSeed,
    epoch,
    encryptionSeed,
    keySet,
    strangers,
  })
}
