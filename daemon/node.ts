/** The running node: opens the data directory, composes the parts, owns start and stop. */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import { buildInfo } from '../protocol/build-info.ts'
import { Attachments } from './attachments/attachments.ts'
import { openChain } from './chain/chain.ts'
import type { Context } from './context.ts'
import { type Handlers, operationsOf } from './control/operations.ts'
import { ControlServer } from './control/server.ts'
import { type Config, type ConfigChanges, controlPort, readConfig, writeConfig } from './home/config.ts'
import {
  announceDaemon,
  type Environment,
  homeDirectory,
  runtimeDirectory,
  withdrawDaemon,
} from './home/home.ts'
import { lockDirectory } from './home/lock.ts'
import { ensureToken } from './home/token.ts'
import { Connections } from './hubs/http.ts'
import type { HubLine } from './hubs/hub.ts'
import { PowSolver } from './hubs/pow.ts'
import { type Identity, openIdentity } from './identity/identity.ts'
import { MailboxKeys } from './identity/mailbox-keys.ts'
import { Outbox } from './mail/outbox.ts'
import { Relay } from './mail/relay.ts'
import { TopUps } from './mail/top-ups.ts'
import { type Maintenance, startMaintenance } from './maintenance.ts'
import { cardWarning } from './membership/card.ts'
import { Registration } from './membership/registration.ts'
import { Capabilities } from './peers/capabilities.ts'
import { Contacts } from './peers/contacts.ts'
import { PeerBook } from './peers/peers.ts'
import { Events } from './platform/events.ts'
import { ensureSecretDirectory } from './platform/files.ts'
import { defaultTimings, type Timings } from './platform/timings.ts'
import { counted } from './store/counters.ts'
import { openStore, type Store } from './store/open.ts'
import { Threads } from './store/threads.ts'
import { AutoReply } from './tasks/auto-reply.ts'
import { ReviewUploads } from './tasks/reviews.ts'

const PULL_WAIT_MS = 5000

export type NodeOptions = {
  dir: string
  env: Environment
  /** Name of the identity, for the pointer file. */
  name?: string | undefined
  now?: () => number
  random?: (length: number) => Uint8Array
  log?: Logger
  timings?: Partial<Timings>
  /** Called when a client asked the node to stop. */
  onShutdown?: () => void
}

export type Node = AsyncDisposable & {
  readonly aid: string
  /** `host:port` of the control interface. */
  readonly controlAddress: string
  readonly handlers: Handlers
  readonly ctx: Context
  /** Looks at once at everything that waits for its time. */
  wake(): void
  stop(): Promise<void>
}

/** Starts a node on a data directory; resolves when its control interface answers. */
export async function startNode(options: NodeOptions): Promise<Node> {
  const { dir, env } = options
  const now = options.now ?? Date.now
  const random = options.random ?? (length => new Uint8Array(randomBytes(length)))
  ensureSecretDirectory(dir)
  await using undo = new AsyncDisposableStack()
  undo.use(lockDirectory(dir))
  const identity = openIdentity(dir, { now, random })
  const log =
    options.log ??
    pino({ base: null }, pino.destination({ dest: join(dir, 'daemon.log'), mode: 0o600, sync: true }))
  const store = undo.adopt(openStore(dir), opened => opened.close())
  const node = new RunningNode({ dir, env, now, random, log, identity, store, options })
  await node.start(undo)
  node.keep(undo.move())
  return node
}

type Opened = {
  dir: string
  env: Environment
  now: () => number
  random: (length: number) => Uint8Array
  log: Logger
  identity: Identity
  store: Store
  options: NodeOptions
}

class RunningNode implements Node {
  readonly aid: string
  #opened: Opened
  #config: Config
  #undo: AsyncDisposableStack | undefined
  #lifetime = new AbortController()
  #address = ''
  #handlers: Handlers | undefined
  #ctx: Context | undefined
  #relay: Relay | undefined

  constructor(opened: Opened) {
    this.#opened = opened
    this.#config = readConfig(opened.dir)
    this.aid = opened.identity.aid
  }

  get controlAddress(): string {
    return this.#address
  }
  get handlers(): Handlers {
    return this.#handlers as Handlers
  }
  get ctx(): Context {
    return this.#ctx as Context
  }

  keep(undo: AsyncDisposableStack): void {
    this.#undo = undo
  }

  async start(undo: AsyncDisposableStack): Promise<void> {
    const { dir, env, now, random, log, identity, store, options } = this.#opened
    const chain = undo.adopt(await openChain(dir, store, identity, now), opened => opened.close())
    const keys = new MailboxKeys(dir, { now, random })
    const connections = new Connections()
    const events = new Events(now())
    let outbox: Outbox | undefined
    let registration: Registration | undefined
    let topUps: TopUps | undefined
    let reviewUploads: ReviewUploads | undefined
    let maintenance: Maintenance | undefined
    const ctx: Context = {
      dir,
      identity,
      keys,
      store,
      chain,
      contacts: new Contacts(store, now),
      peers: new PeerBook(store, now, () => registration?.home),
      capabilities: new Capabilities(store, keys, { aid: identity.aid, now, random }),
      attachments: new Attachments(store.folder, random, [dir, homeDirectory(env), runtimeDirectory(env)]),
      threads: new Threads(store, identity.aid, { now, random, onQueued: () => outbox?.wake() }),
      get topUps() {
        return topUps as TopUps
      },
      get reviewUploads() {
        return reviewUploads as ReviewUploads
      },
      timings: { ...defaultTimings, ...options.timings },
      events,
      log,
      now,
      hubNow: () => registration?.home?.timeMs ?? now(),
      random,
      oldCopy: () => registration?.oldCopy,
      config: () => this.#config,
    }
    topUps = new TopUps(ctx)
    reviewUploads = new ReviewUploads(ctx, () => registration?.home)
    this.#ctx = ctx
    store.onTaskFailed = error => log.error({ err: error }, 'after a commit')
    chain.onAppend = () => events.emit('evidence', { length: chain.length })
    ctx.attachments.clean(store)
    const relay = new Relay(
      ctx,
      () => registration?.home,
      error => {
        // Whatever the hub has become: a round finds out, and repeats until it is there again.
        if (registration?.noteContact(error) === true) maintenance?.run()
      },
    )
    registration = new Registration(
      ctx,
      { identity, connections, now, random, spoolFolder: ctx.attachments.folder },
      new PowSolver(store, now),
      () => {
        relay.wake()
        outbox?.wake()
      },
    )
    registration.settle()
    this.#relay = relay
    outbox = new Outbox(ctx, () => registration.home)
    const token = ensureToken(dir, random)
    const autoReply = new AutoReply(ctx, env, token)
    this.#handlers = operationsOf(ctx, {
      registration,
      autoReply,
      controlAddress: () => this.#address,
      version: buildInfo.version,
      warnings: () => this.#warnings(registration.lastHome),
      changeConfig: changes => this.#changeConfig(changes),
      outboxSize: () => outbox.size,
      pullMail: () => pullMail(ctx, relay, registration),
      suggestPeers: name => suggestPeers(registration, name, now()),
      wake: () => this.#wake(),
      shutdown: () => options.onShutdown?.(),
      lifetime: this.#lifetime.signal,
    })
    await this.#listen(undo, token)
    relay.start()
    undo.defer(() => relay.stop())
    outbox.start()
    undo.defer(() => outbox.stop())
    topUps.start()
    reviewUploads.start()
    undo.defer(() => ctx.reviewUploads.stop())
    undo.defer(() => ctx.topUps.stop())
    const started = undo.use(startMaintenance(ctx, registration, relay, this.#lifetime.signal))
    maintenance = started
    this.#wake = () => {
      registration.wake()
      started.run()
      relay.wake()
      outbox.wake()
      ctx.reviewUploads.wake()
    }
    await this.#startAutoReply(autoReply)
    undo.defer(() => autoReply.stop())
    // Ends the calls that are under way, so that nothing waits for a hub when the node stops.
    undo.defer(() => connections.close())
    log.info({ aid: identity.aid, address: this.#address }, 'node started')
  }

  async #listen(undo: AsyncDisposableStack, token: string): Promise<void> {
    const { dir, env, now, options } = this.#opened
    const address = this.#config.control_addr
    const control = new ControlServer({
      ctx: this.ctx,
      handlers: this.handlers,
      token,
      version: buildInfo.version,
      host: address.slice(0, address.lastIndexOf(':')),
      port: controlPort(this.#config),
    })
    this.#address = await control.listen()
    undo.defer(() => control.close())
    const runtimeDir = runtimeDirectory(env)
    announceDaemon(runtimeDir, {
      pid: process.pid,
      control_addr: this.#address,
      data_dir: dir,
      id: options.name ?? null,
      aid: this.aid,
      started_at: now(),
    })
    undo.defer(() => withdrawDaemon(runtimeDir, process.pid))
  }

  /** A backend that cannot start leaves the node running, and says so in its status. */
  async #startAutoReply(autoReply: AutoReply): Promise<void> {
    try {
      await autoReply.restart()
    } catch (error) {
      this.#autoReplyFault = (error as Error).message
      this.#opened.log.warn({ reason: this.#autoReplyFault }, 'auto-reply does not run')
    }
  }
  #autoReplyFault: string | undefined

  #warnings(hub: HubLine | undefined): string[] {
    const card = cardWarning(this.ctx, hub)
    const host = this.#config.control_addr.slice(0, this.#config.control_addr.lastIndexOf(':'))
    const open = host === '127.0.0.1' || host === 'localhost' || host === '[::1]'
    return [
      ...(open
        ? []
        : [
            `the control interface listens on ${host}: everyone who reaches it and has the token controls this node`,
          ]),
      ...(this.#autoReplyFault === undefined ? [] : [`auto-reply does not run: ${this.#autoReplyFault}`]),
      ...(counted(this.#opened.store, 'notice_differs') === 0
        ? []
        : ['the hub showed another key state for this identity than the one held here']),
      ...(this.#relay?.twinSeen === true
        ? ['this identity also runs on another machine, which came later; stop it there']
        : []),
      ...(card === undefined ? [] : [card]),
      ...(this.ctx.chain.isQuarantined
        ? ['the evidence chain is quarantined: two records of one seq were seen; no more receipts are signed']
        : []),
      ...(counted(this.#opened.store, 'numbers_ahead') === 0
        ? []
        : [
            'a correspondent says that it holds messages of this node which are not here; if these files came from a backup, restore a newer one',
          ]),
      ...(counted(this.#opened.store, 'peer_forks') === 0
        ? []
        : ['a peer showed two contradicting key histories']),
    ]
  }

  #changeConfig(changes: ConfigChanges): Config {
    this.#config = writeConfig(this.#opened.dir, { ...this.#config, ...changes })
    this.ctx.events.emit('settings')
    return this.#config
  }

  wake(): void {
    this.#wake()
  }
  #wake = () => {}

  async stop(): Promise<void> {
    this.#lifetime.abort()
    this.#wake()
    await this.#undo?.disposeAsync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** Empties the mailbox once before a listing; a hub that does not answer holds it up for a moment only. */
async function pullMail(ctx: Context, relay: Relay, registration: Registration): Promise<void> {
  const { home } = registration
  if (home === undefined || registration.state.state === 'online') return
  relay.wake()
  await ctx.events.next(event => event.type === 'hub' || event.type === 'message', PULL_WAIT_MS)
}

/** Up to five agents of the directory whose name fits, with the command that makes one a contact. */
async function suggestPeers(registration: Registration, name: string, now: number): Promise<string> {
  const hub = registration.home
  if (hub === undefined) return ''
  try {
    const { agents } = await hub.listAgents({ q: name, limit: 5 })
    const lines = agents.map(agent => {
      const days = Math.floor((now - agent.registeredAtMs) / 86_400_000)
      return `${agent.name || 'no name'} ${agent.aid} at ${hub.url}, ${days} days old: svc contact add ${agent.aid} ${name}`
    })
    return lines.length === 0
      ? '; no agent of the directory is called so'
      : `; in the directory:\n${lines.join('\n')}`
  } catch {
    return ''
  }
}
