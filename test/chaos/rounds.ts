/** Rounds of work and disturbances over one world, each compared with its history. */
import { setTimeout as pause } from 'node:timers/promises'
import { SettlementReceipt } from '../../protocol/proof/payment.ts'
import { ChaosBooks, type Redeemed, viewOf } from './books.ts'
import { faultsOf } from './checker.ts'
import { type Dice, dice } from './dice.ts'
import { draw } from './disturbances.ts'
import type { Restore, Scene, Standing, Task, View } from './history.ts'
import { kinds } from './kinds.ts'
import { Asked } from './processes.ts'
import { carryOut, PATIENCE_MS, Script } from './script.ts'
import { ChaosWorld, nodeNames } from './world.ts'

const WORK_LEAST = 2
const WORK_MOST = 4
const LOOK_MS = 100
/** A round waits so long for its work; what takes longer goes on beside the next rounds. */
const ROUND_MS = 12_000
/** Pieces of work that go on beside each other at most. */
const BESIDE_MAX = 10
const REDEEMED = 2

type Counts = Map<string, number>
const count = (counts: Counts, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)
const shown = (counts: Counts) => [...counts].map(([name, times]) => `${name} ${times}`).join(', ')

export class Rounds {
  readonly world = new ChaosWorld()
  readonly seed: number
  readonly faults: string[] = []
  readonly restores: Restore[] = []
  readonly tasks: Task[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #work: Counts = new Map()
  readonly #happened: Counts = new Map()
  readonly #books = new ChaosBooks()
  #lines: string[] = []
  #redeemed: Redeemed[] = []

  constructor(seed: number) {
    this.seed = seed
  }

  open(): Promise<void> {
    return this.world.open()
  }

  #fault(n: number, fault: string, details = ''): void {
    const line = `seed ${this.seed} round ${n} [${this.#lines.slice(-6).join('; ')}]: ${fault}`
    this.faults.push(line)
    console.log(`FAULT ${new Date().toISOString()} ${line}\n${details}`)
  }

  /** One round: work, what disturbs it, and what must hold of all that is finished. */
  async round(n: number): Promise<void> {
    const luck = dice(this.seed * 1_000_003 + n)
    const count_ = luck.between(WORK_LEAST, WORK_MOST)
    for (let i = 0; i < count_ && this.#running.size < BESIDE_MAX; i++) this.#begin(n, luck)
    if (luck.next() < 0.15) this.#track(this.#redeem(n))
    await this.#disturb(n, luck)
    const end = Date.now() + ROUND_MS
    while (this.#running.size > 0 && Date.now() < end) await pause(LOOK_MS)
    for (const ended of this.world.ended.splice(0)) this.#fault(n, ended)
    if (this.#running.size === 0) await this.#compareBooks(n)
  }

  #begin(n: number, luck: Dice): void {
    const kind = luck.pick(kinds)
    const script = new Script(this.world, this.tasks.length + 1, kind.name, kind.from, kind.to)
    this.tasks.push(script.task)
    count(this.#work, kind.name)
    const wait = luck.between(0, 1500)
    this.#track(pause(wait).then(() => this.#carryOut(n, script, kind.run)))
  }

  #track(work: Promise<void>): void {
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }

  async #carryOut(n: number, script: Script, run: (script: Script) => Promise<void>): Promise<void> {
    const { task } = script
    const why = await carryOut(script, run)
    if (why !== undefined) {
      if (why.includes('not registered here'))
        this.#fault(n, `task ${task.n} (${task.kind}) is not paid: ${why}`)
      return count(this.#work, `not paid (${why.slice(0, 40)})`)
    }
    if (task.id === '') {
      this.#fault(n, `task ${task.n} (${task.kind}) was not taken: ${task.waitedFor}`)
      return
    }
    const scene = await this.scene([task])
    for (const fault of faultsOf(scene)) this.#fault(n, fault, this.#both(scene, task))
  }

  #both(scene: Scene, { id, from, to }: Task): string {
    const restores = scene.restores.filter(one => one.restoredMs > scene.nowMs - 2 * PATIENCE_MS)
    return JSON.stringify({
      restores,
      sides: [from, to].map(who => [who, scene.views.get(who)?.get(id), scene.standing.get(who)]),
    })
  }

  async #disturb(n: number, luck: Dice): Promise<void> {
    const chosen = draw(luck)
    const found: string[] = []
    const ground = { world: this.world, n, restores: this.restores, faults: found }
    await Promise.all(
      chosen.map(async ({ name, run }, at) => {
        count(this.#happened, name)
        const own = { ...ground, dice: dice(this.seed * 7919 + n * 31 + at) }
        const who = await run(own).catch((error: unknown) => {
          found.push(`${name} could not be done: ${error instanceof Error ? error.message : String(error)}`)
          return '?'
        })
        this.#lines.push(`${n} ${name} ${who}`)
      }),
    )
    for (const fault of found) this.#fault(n, fault)
    if (chosen.some(({ name }) => name === 'hub restored')) await this.#acceptHub()
  }

  /** Its people read that the hub was put back, and go on with it. */
  async #acceptHub(): Promise<void> {
    for (const who of nodeNames)
      await this.world.ask(who, 'POST', '/audit-hub', { accept: true }).catch(() => undefined)
  }

  /** What all of these tasks look like now. */
  async scene(tasks: Task[]): Promise<Scene> {
    const views = new Map<string, Map<string, View | undefined>>()
    for (const who of nodeNames) views.set(who, new Map())
    for (const task of tasks)
      for (const who of [task.from, task.to])
        views.get(who)?.set(task.id, await viewOf(this.world, who, task.id))
    const standing = new Map<string, Standing>()
    for (const who of nodeNames)
      standing.set(who, (await this.world.ask(who, 'GET', '/status')) as unknown as Standing)
    const hubs = this.world.networks
    return { tasks, views, restores: this.restores, standing, hubs, nowMs: Date.now() }
  }

  /** One redemption; whoever gets no answer says the same again, until it is told that it was redeemed. */
  async #redeem(n: number): Promise<void> {
    const reference = `redemption ${n}`
    const startedMs = Date.now()
    count(this.#work, 'redemption')
    const { world } = this
    const redeem = async (): Promise<boolean> => {
      try {
        await world.ask('alice', 'POST', '/redeem', { amount: REDEEMED, reference }, 0)
        return true
      } catch (error) {
        if (error instanceof Asked && error.reply['reason'] === 'wrong_state') return true
        await pause(1000)
        return false
      }
    }
    for (let tries = 0; !(await redeem()); tries++)
      if (tries > 20) return this.#fault(n, `${reference} did not happen`)
    const { records } = await world.ask('alice', 'POST', '/evidence', {
      event_type: 'svc.credit.redeemed',
      limit: 1000,
    })
    type Redeemed = { payload: { reference: string; receipt: string } }
    const done = (records as Redeemed[]).filter(({ payload }) => payload.reference === reference)
    for (const { payload } of done) {
      const { network } = SettlementReceipt.decode(Buffer.from(payload.receipt, 'base64')).body
      this.#redeemed.push({ node: 'alice', network, amount: REDEEMED })
    }
    if (done.length === 0) {
      const network = String((await world.ask('alice', 'GET', '/balance'))['network'])
      this.#redeemed.push({ node: 'alice', network, amount: REDEEMED })
    }
    const isLost = this.restores.some(one => one.who === 'alice' && one.restoredMs >= startedMs)
    if (done.length !== 1 && !isLost) this.#fault(n, `${reference} stands ${done.length} times in the chain`)
  }

  /** At rest: every account is what it was and what receipts explain since. */
  async #compareBooks(n: number): Promise<void> {
    const { world, restores, tasks } = this
    const redeemed = this.#redeemed.splice(0)
    for (const fault of await this.#books.compare({ world, restores, tasks, redeemed })) this.#fault(n, fault)
    if (world.ended.length > 0) this.#fault(n, world.ended.join())
  }

  /** Waits for all that still goes on, and looks at everything that no restore has touched once more. */
  async end(): Promise<void> {
    await Promise.all(this.#running)
    const tasks = this.tasks.filter(
      task => task.isFinished && !this.restores.some(one => one.restoredMs >= task.startedMs),
    )
    for (const fault of faultsOf(await this.scene(tasks))) this.#fault(0, `at the end: ${fault}`)
    for (const who of nodeNames) {
      const standing = (await this.world.ask(who, 'GET', '/status')) as unknown as Standing
      if (standing.old_copy) this.#fault(0, `${who} takes itself for an old copy`)
    }
  }

  summary(n: number): string {
    const finished = this.tasks.filter(task => task.isFinished).length
    return `${n} rounds: ${this.tasks.length} tasks, ${finished} finished, ${this.#running.size} under way, ${this.faults.length} faults; ${shown(this.#work)}; ${shown(this.#happened)}`
  }
}
