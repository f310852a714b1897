/** The parts of a node without its loops and its control interface, for tests of its rules: real store, keys and chain. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { seeded } from '../../protocol/testing/agents.ts'
import type { Context } from '../context.ts'
import { openGround } from '../ground.ts'
import { sendEntry } from '../mail/outbox.ts'
import { Relay } from '../mail/relay.ts'
import { askWhatIsDue } from '../mail/status-queries.ts'
import { TopUps } from '../mail/top-ups.ts'
import { dueEntries, type OutboxEntry, outboxEntry } from '../store/outbox.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { acceptEnd, proposeEnd, say } from '../tasks/conversation.ts'
import { delegateTask } from '../tasks/delegation.ts'
import { textMessage } from '../tasks/messages.ts'
import { Post, ScriptedHub } from './scripted-hub.ts'

export const START_MS = 1_790_000_000_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

export type Clock = { ms: number }
export type Events = { type: string; data: Record<string, unknown> }[]

export class TestNode {
  readonly ctx: Context
  readonly hub: ScriptedHub
  readonly clock: Clock
  readonly heard: Events = []
  #undo: AsyncDisposableStack

  constructor(ctx: Context, hub: ScriptedHub, clock: Clock, undo: AsyncDisposableStack) {
    this.ctx = ctx
    this.hub = hub
    this.clock = clock
    this.#undo = undo
    ctx.events.listen(({ type, data }) => this.heard.push({ type, data }))
  }

  get aid(): string {
    return this.ctx.identity.aid
  }

  /** Runs inside a transaction, as every rule does. */
  within<T>(work: () => T): T {
    return this.ctx.store.transaction(work)
  }

  /** Commits a task for another node. */
  delegate(to: TestNode, task = 'count the words'): Interaction {
    const id = delegateTask(this.ctx, { to: to.aid, task })
    return this.thread(id)
  }

  /** Says something in an interaction. */
  say(id: string, text: string): Message {
    return this.within(() => say(this.ctx, this.thread(id), textMessage(text, []))).message
  }

  thread(id: string): Interaction {
    const found = this.ctx.threads.findById(id)
    if (found === undefined) throw new Error(`no interaction ${id}`)
    return found
  }

  /** Messages of an interaction, oldest first, as they stand now. */
  messages(id: string): Message[] {
    return this.ctx.threads.messages(this.thread(id).key)
  }

  /** The entry of the newest message in the outbox. */
  entry(message?: number): OutboxEntry {
    const key =
      message ??
      this.ctx.store.get<{ key: number | null }>('SELECT max(message) AS key FROM outbox')?.key ??
      -1
    const found = outboxEntry(this.ctx.store, key)
    if (found === undefined) throw new Error('nothing is in the outbox')
    return found
  }

  /** Sends everything that is due, each message once. */
  async send(): Promise<void> {
    const tried = new Set<number>()
    for (;;) {
      const next = dueEntries(this.ctx.store, this.ctx.now()).find(({ message }) => !tried.has(message))
      if (next === undefined) return
      tried.add(next.message)
      await sendEntry(this.ctx, this.hub, next)
    }
  }

  /** Empties the mailbox once. */
  async receive(): Promise<void> {
    await new Relay(this.ctx).drain(this.hub, 0)
  }

  /** Asks the hub about everything for which it is time. */
  async ask(): Promise<void> {
    await askWhatIsDue(this.ctx, this.hub)
  }

  async close(): Promise<void> {
    await this.#undo.disposeAsync()
  }
}

export type Conversation = { alice: TestNode; bob: TestNode; id: string }

/** Nodes that share a hub and a clock, all of them registered there. */
export class TestWorld implements AsyncDisposable {
  readonly post = new Post()
  readonly clock: Clock = { ms: START_MS }
  #nodes: TestNode[] = []

  async node(name: string): Promise<TestNode> {
    const undo = new AsyncDisposableStack()
    const dir = mkdtempSync(join(tmpdir(), `svc-rules-${name}-`))
    const env = { SVC_HOME: dir, SVC_RUNTIME_DIR: join(dir, 'run') }
    const now = () => this.clock.ms
    const random = seeded(`${name} of the rules`)
    const log = pino({ level: 'silent' })
    const timings = { topUpPauseMs: DAY_MS, topUpSpreadMs: 0 }
    const below = await openGround({ dir, env, now, random, log, timings }, undo)
    const topUps = new TopUps(below)
    undo.defer(() => topUps.stop())
    const { identity, keys } = below
    const hub = new ScriptedHub(this.post, identity.aid, now)
    identity.rotate(hub.identity.aid, this.clock.ms)
    const keySet = keys.ensureSet(identity.log, identity.seed, { bytes: 512 * 1024, perDay: 5 })
    keys.confirm(keySet)
    below.hub.settleAt(hub)
    this.post.listed.set(identity.aid, { log: identity.log, keySet })
    const node = new TestNode({ ...below, topUps, modules: noModules(below) }, hub, this.clock, undo)
    this.#nodes.push(node)
    return node
  }

  /** Alice and bob, who know each other by name. */
  async pair(): Promise<{ alice: TestNode; bob: TestNode }> {
    const [alice, bob] = [await this.node('alice'), await this.node('bob')]
    alice.ctx.contacts.add(bob.aid, 'bob')
    bob.ctx.contacts.add(alice.aid, 'alice')
    return { alice, bob }
  }

  /** A task of alice's that bob took; that he answered as well; that both ended and signed off as well. */
  async conversation(upTo: 'taken' | 'answered' | 'signed' = 'answered'): Promise<Conversation> {
    const { alice, bob } = await this.pair()
    const { id } = alice.delegate(bob)
    await this.settle()
    if (upTo !== 'taken') {
      bob.say(id, 'the answer')
      await this.settle()
    }
    if (upTo === 'signed') await this.end({ alice, bob, id })
    return { alice, bob, id }
  }

  /** Alice proposes to end, bob agrees, and both sign. */
  async end({ alice, bob, id }: Conversation): Promise<void> {
    alice.within(() => proposeEnd(alice.ctx, alice.thread(id)))
    await this.settle()
    bob.within(() => acceptEnd(bob.ctx, bob.thread(id)))
    await this.settle()
  }

  /** Carries mail to and fro until nothing moves. */
  async settle(): Promise<void> {
    for (let round = 0; round < 8; round++) {
      for (const node of this.#nodes) await node.send()
      for (const node of this.#nodes) await node.receive()
    }
  }

  pass(ms: number): void {
    this.clock.ms += ms
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) await node.close()
  }
}

/** A build without modules: what the settings name is all that is offered. */
const noModules = ({ settings }: Pick<Context, 'settings'>): Context['modules'] => ({
  serves: () => false,
  priceOf: () => undefined,
  offered: () => settings.current.caps,
})
