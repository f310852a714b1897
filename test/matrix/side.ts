/** One of the two nodes of a world, with every part that works by itself. */

import { setImmediate as immediate } from 'node:timers/promises'
import type { PaymentOperations } from '../../daemon/control/handlers.ts'
import { paymentOperations } from '../../daemon/control/operations.ts'
import type { HubClient, HubInputs } from '../../daemon/hubs/hub.ts'
import { mailParts, openRelay } from '../../daemon/mail/open.ts'
import type { Relay } from '../../daemon/mail/relay.ts'
import { choresOf } from '../../daemon/maintenance.ts'
import type { Membership } from '../../daemon/membership/membership.ts'
import { openMembership } from '../../daemon/membership/open.ts'
import {
  type CallOutcome,
  type CapabilityCall,
  type Provider,
  runProvider,
} from '../../daemon/modules/provider.ts'
import type { Payee } from '../../daemon/payments/payee.ts'
import type { Payer } from '../../daemon/payments/payer.ts'
import type { Wallet } from '../../daemon/payments/wallet.ts'
import { payeeOf, payerOf, walletOf } from '../../daemon/payments/x402.ts'
import { doubtNumbers } from '../../daemon/store/interactions.ts'
import { markRestored } from '../../daemon/store/restores.ts'
import type { AutoReply } from '../../daemon/tasks/auto-reply.ts'
import type { Calls } from '../../daemon/tasks/calls.ts'
import { openAutoReply, openCalls, openReviewUploads, taskParts } from '../../daemon/tasks/open.ts'
import type { ReviewUploads } from '../../daemon/tasks/reviews.ts'
import { HOUR_MS, type TestNode } from '../../daemon/testing/node.ts'
import type { ScriptedHub } from '../../daemon/testing/scripted-hub.ts'
import { openWarm } from '../../daemon/testing/warm-stores.ts'
import { A2a } from './a2a.ts'
import { fillFolder, type KeptFolder, keptFolder } from './folders.ts'
import type { MatrixWorld, Said } from './world.ts'

export const COUNT = 'words.count'
const MOMENT_TURNS = 8
/** When the first of all that is tried again is. */
const NEXT_AT = `SELECT min(at) AS at FROM (
  SELECT min(next_at) AS at FROM outbox UNION ALL
  SELECT min(next_at) FROM payments WHERE state NOT IN ('ended', 'refused') UNION ALL
  SELECT min(next_at) FROM reviews WHERE state = 'kept' UNION ALL
  SELECT min(next_at) FROM a2a_pushes)`
const ROUND_MS = 10 * 60_000
const COPY_SETTLED_MS = 10_000
const { signal } = new AbortController()

/** The process was ended by a test; whatever it was doing is over. */
export class Killed extends Error {
  override name = 'Killed'
}

type Running = CapabilityCall & { end(outcome?: CallOutcome): void }

/** The parts of a node that work by themselves. */
type Parts = {
  membership: Membership
  relay: Relay
  payer: Payer
  payee: Payee
  calls: Calls
  reviews: ReviewUploads
  wallet: Wallet
  autoReply: AutoReply
  a2a: A2a
}

/** One of the two nodes, whatever its process and its directory become. */
export class Side {
  readonly name: string
  readonly node: TestNode
  readonly world: MatrixWorld
  parts!: Parts
  /** Calls that its provider has begun and not ended. */
  running: Running[] = []
  /** A second machine with the directory of this identity, beside the first one. */
  readonly isCopy: boolean
  /** Whether it takes no turn any more. */
  isAway = false
  #nextRoundAt = 0
  #isDead = false
  /** How often its process was ended by a fault. */
  kills = 0

  constructor(world: MatrixWorld, name: string, node: TestNode, isCopy = false) {
    this.world = world
    this.isCopy = isCopy
    this.name = name
    this.node = node
    this.#assemble()
  }

  get aid(): string {
    return this.node.aid
  }

  get ctx() {
    return this.node.ctx
  }

  get tasks() {
    return this.node.tasks
  }

  get mail() {
    return this.node.mail
  }

  get hub(): ScriptedHub {
    return (this.ctx.hub.home ?? this.node.hub) as ScriptedHub
  }

  /** Sends everything that is due by its hub, each message once. */
  send(): Promise<void> {
    return this.node.send(this.hub)
  }

  #assemble(): void {
    const modules = this.#modules()
    // a poll of the scripted hub is held for no time at all
    const timings = { ...this.node.ctx.timings, pollSettledMs: this.isCopy ? COPY_SETTLED_MS : 0 }
    Object.assign(this.node.ctx, { modules, timings })
    const { ctx } = this.node
    const { membership } = openMembership(ctx, {} as HubInputs, this.world.doorsOf(this))
    const payee = payeeOf(ctx, membership)
    const payer = payerOf(ctx, (task, pay) => taskParts(ctx).committed.commit(task, pay), membership)
    this.parts = {
      membership,
      relay: openRelay(ctx),
      payer,
      payee,
      calls: openCalls(ctx, modules, payee),
      reviews: openReviewUploads(ctx),
      wallet: walletOf(ctx, membership),
      autoReply: openAutoReply(ctx, {}, () => []),
      a2a: new A2a({ ...ctx, modules }, payer),
    }
  }

  #modules() {
    const { settings } = this.ctx
    const counts: Provider = {
      capability: COUNT,
      summary: 'counts words',
      published: true,
      timeoutMs: HOUR_MS,
      trust: { verify: 2, auth: 2 },
      run: call =>
        new Promise(end => {
          const done = (outcome: CallOutcome = { status: 'OK', metrics: { words: 3 } }) => end(outcome)
          this.running.push({ ...call, end: done })
        }),
    }
    return {
      list: (): [] => [],
      serves: (capability: string) => capability === COUNT,
      find: (capability: string) => (capability === COUNT ? counts : undefined),
      priceOf: (what: string) => settings.current.prices?.[what],
      startsOf: () => undefined,
      offered: () => [COUNT],
      run: (by: Provider, call: CapabilityCall) => runProvider(by, call, this.ctx),
    }
  }

  /** What a person orders about payments. */
  get payments(): PaymentOperations {
    const { wallet, membership } = this.parts
    const modules = this.#modules()
    return paymentOperations(this.ctx, { modules, wallet, audit: undefined, membership })
  }

  /** Whether its clock has come to a round, or to something that is tried again. */
  get isDue(): boolean {
    const { at } = this.ctx.store.get<{ at: number | null }>(NEXT_AT) ?? { at: null }
    return Math.min(this.#nextRoundAt, at ?? this.#nextRoundAt) <= this.ctx.now()
  }

  /** Everything that its loops would do now; a process that a test has ended starts again. */
  async turn(): Promise<void> {
    if (this.isAway) return
    try {
      await this.#turn()
    } catch (error) {
      if (!(error instanceof Killed)) throw error
    }
    // it may have died in what a loop began
    if (this.#isDead) await this.restart()
  }

  async #turn(): Promise<void> {
    const { ctx, node, parts } = this
    const hub = ctx.hub.home
    const waitMs = this.#nextRoundAt - ctx.now()
    // a round comes by a timer, which a clock that ran ahead does not put off
    if (ctx.hub.oldCopy === undefined && (waitMs <= 0 || waitMs > ROUND_MS)) {
      choresOf(ctx).do()
      const isInSync = await parts.membership.keepInSync(signal)
      this.#nextRoundAt = ctx.now() + (isInSync ? ROUND_MS : 0)
      for (const previous of parts.membership.draining()) await parts.relay.drain(previous, 0).catch(noted)
    }
    if (hub !== undefined && hub.stopped === undefined && ctx.hub.unasked === undefined) {
      await this.send()
      await parts.relay.drain(hub, 0).catch(noted)
      await node.ask(this.hub)
    }
    if (ctx.hub.oldCopy === undefined) {
      await this.#lookForCalls()
      parts.a2a.look()
      for (const part of [parts.payee, parts.payer, parts.reviews, parts.a2a.pushes]) await part.look()
    }
  }

  /** A call at work ends when its provider does: it is waited for as long as what needs no clock takes. */
  async #lookForCalls(): Promise<void> {
    let isOver = false
    void this.parts.calls.look().finally(() => {
      isOver = true
    })
    for (let n = 0; n < MOMENT_TURNS && !isOver; n++) await immediate()
  }

  /** Ends the process and starts it again on its directory, as after a kill. */
  async restart(change?: (dir: string) => void): Promise<void> {
    const stopping = this.#stop()
    for (const call of this.running.splice(0)) call.end()
    await stopping
    await this.node.reopen(change)
    this.#isDead = false
    this.#nextRoundAt = 0
    this.#assemble()
    await this.begin()
  }

  /** What a start does before the loops. */
  async begin(): Promise<void> {
    const { ctx, parts } = this
    parts.membership.open()
    await parts.membership.begin()
    if (ctx.hub.unsettled !== undefined) await this.#settle()
    parts.calls.start()
    await parts.autoReply.start()
  }

  async #settle(): Promise<void> {
    const { ctx, parts } = this
    const mail = {
      watch: (hub: HubClient) => mailParts(ctx).waiting.watchForTwin(hub, signal),
      drain: (hub: HubClient) => parts.relay.drain(hub, 0),
    }
    await parts.membership.settle(mail, signal)
  }

  async #stop(): Promise<void> {
    const { calls, payee, payer, reviews, relay, autoReply, a2a } = this.parts
    await Promise.all([calls, payee, payer, reviews, relay, autoReply, a2a].map(part => part.stop()))
  }

  async stop(): Promise<void> {
    const stopping = this.#stop()
    for (const call of this.running.splice(0)) call.end()
    await stopping
  }

  /** A copy of the directory as it is now, to be put back later. */
  async backUp(): Promise<() => Promise<void>> {
    let kept: KeptFolder = []
    await this.restart(dir => {
      kept = keptFolder(dir)
    })
    return this.#putBack(kept)
  }

  /** The same while the node goes on: what is committed is in the copy. */
  backUpBeside(): () => Promise<void> {
    const kept = keptFolder(this.node.dir).filter(({ path }) => !/^run(\/|$)/.test(path))
    return this.#putBack(kept)
  }

  #putBack(kept: KeptFolder): () => Promise<void> {
    const madeAt = this.ctx.now()
    const saidBefore = this.world.said.length
    return () => {
      this.world.noteLost(this, { saidBefore, held: this.#held() })
      return this.restart(dir => {
        fillFolder(dir, kept)
        const store = openWarm(dir)
        store.transaction(() => {
          doubtNumbers(store)
          markRestored(store, madeAt)
        })
        store.close()
      })
    }
  }

  /** Messages of the other side that are here now. */
  #held(): ReadonlySet<string> {
    const has = ({ id, text }: Said) => {
      const task = this.ctx.threads.findById(id)
      const messages = task === undefined ? [] : this.ctx.threads.messages(task.key)
      return messages.some(one => one.direction === 'in' && one.text === text)
    }
    const held = this.world.said.filter(said => said.to === this && has(said))
    return new Set(held.map(({ id, text }) => `${id} ${text}`))
  }

  /** The process dies before its next commit, or right after: nothing is stored any more until it starts again. */
  killAt(place: 'before' | 'after'): void {
    const { store } = this.ctx
    const { transaction } = store
    const dead = (): never => {
      throw new Killed(`${place} a commit`)
    }
    const die = (): never => {
      this.kills += 1
      this.#isDead = true
      store.transaction = dead
      store.run = dead
      return dead()
    }
    store.transaction = (work, fault) => {
      if (place === 'after') transaction.call(store, work, fault)
      else
        transaction.call(store, () => {
          work()
          return die()
        })
      return die()
    }
  }
}

/** A loop says what failed, and tries again. */
const noted = (error: unknown): void => {
  if (error instanceof Killed) throw error
}
