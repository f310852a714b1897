/** The parts of a node without its loops and its control interface, for tests of its rules: real store, keys and chain. */

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { seeded } from '../../protocol/testing/agents.ts'
import { systemTimers, type Timers } from '../../protocol/timers.ts'
import type { Carriers } from '../carrier/carrier.ts'
import { carriersOf } from '../carriers.ts'
import type { Context, Ground, Served } from '../context.ts'
import { openGround } from '../ground.ts'
import type { Settings } from '../home/settings.ts'
import { type MailParts, mailParts, openRelay } from '../mail/open.ts'
import { keyStateOf } from '../membership/open.ts'
import { openTopUps } from '../sealed/open.ts'
import { doubtNumbers } from '../store/interactions.ts'
import { openStore } from '../store/open.ts'
import { dueEntries, type OutboxEntry, outboxEntry } from '../store/outbox.ts'
import { noteSettled } from '../store/restores.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { say } from '../tasks/conversation.ts'
import { textMessage } from '../tasks/messages.ts'
import { type TaskParts, taskParts } from '../tasks/open.ts'
import { Post, ScriptedHub } from './scripted-hub.ts'
import { freeStore, openWarm } from './warm-stores.ts'

export const START_MS = 1_790_000_000_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

const log = pino({ level: 'silent' })
const STRANGERS = { bytes: 512 * 1024, perDay: 5 }

export type Clock = { ms: number }
export type Events = { type: string; data: Record<string, unknown> }[]

/** Opens the parts of a node on its directory; everything is closed with `undo`. */
export type Opening = (undo: AsyncDisposableStack) => Promise<Context>

export class TestNode {
  readonly dir: string
  readonly hub: ScriptedHub
  readonly clock: Clock
  readonly heard: Events = []
  readonly #open: Opening
  #ctx: Context
  #undo: AsyncDisposableStack

  constructor(
    place: { dir: string; hub: ScriptedHub; clock: Clock; open: Opening },
    ctx: Context,
    undo: AsyncDisposableStack,
  ) {
    this.dir = place.dir
    this.hub = place.hub
    this.clock = place.clock
    this.#open = place.open
    this.#ctx = ctx
    this.#undo = undo
    this.#listen()
  }

  get ctx(): Context {
    return this.#ctx
  }

  get tasks(): TaskParts {
    return taskParts(this.#ctx)
  }

  get mail(): MailParts {
    return mailParts(this.#ctx)
  }

  #listen(): void {
    this.#ctx.events.listen(({ type, data }) => this.heard.push({ type, data }))
  }

  /** Stops, changes the directory where that is asked for, and starts on it again. */
  async reopen(change: (dir: string) => void | Promise<void> = () => {}): Promise<void> {
    await this.close()
    await change(this.dir)
    this.#undo = new AsyncDisposableStack()
    this.#ctx = await this.#open(this.#undo)
    this.#listen()
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
    const id = this.tasks.delegation.delegate({ to: to.aid, task })
    return this.thread(id)
  }

  /** Says something in an interaction. */
  say(id: string, text: string): Message {
    return this.within(() => say(this.tasks.answers, this.thread(id), textMessage(text, []))).message
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
  async send(hub: ScriptedHub = this.hub): Promise<void> {
    const tried = new Set<number>()
    for (;;) {
      const next = dueEntries(this.ctx.store, this.ctx.now()).find(({ message }) => !tried.has(message))
      if (next === undefined) return
      tried.add(next.message)
      await this.mail.attempts.make(hub, next)
    }
  }

  /** A new identity key; `told`: its hub hears of it, and of the key set under it, at once. */
  async rotate({ told = true }: { told?: boolean } = {}): Promise<void> {
    const { identity, keys } = this.ctx
    identity.rotate(this.hub.identity.aid, this.clock.ms)
    keyStateOf(this.ctx).settle(this.hub)
    if (!told) return
    const keySet = keys.ensureSet(identity.log, identity.seed, STRANGERS)
    keys.confirm(keySet)
    this.hub.list(identity.log, keySet)
  }

  /** Empties the mailbox once. */
  async receive(): Promise<void> {
    await openRelay(this.ctx).drain(this.hub, 0)
  }

  /** Asks the correspondents what they hold, where that is due. */
  askNumbers(): void {
    this.mail.asked.ask()
  }

  /** Asks the hub about everything for which it is time. */
  async ask(hub: ScriptedHub = this.hub): Promise<void> {
    await this.mail.queries.askWhatIsDue(hub)
  }

  async close(): Promise<void> {
    await this.#undo.disposeAsync()
  }
}

const locked = new Set<string>()

/** No other process opens the directories of a world. */
function lockHere(dir: string): Disposable {
  if (locked.has(dir)) throw new Error(`${dir} is open`)
  locked.add(dir)
  return {
    [Symbol.dispose]() {
      locked.delete(dir)
    },
  }
}

export type Conversation = { alice: TestNode; bob: TestNode; id: string }

/** Nodes that share a hub and a clock, all of them registered there. */
export class TestWorld implements AsyncDisposable {
  readonly post: Post = new Post({ now: () => this.clock.ms })
  readonly clock: Clock = { ms: START_MS }
  /** What sets the timers of all nodes. */
  protected readonly timers: Timers = systemTimers
  /** How far the clocks of single nodes, by their names, are from that of the world. */
  readonly skews = new Map<string, number>()
  #nodes: TestNode[] = []
  readonly #dirs = new Set<string>()

  async node(name: string): Promise<TestNode> {
    const dir = mkdtempSync(join(tmpdir(), `svc-rules-${name}-`))
    return this.open(dir, `${name} of the rules`, name)
  }

  /** The data directory of a node as it is now. */
  archive(node: TestNode): string {
    const dir = mkdtempSync(join(tmpdir(), 'svc-rules-archive-'))
    cpSync(node.ctx.dir, dir, { recursive: true })
    for (const name of ['lock', 'run']) rmSync(join(dir, name), { recursive: true, force: true })
    return dir
  }

  /** The node ends, and a copy of its directory from before goes on in its place, as after a restore. */
  async restore(node: TestNode, archive: string, madeAtMs: number): Promise<TestNode> {
    this.#nodes = this.#nodes.filter(one => one !== node)
    await node.close()
    const store = openStore(archive)
    store.transaction(() => {
      doubtNumbers(store)
      noteSettled(store, madeAtMs, this.clock.ms)
    })
    store.close()
    return this.open(archive, `${this.clock.ms} after a restore`)
  }

  /** The same of a copy that nothing marks as one. */
  async swap(node: TestNode, archive: string): Promise<TestNode> {
    this.#nodes = this.#nodes.filter(one => one !== node)
    await node.close()
    return this.open(archive, `${this.clock.ms} after a swap`)
  }

  /** Opens a directory that may hold a node already. */
  async open(dir: string, seed: string, name = ''): Promise<TestNode> {
    const node = await this.openQuietly(dir, seed, name)
    const { identity, keys } = node.ctx
    if (identity.log.home === undefined) identity.rotate(node.hub.identity.aid, this.clock.ms)
    const keySet = keys.ensureSet(identity.log, identity.seed, STRANGERS)
    keys.confirm(keySet)
    node.hub.list(identity.log, keySet)
    return node
  }

  /** The same, and nobody hears of it. */
  async openQuietly(dir: string, seed: string, name: string): Promise<TestNode> {
    this.#dirs.add(dir)
    const undo = new AsyncDisposableStack()
    const random = seeded(seed)
    let hub: ScriptedHub | undefined
    const open: Opening = async undo => {
      const below = await this.#ground(name, { dir, random }, undo)
      hub ??= new ScriptedHub(this.postOf(name), below.identity.aid, () => this.clock.ms)
      below.hub.settleAt(hub)
      const topUps = openTopUps(below)
      undo.defer(() => topUps.stop())
      return { ...below, topUps, modules: noModules(below.settings), carriers: this.carriersOf(below) }
    }
    const ctx = await open(undo)
    const at = hub as unknown as ScriptedHub
    const node = new TestNode({ dir, hub: at, clock: this.clock, open }, ctx, undo)
    this.#nodes.push(node)
    return node
  }

  /** The hub at which a node begins. */
  protected postOf(_name: string): Post {
    return this.post
  }

  /** What carries the mail of a node. */
  protected carriersOf(below: Ground): Carriers {
    return carriersOf(below)
  }

  #ground(
    name: string,
    { dir, random }: { dir: string; random: (length: number) => Uint8Array },
    undo: AsyncDisposableStack,
  ): ReturnType<typeof openGround> {
    const env = { SVC_HOME: dir, SVC_RUNTIME_DIR: join(dir, 'run') }
    const now = () => this.clock.ms + (this.skews.get(name) ?? 0)
    const timings = { topUpPauseMs: DAY_MS, topUpSpreadMs: 0, paymentMs: 50, paymentPauseMs: 1 }
    const { timers } = this
    const opening = { lock: lockHere, openStore: openWarm }
    return openGround({ dir, env, now, timers, random, log, timings, ...opening }, undo)
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
    alice.within(() => alice.tasks.endings.propose(alice.thread(id)))
    await this.settle()
    bob.within(() => bob.tasks.endings.accept(bob.thread(id)))
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
    for (const dir of this.#dirs) freeStore(dir)
  }
}

/** A build without modules: what the settings name is all that is offered. */
const noModules = (settings: Settings): Served => ({
  serves: () => false,
  priceOf: what => settings.current.prices?.[what],
  offered: () => settings.current.caps,
})
