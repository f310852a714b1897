/** Rounds of work between three hubs and of disturbances, each compared with what was told of it. */
import { setTimeout as pause } from 'node:timers/promises'
import { networkOf } from '../../protocol/proof/payment.ts'
import { sliced } from '../../protocol/testing/slow.ts'
import { viewOf } from '../chaos/books.ts'
import { faultsOf } from '../chaos/checker.ts'
import { type Dice, dice } from '../chaos/dice.ts'
import type { Restore, Standing, Task, View } from '../chaos/history.ts'
import { carryOut, Script } from '../chaos/script.ts'
import { faults, type Scene } from '../matrix/peers/check.ts'
import { Letter } from '../matrix/peers/letters.ts'
import { Across } from '../matrix/peers/payments.ts'
import { wasPutBack } from '../matrix/peers/side.ts'
import { audit, type Found, isToldApart, reopen } from './after-restores.ts'
import { draw } from './disturbances.ts'
import { deeds, freeTasks, paidTasks, type Work } from './kinds.ts'
import { faultsOfNodes, faultsOfSum, isAcross, signedPayments, sumsOf } from './node-books.ts'
import { rove } from './roving.ts'
import { freeNodes, hubNames, nodeNames, PeersChaos, ROVER, sellers } from './world.ts'

const LOOK_MS = 300
const ROUND_MS = 15_000
const PATIENCE_MS = 180_000
const DEEDS_MOST = 6
const BESIDE_MAX = 24
/** Two hubs are not read in the same moment. */
const READS_MAX = 4
/** A hub asks by itself four minutes after a payment or a hold is over, and then again. */
const ENDS_MS = sliced(8 * 60_000, 0)
/** By then it has an answer. */
const ASKED_MS = 6 * 60_000
const MOVES = 0.25

type Counts = Map<string, number>
const count = (counts: Counts, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)
const shown = (counts: Counts) => [...counts].map(([name, times]) => `${name} ${times}`).join(', ')

export class PeerRounds {
  readonly world = new PeersChaos()
  readonly seed: number
  readonly faults: string[] = []
  readonly #restores: Restore[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #work: Counts = new Map()
  readonly #happened: Counts = new Map()
  readonly #payments: Across[] = []
  #letters: Letter[] = []
  #lines: string[] = []
  #n = 0
  #comparedMs = Date.now()
  #isRoving = false
  /** What nodes have paid across hubs, at the last rest. */
  #across = { payments: 0, credits: 0 }

  constructor(seed: number) {
    this.seed = seed
  }

  open(): Promise<void> {
    return this.world.open()
  }

  #fault(n: number, fault: string): void {
    const line = `seed ${this.seed} round ${n} [${this.#lines.slice(-6).join('; ')}]: ${fault}`
    this.faults.push(line)
    console.log(`FAULT ${new Date().toISOString()} ${line}`)
  }

  async round(n: number): Promise<void> {
    const luck = dice(this.seed * 1_000_003 + n)
    for (let some = luck.between(2, DEEDS_MOST); some > 0 && this.#running.size < BESIDE_MAX; some--)
      this.#begin(n, luck)
    for (const kinds of [freeTasks, paidTasks])
      if (this.#running.size < BESIDE_MAX) this.#beginTask(n, luck, kinds)
    if (luck.next() < MOVES && !this.#isRoving) this.#track(this.#rove(n, luck))
    await this.#disturb(n, luck)
    const end = Date.now() + ROUND_MS
    while (this.#running.size > 0 && Date.now() < end) await pause(LOOK_MS)
    for (const ended of this.world.ended.splice(0)) this.#fault(n, ended)
    if (this.#running.size === 0) await this.#compare(n)
  }

  #track(work: Promise<void>): void {
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }

  #begin(n: number, luck: Dice): void {
    const deed = luck.pick(deeds.flatMap(one => Array.from({ length: one.weight }, () => one)))
    const from = luck.pick(hubNames)
    const to = luck.pick(hubNames.filter(one => one !== from))
    count(this.#work, deed.kind)
    const one = deed.make({ world: this.world, n: ++this.#n, from, to })
    one.name = `${one.name} (${deed.kind}, ${from} to ${to})`
    if (one instanceof Letter) this.#letters.push(one)
    else this.#payments.push(one)
    this.#track(pause(luck.between(0, 2000)).then(() => this.#see(n, one, deed.kind.includes('left alone'))))
  }

  /** Asks until it is answered, or once where nobody asks again. */
  async #see(n: number, one: Letter | Across, isLeft: boolean): Promise<void> {
    const startedMs = Date.now()
    const isDone = () => (one instanceof Letter ? one.told !== undefined : one.isOver)
    for (let times = 0; !isDone(); times++) {
      if (isLeft && times > 0 && one instanceof Across) one.isForgotten = true
      // a hub that dies gives no answer
      else await one.ask().catch(() => undefined)
      const wasTouched = this.world.hubs.some(hub => wasPutBack(hub, startedMs))
      if (Date.now() - startedMs > PATIENCE_MS) {
        if (one instanceof Across) one.isForgotten = true
        if (!wasTouched) this.#fault(n, `${one.name} has no answer (${one.why})`)
        return
      }
      if (!isDone()) await pause(LOOK_MS)
    }
    if (one instanceof Across && one.refused !== undefined) count(this.#work, `refused: ${one.refused.code}`)
  }

  #beginTask(n: number, luck: Dice, kinds: readonly Work[]): void {
    const isPaid = kinds === paidTasks
    const kind = luck.pick(kinds)
    const from = luck.pick(nodeNames)
    const isElsewhere = (one: string) => one !== ROVER && one.split('-')[0] !== from.split('-')[0]
    const to = luck.pick((isPaid ? sellers : freeNodes).filter(isElsewhere))
    count(this.#work, kind.name)
    const script = new Script(this.world, ++this.#n, kind.name, from, to)
    script.isByRules = luck.next() < 0.5
    this.#track(this.#carryOut(n, script, kind.run))
  }

  async #carryOut(n: number, script: Script, run: (script: Script) => Promise<void>): Promise<void> {
    const { task } = script
    const why = await carryOut(script, run)
    if (why !== undefined) return count(this.#work, `not paid (${why.slice(0, 60)})`)
    if (task.id === '')
      return this.#fault(n, `task ${task.n} (${task.kind}) was not taken: ${task.waitedFor}`)
    for (const fault of await this.#faultsOfTask(task)) this.#fault(n, fault)
  }

  async #rove(n: number, luck: Dice): Promise<void> {
    this.#isRoving = true
    const to = luck.pick(hubNames.filter(name => name !== this.world.homeOf(ROVER)))
    count(this.#work, 'move')
    const fault = await rove(this.world, to)
    if (fault !== undefined) this.#fault(n, fault)
    this.#isRoving = false
  }

  async #faultsOfTask(task: Task): Promise<string[]> {
    const sides = [task.from, task.to]
    const views = new Map<string, Map<string, View | undefined>>()
    const standing = new Map<string, Standing>()
    for (const who of sides) {
      views.set(who, new Map([[task.id, await viewOf(this.world, who, task.id)]]))
      standing.set(who, (await this.world.ask(who, 'GET', '/status')) as unknown as Standing)
    }
    return faultsOf({
      tasks: [task],
      views,
      restores: this.#restores,
      standing,
      hubs: new Map(this.world.hubs.map(({ aid, name }) => [networkOf(aid), name])),
      nowMs: Date.now(),
    })
  }

  async #disturb(n: number, luck: Dice): Promise<void> {
    const { world } = this
    const restores = this.#restores
    await Promise.all(
      draw(luck).map(async ({ name, run }, at) => {
        count(this.#happened, name)
        const own = { world, n, restores, dice: dice(this.seed * 7919 + n * 31 + at) }
        const who = await run(own).catch((error: unknown) => {
          this.#fault(n, `${name} could not be done: ${String(error)}`)
          return '?'
        })
        this.#lines.push(`${n} ${name} ${who}`)
      }),
    )
  }

  /** At rest: mail is there once, and the books of all hubs are what payments explain. */
  async #compare(n: number): Promise<void> {
    let found: string[] = []
    for (let reads = 1; reads <= READS_MAX; reads++) {
      found = await this.#found().catch((error: unknown) => [String(error)])
      if (found.length === 0) break
      await pause(1000)
    }
    for (const fault of found) this.#fault(n, fault)
    await this.#takeMail()
    await this.#goOn(n)
  }

  async #found(): Promise<string[]> {
    const { world } = this
    const { hubs, had } = world
    const signed = await signedPayments(world)
    const crossings = signed.filter(isAcross)
    this.#across = await sumsOf(crossings)
    const scene: Scene = {
      hubs,
      had,
      letters: this.#letters,
      payments: this.#payments,
      crossings,
      readings: [],
    }
    return [
      ...(await faults(scene)),
      ...(await faultsOfNodes(world, signed)),
      ...(await faultsOfSum(world, [...this.#payments, ...crossings])),
    ]
  }

  /** What people read of hubs that were put back, and their word that it goes on. */
  async #goOn(n: number): Promise<void> {
    const sinceMs = this.#comparedMs
    this.#comparedMs = Date.now()
    const note = ({ faults, reopened, accepted }: Found): void => {
      for (const fault of faults) this.#fault(n, fault)
      for (let times = reopened; times > 0; times--) count(this.#happened, 'payments reopened')
      for (let times = accepted; times > 0; times--) count(this.#happened, 'gap accepted')
    }
    note(await reopen(this.world))
    note(await audit(this.world, { signed: await signedPayments(this.world), sinceMs }))
  }

  /** What was compared is collected, so that mailboxes do not fill up. */
  async #takeMail(): Promise<void> {
    this.#letters = []
    for (const name of hubNames) {
      const agent = this.world.agent(name)
      for (;;) {
        const polled = await agent.poll({ limit: 100 }).catch(() => undefined)
        if (polled === undefined || polled.messages.length === 0) break
        await agent.call('relayAck', { items: polled.messages.map(({ id }) => ({ id })) })
      }
    }
  }

  /** Waits for all that still goes on, and for what hubs ask by themselves. */
  async end(): Promise<void> {
    await Promise.all(this.#running)
    const end = Date.now() + ENDS_MS
    while ((await this.#open()).length > 0 && Date.now() < end) await pause(2000)
    await this.#compare(0)
    if (ENDS_MS === 0) return
    for (const fault of await this.#apart(end)) this.#fault(0, fault)
    for (const fault of await this.#open(Date.now() - ASKED_MS)) this.#fault(0, fault)
  }

  /** Payments that were over at a moment and are open at their hub, but for those that another hub has lost. */
  async #open(overMs = Number.POSITIVE_INFINITY): Promise<string[]> {
    const found: string[] = []
    for (const { name, payers, payees, transaction, startedMs, why, paid } of this.#payments) {
      const row = await payees.store.peerPayment(transaction)
      if (row === undefined || row.state === 'ended' || wasPutBack(payers, startedMs)) continue
      const { holdUntil, notAfter } = paid.authorization.body
      const endMs = holdUntil ?? notAfter
      // one that its payee knows of and its hub has lost may last for longer than the run
      if (endMs > overMs) continue
      const [over, asks] = [endMs, row.askAtMs ?? 0].map(ms => new Date(ms).toISOString())
      found.push(`${name} is ${row.state} for ever: over at ${over}, asked about at ${asks} (${why})`)
    }
    return found
  }

  /** Hubs that say different things of a debt in the end, and no restore explains it. */
  async #apart(end: number): Promise<string[]> {
    const { hubs } = this.world
    const pairs = hubs.flatMap((one, at) => hubs.slice(at + 1).map(other => ({ one, other })))
    for (;;) {
      const found: string[] = []
      for (const { one, other } of pairs) {
        const { owes } = await one.store.peerCredit(other.aid)
        const { owes: back } = await other.store.peerCredit(one.aid)
        if (owes + back !== 0 && !isToldApart(one, other))
          found.push(`${one.name} says that ${other.name} owes ${owes}, and ${other.name} says ${-back}`)
      }
      if (found.length === 0 || Date.now() > end) return found
      await pause(2000)
    }
  }

  summary(n: number): string {
    const { payments, credits } = this.#across
    return `${n} rounds: ${this.#n} pieces of work, ${this.#running.size} under way, ${this.faults.length} faults; ${payments} payments of nodes across, ${credits} credits; ${shown(this.#work)}; ${shown(this.#happened)}`
  }
}
