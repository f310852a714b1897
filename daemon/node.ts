/** The running node: puts the parts together from the bottom up, owns start and stop. */
import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import { module as p2p } from '#p2p'
import { module as payments } from '#x402'
import { buildInfo } from '../protocol/build-info.ts'
import type { OperationInput } from '../protocol/control/operations.ts'
import { systemNow, systemTimers, type Timers } from '../protocol/timers.ts'
import { A2aInterface } from './a2a/interface.ts'
import { A2aSettings } from './a2a/settings.ts'
import { carriersOf } from './carriers.ts'
import type { Context, Ground } from './context.ts'
import { ControlAddress } from './control/address.ts'
import { AttachmentLinks } from './control/attachments.ts'
import { builtPage, type ConsoleParts } from './control/console.ts'
import { FreshHosts } from './control/fresh-hosts.ts'
import type { Handlers, TaskOperations } from './control/handlers.ts'
import { callsOf } from './control/invoke.ts'
import { openedTasks, operationsOf } from './control/operations.ts'
import { PageSessions } from './control/page-sessions.ts'
import { ControlServer } from './control/server.ts'
import { Tickets } from './control/tickets.ts'
import { type GroundOptions, openGround } from './ground.ts'
import { controlHost, controlPort } from './home/config.ts'
import {
  announceDaemon,
  type Environment,
  freeControlPort,
  isGivenAddress,
  runtimeDirectories,
  withdrawDaemon,
} from './home/home.ts'
import { controlSocket } from './home/socket.ts'
import { markStopped } from './home/stopped.ts'
import { ensureToken } from './home/token.ts'
import { BoardOrders } from './hubs/board-orders.ts'
import { Connections } from './hubs/http.ts'
import type { HubClient, HubInputs } from './hubs/hub.ts'
import { Publication } from './hubs/publication.ts'
import { spelledSeeds } from './identity/spelled-seeds.ts'
import { mailParts, openOutbox, openRelay, takerOf } from './mail/open.ts'
import type { Relay } from './mail/relay.ts'
import { startMaintenance } from './maintenance.ts'
import type { Membership } from './membership/membership.ts'
import { openMembership } from './membership/open.ts'
import { Modules } from './modules/modules.ts'
import { ensureSecretDirectory } from './platform/files.ts'
import { LogFile } from './platform/log-file.ts'
import type { Machine } from './platform/machine.ts'
import { systemRandom } from './platform/random.ts'
import type { Timings } from './platform/timings.ts'
import type { Wakers } from './platform/waker.ts'
import { watchFile } from './platform/watched-file.ts'
import { openTopUps } from './sealed/open.ts'
import { hubRow } from './store/hubs.ts'
import { storePath } from './store/open.ts'
import { openAutoReply, openCalls, openReviewUploads, taskParts } from './tasks/open.ts'
import { startVoucherGate } from './vouchers/open.ts'

export type NodeOptions = {
  dir: string
  env: Environment
  /** Name of the identity, for the pointer file. */
  name?: string | undefined
  now?: () => number
  timers?: Timers
  random?: (length: number) => Uint8Array
  log?: Logger
  timings?: Partial<Timings>
  /** Nobody was told the control port yet: where somebody takes it first, the one that is got is kept instead. */
  isPortNew?: boolean
  /** The page of the console, where it is not the built one. */
  consolePage?: () => string | undefined
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
  await using undo = new AsyncDisposableStack()
  const node = await assemble(groundOptions(options), options, undo)
  const opened = undo.move()
  const stop = () => opened.disposeAsync()
  return { ...node, stop, [Symbol.asyncDispose]: stop }
}

function groundOptions(options: NodeOptions): GroundOptions {
  const { dir, env, now = systemNow, log, timings = {} } = options
  ensureSecretDirectory(dir)
  return {
    dir,
    env,
    now,
    timers: options.timers ?? systemTimers,
    random: options.random ?? systemRandom,
    log: log ?? pino({ base: null }, new LogFile(join(dir, 'daemon.log'), now)),
    timings,
  }
}

/** What pays and is paid, in a build that does. */
const paymentsOf = (ctx: Context, membership: Membership) => {
  const { committed } = taskParts(ctx)
  return {
    payee: payments?.payeeOf(ctx, membership),
    audit: payments?.auditOf(ctx, membership),
    payer: payments?.payerOf(ctx, (task, pay) => committed.commit(task, pay), membership),
    wallet: payments?.walletOf(ctx, membership),
  }
}

/** What the rooms above the line share beside the ground. */
function aboveTheLine(below: Ground, publication: Publication) {
  const config = below.settings.current.modules ?? {}
  const modules = new Modules(below.settings, { ...below, config, publication })
  const topUps = openTopUps(below)
  const ctx: Context = { ...below, topUps, modules, carriers: carriersOf(below) }
  return { ctx, topUps, modules, served: { modules, direct: p2p?.takingOf(ctx, takerOf(ctx)) } }
}

type Assembled = Omit<Node, 'stop' | typeof Symbol.asyncDispose>

/** With the clock of the machine: that of the node asks the hub. */
const hubInputs = (
  { identity, now, timers, random, attachments, transfers, store, wakers, hub }: Ground,
  connections: Connections,
  publication: Publication,
): HubInputs => {
  const refusing = new Set<string>()
  const isUntold = () =>
    [...refusing].some(url => {
      const row = hubRow(store, url)
      return row !== undefined && row.registeredSeq !== identity.log.seq
    })
  return {
    identity,
    connections,
    now,
    timers,
    random,
    spoolFolder: attachments.folder,
    publication,
    orders: new BoardOrders(store, now),
    receiving: bytes => transfers.receiving(bytes),
    keyRetired(url) {
      hub.retiredAt.add(url)
      wakers.rounds.wake()
    },
    keyRefused(url) {
      refusing.add(url)
      wakers.rounds.wake(isUntold)
    },
  }
}

async function assemble(
  ground: GroundOptions,
  options: NodeOptions,
  undo: AsyncDisposableStack,
): Promise<Assembled> {
  const lifetime = undo.adopt(new AbortController(), one => one.abort())
  const below = await openGround({ ...ground, ending: lifetime.signal }, undo)
  const { identity, timers, random, wakers, log } = below
  const { now } = ground
  undo.use(watchStore(below.dir, below, () => options.onShutdown?.()))
  const publication = new Publication()
  const { ctx, topUps, modules, served } = aboveTheLine(below, publication)
  const connections = new Connections()
  const inputs = hubInputs({ ...below, now }, connections, publication)
  const { membership, sync } = openMembership(ctx, inputs)
  membership.open()
  const relay = openRelay(ctx)
  const outbox = openOutbox(ctx)
  const reviews = openReviewUploads(ctx)
  const token = ensureToken(ctx.dir, random)
  const a2aSettings = new A2aSettings(ctx.dir, ctx.settings, random)
  declareSecrets(publication, ctx, { token, a2aSettings })
  const { payee, ...paying } = paymentsOf(ctx, membership)
  const autoReply = openAutoReply(ctx, options.env, () => [token, ...a2aSettings.secrets])
  const control = new ControlAddress()
  const opening = { control, tickets: new Tickets(now, random), hosts: new FreshHosts(now, random) }
  const wake = () => wakeAll(wakers)
  const links = new AttachmentLinks({ ...ctx, token, now })
  const tasks = openedTasks(ctx, { links, reviews, payer: paying.payer })
  const a2a = openedA2a(ctx, modules, a2aSettings, tasks)
  const handlers: Handlers = operationsOf(ctx, {
    membership,
    sync,
    autoReply,
    tasks,
    ...opening,
    publication,
    ...served,
    ...paying,
    a2a,
    version: buildInfo.version,
    wake,
    shutdown: () => stopFor(ctx.dir, options),
    lifetime: lifetime.signal,
  })
  const page = options.consolePage ?? builtPage
  const pages = new PageSessions(token, random, () => ({ now: now(), up: timers.monotonic() }))
  const parts = { settings: ctx.settings, random, pages, ...opening, build: buildInfo.build, page }
  const listening = { handlers, links, control, token, console: parts, name: options.name, env: options.env }
  await listen(ctx, { ...listening, isPortNew: options.isPortNew === true }, undo)
  await membership.begin()
  const working = undo.use(new AsyncDisposableStack())
  const startAll = starting(working, lifetime.signal)
  const talk = (): void => startAll([relay, outbox, topUps, reviews, payee, paying.payer, paying.audit])
  const work = async (): Promise<void> => {
    if (lifetime.signal.aborted) return
    startAll([openCalls(ctx, modules, payee)])
    working.use(await startVoucherGate(ctx, modules))
    working.use(startMaintenance(ctx, membership, relay))
    await autoReply.start()
    working.defer(() => autoReply.stop())
    await working.use(a2a).start()
  }
  await beginWork(ctx, { membership, relay, signal: lifetime.signal, talk, work }, undo)
  // Ends the calls that are under way, so that nothing waits for a hub when the node stops.
  undo.defer(() => connections.close())
  undo.defer(() => lifetime.abort())
  log.info({ aid: identity.aid, address: control.bound }, 'node started')
  return { aid: identity.aid, controlAddress: control.bound, handlers, ctx, wake }
}

type Beginning = {
  membership: Membership
  relay: Relay
  signal: AbortSignal
  /** Starts what talks to the hub. */
  talk: () => void
  /** Starts everything else. */
  work: () => Promise<void>
}

/** What talks to the hub waits for its word that no newer copy is there; where one may be, everything does. */
async function beginWork(
  ctx: Context,
  { membership, relay, signal, talk, work }: Beginning,
  undo: AsyncDisposableStack,
): Promise<void> {
  const { unsettled, unasked } = ctx.hub
  const waitingMail = {
    watch: (hub: HubClient) => mailParts(ctx).waiting.watchForTwin(hub, signal),
    drain: (hub: HubClient) => relay.drain(hub, 0),
  }
  if (unsettled !== undefined) {
    const isMine = unasked === undefined ? membership.settle(waitingMail, signal) : membership.asked(signal)
    const begun = isMine.then(talk).then(work)
    undo.defer(() => begun)
    return
  }
  if (unasked === undefined) talk()
  else {
    const begun = membership.asked(signal).then(talk)
    undo.defer(() => begun)
  }
  await work()
}

/** A person ends the node, whatever session it was opened for. */
function stopFor(dir: string, { onShutdown }: Pick<NodeOptions, 'onShutdown'>): void {
  markStopped(dir)
  onShutdown?.()
}

/** Ends the node where its store was taken from under it, before it says more that would be forgotten. */
const watchStore = (dir: string, { timers, log }: Machine, end: () => void): Disposable =>
  watchFile(storePath(dir), timers, () => {
    log.error({ path: storePath(dir) }, 'the store was removed or replaced while the node ran: the node ends')
    end()
  })

/** The A2A interface, which calls the operations on tasks as other clients of the node do. */
function openedA2a(
  ctx: Context,
  modules: Modules,
  settings: A2aSettings,
  handlers: TaskOperations,
): A2aInterface {
  const call = callsOf({ handlers, ctx })
  const operations = {
    delegate: (given: OperationInput<'delegate'>) => call('delegate', given),
    message: (given: OperationInput<'message'>) => call('message', given),
    end: (given: OperationInput<'end'>) => call('end', given),
    cancel: (given: OperationInput<'cancel'>) => call('cancel', given),
  }
  const isPaidHere = payments !== undefined
  // most nodes never load it
  return new A2aInterface(settings, ctx, async () => {
    const { Works } = await import('./a2a/works.ts')
    return new Works(ctx, { settings, modules, operations, isPaidHere })
  })
}

/** What of the node itself must stand in nothing that is published; modules declare what they hold. */
function declareSecrets(
  publication: Publication,
  { identity, settings }: Context,
  { token, a2aSettings }: { token: string; a2aSettings: A2aSettings },
): void {
  const spelled = spelledSeeds(identity)
  publication.declare('the control token', () => [token])
  publication.declare('the A2A token', () => a2aSettings.secrets)
  publication.declare('the key of a model server', () => [settings.current.auto_reply?.api_key ?? ''])
  publication.declare('a recovery phrase', () => spelled().phrases)
  publication.declare('a private key', () => spelled().keys)
}

type Part = { start(): void; stop(): void | Promise<void> }

function startPart(undo: AsyncDisposableStack, part: Part): void {
  part.start()
  undo.defer(() => part.stop())
}

/** Starts parts, in their order, unless the node ends already. */
const starting =
  (undo: AsyncDisposableStack, ending: AbortSignal) => (parts: readonly (Part | undefined)[]) => {
    if (ending.aborted) return
    for (const part of parts) if (part !== undefined) startPart(undo, part)
  }

function wakeAll(wakers: Wakers): void {
  for (const waker of Object.values(wakers)) waker.wake()
}

type Listening = {
  handlers: Handlers
  links: AttachmentLinks
  token: string
  console: ConsoleParts
  control: ControlAddress
  name: string | undefined
  env: Environment
  isPortNew: boolean
}

/** Opens the control interface and tells the clients of this user where it is. */
async function listen(ctx: Context, listening: Listening, undo: AsyncDisposableStack): Promise<void> {
  const { handlers, control, name, env } = listening
  const config = ctx.settings.current
  const [host, port] = [controlHost(config), controlPort(config)]
  const server = new ControlServer({
    machine: ctx,
    events: ctx.events,
    uploads: ctx.attachments.uploads,
    links: listening.links,
    handlers,
    token: listening.token,
    console: listening.console,
    host,
    port,
    hosts: config.console_hosts ?? [],
    otherPort: isGivenAddress(host, port) ? async () => freeControlPort(new Set()) : undefined,
    socket: controlSocket(env, ctx.dir),
  })
  control.bound = await server.listen()
  const isElsewhere = port !== 0 && control.bound !== config.control_addr
  if (isElsewhere && listening.isPortNew) ctx.settings.change({ control_addr: control.bound })
  else if (isElsewhere) {
    control.missed = config.control_addr
    ctx.log.warn({ wanted: control.missed, address: control.bound }, 'the control address is in use')
  }
  undo.defer(() => server.close())
  const entry = {
    pid: process.pid,
    control_addr: control.bound,
    data_dir: ctx.dir,
    id: name ?? null,
    aid: ctx.identity.aid,
    started_at: ctx.now(),
  }
  const announce = () => {
    entry.aid = ctx.identity.aid
    for (const folder of runtimeDirectories(env)) announceDaemon(folder, entry)
  }
  // an identity that no hub has seen may be made anew while its node runs
  undo.defer(ctx.events.listen(() => ctx.identity.aid !== entry.aid && announce()))
  for (const folder of runtimeDirectories(env)) {
    announceDaemon(folder, entry)
    undo.defer(() => withdrawDaemon(folder, process.pid))
  }
}
