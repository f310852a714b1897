/** A running hub: data directory, core, one listener that speaks one line, the operator's socket, and an orderly end. */

import { buildInfo } from '../protocol/build-info.ts'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { present } from '../protocol/encoding/present.ts'
import { systemNow, systemTimers, type Timers } from '../protocol/timers.ts'
import { type AdminGiven, type AdminListening, openAdminListening } from './admin-listening.ts'
import { checkAddress } from './bind.ts'
import type { Config } from './config.ts'
import { ClockWatch } from './core/clock-watch.ts'
import { lastStoredMs } from './core/clocks.ts'
import { composeHub, type Hub } from './core/hub.ts'
import { HOUR_MS } from './core/limits.ts'
import { type AdmissionMode, MODE_SETTING } from './core/membership/admission.ts'
import { systemRandom } from './core/random.ts'
import { type EpochMaker, epochsHere } from './core/supply/epochs.ts'
import { Verifier } from './core/verifier.ts'
import { type DataDirectory, mendOfFailed, type Remembered, unusable } from './data-dir.ts'
import { epochsApart } from './epochs/apart.ts'
import { freeBytes } from './files.ts'
import type { Line } from './http/line.ts'
import type { PublicServer } from './http/server.ts'
import type { Shares } from './http/shares.ts'
import type { StaticFolder } from './http/static-folder.ts'
import { openHub } from './hub-data.ts'
import { closeListening, type Listening, type ListeningParts, openListening } from './listening.ts'
import type { Log } from './log.ts'
import { noteStart } from './operator/last-start.ts'
import { FileLeases } from './operator/leases.ts'
import type { OperatorListener } from './operator/listener.ts'
import type { Order, OrderResult } from './operator/order-shapes.ts'
import { carryOut } from './operator/orders.ts'
import { listenForOperator } from './operator/socket.ts'
import { standstill } from './operator/witness-orders.ts'
import { openSite } from './pages/documents.ts'
import { builtGuestScript } from './pages/guest-page.ts'
import { SignedPeerCalls } from './peers/calls.ts'
import { type PeerList, openPeers as readPeerList } from './peers/list.ts'
import { OpenMailCalls } from './peers/open-mail-calls.ts'
import type { Place } from './places-config.ts'
import { contextOfOrders, healthOf } from './running-orders.ts'
import type { Store, StoreBroken } from './store/port.ts'
import type { Threads } from './store/threads.ts'
import { CheckpointOffers } from './witness/offer.ts'
import { wordOf } from './word-of-store.ts'

export type ServeOptions = {
  config: Config
  log: Log
  now?: () => number
  timers?: Timers
  random?: (count: number) => Uint8Array
  /** The disk failed: the process must end and be started anew. */
  onBroken: () => void
  groupMax?: number
  threads?: Threads
  /** Serves only a hub that is there already, and makes none. */
  existing?: boolean
  /** Who may register at a hub that this start makes; the operator alone lets agents in where nothing is said. */
  admission?: AdmissionMode | undefined
  /** The unit of systemd that starts it. */
  unit?: string | undefined
  /** Tokens and page of the operator's surface, where one is configured. */
  admin?: AdminGiven | undefined
  /** Checks signatures with node:crypto, also where the optional engine is installed. */
  standardEngine?: boolean
  /** What runs on the page for guests; that of this build where nothing is said. */
  guestScript?: string | undefined
}

export type RunningHub = {
  hub: Hub
  line: Line
  /** What all requests of its listener share. */
  shares: Shares
  listener: PublicServer
  offers: CheckpointOffers
  aid: string
  created: boolean
  admission: AdmissionMode
  /** Address of the listener, as a URL. */
  url: string
  baseUrl: string
  /** Address of the operator's listener, where there is one. */
  operatorUrl: string | undefined
  /** Where the operator's surface is, where there is one. */
  adminUrl?: string | undefined
  /** Its listener that speaks wire 1 alone, where there is one. */
  wire1?: { url: string; baseUrl: string } | undefined
  /** Carries out an order as if it had come through the operator's socket. */
  order(given: Order): Promise<OrderResult>
  close(): Promise<void>
}

/** Starts a hub; resolves when it answers. */
export async function startHub(options: ServeOptions): Promise<RunningHub> {
  const { config, log } = options
  const now = options.now ?? systemNow
  const timers = options.timers ?? systemTimers
  const random = options.random ?? systemRandom
  for (const { listen } of [config, config.wire1, config.admin].filter(place => place !== undefined))
    await checkAddress(listen)
  const site = config.docs === undefined ? undefined : openSite(config.docs)
  const watched = await openWatch(config)
  let data: DataDirectory | undefined
  let failed: StoreBroken | undefined
  let running: RunningHub
  try {
    data = await openHub(config, {
      now,
      timers,
      random,
      onBroken: error => {
        failed = error
        log.error('the store failed; no more writes', {
          path: config.dataDir,
          error: error.message,
          mend: mendOfFailed(config.dataDir),
        })
        options.onBroken()
      },
      ...wordOf(log),
      ...present({ groupMax: options.groupMax, threads: options.threads }),
      bytesMax: config.limits.storeBytesMax,
      onGroup: watched && (group => watched.metrics.committed(group)),
      onNoReserve: bytes =>
        log.warn('the disk has no room for the reserve, which lets mail be collected once it is full', {
          path: config.dataDir,
          bytes,
          mend: 'free some room on the disk of the data directory, then restart the hub',
        }),
      existing: options.existing,
      admission: options.admission,
    })
    running = await serve(data, options, { timers, random, watched, site })
  } catch (error) {
    await data?.close(true)
    await watched?.close()
    throw failed === undefined ? error : unusable(config.dataDir, failed)
  }
  if (failed === undefined) return running
  await running.close()
  throw unusable(config.dataDir, failed)
}

type Surroundings = {
  now: () => number
  timers: Timers
  random: (count: number) => Uint8Array
  watched: OperatorListener | undefined
  site: StaticFolder | undefined
}

/** The operator's listener, whose parts are loaded only where one is wanted. */
async function openWatch(config: Config): Promise<OperatorListener | undefined> {
  if (config.operatorListen === undefined) return undefined
  const { openOperatorListener } = await import('./operator/listener.ts')
  return await openOperatorListener(config.operatorListen)
}

async function serve(
  data: DataDirectory,
  { config, log, standardEngine, unit, admin: given, guestScript = builtGuestScript() }: ServeOptions,
  { timers, random, watched, site }: Omit<Surroundings, 'now'>,
): Promise<RunningHub> {
  const { identity, store, blobs, openBlobs } = data
  const verifier = verifierOf(config, log, standardEngine)
  const lastMs = await lastStoredMs(store)
  const remembered = await data.remember()
  const { memory, now } = remembered
  const outside = { now, timers, random, alert: log.warn }
  const { peers, peerList } = readPeerList(config.dataDir)
  const kept = { identity, store, blobs, openBlobs, secret: data.secret }
  const context = { ...kept, ...outside, memory, peers, verifier, limits: config.limits }
  const openPeers = config.wire1Federation && {
    ...{ calls: new OpenMailCalls(context), tells: config.wire1Federation.tells },
  }
  const hub = await composeHub(context, epochsOf(store), new SignedPeerCalls(context), openPeers)
  hub.guests.isOpen = config.guests === true
  peerList.watch(timers, log.warn)
  const offers = new CheckpointOffers(hub.checkpoints, config.checkpointWitnesses ?? [], context)
  const clock = new ClockWatch(context, lastMs, log.warn)
  const isAlone = config.wires.length === 1 && config.wire1 === undefined
  const listening = { isAlone, hub, log, about: config.about, guestScript, watched }
  const first = await openListening(config.wires, config, { ...listening, site })
  const wire1 = await openBeside(first, config.wire1, listening)
  const listeners = wire1 === undefined ? [first] : [first, wire1]
  const admin = await openAdmin(config, given, { hub, log, listeners })
  const { line, shares, listener, url, baseUrl } = first
  const leases = new FileLeases([blobs, openBlobs], context)
  const operatorUrl = watched?.url
  const addresses = { url, baseUrl, operatorUrl, besideUrl: wire1?.url, adminUrl: admin?.url }
  const here = { leases, addresses, clock, remembered }
  const operatorContext = contextOfOrders({ config, log, now, hub, peerList, ...here })
  const operator = await listenForOperator(config.dataDir, operatorContext)
  await noteStart(data.own, {
    ...present({ unit, base_url: config.baseUrl }),
    outside: config.outside ?? [],
  })
  if (watched !== undefined) showFigures(watched, { config, hub, listeners, clock, remembered })
  const around = { data, log, peerList, watched, clock, operator, leases }
  const parts = { ...around, hub, listeners, offers, admin }
  return {
    hub,
    line,
    shares,
    listener,
    offers,
    aid: identity.aid,
    created: data.created,
    admission: (await store.setting(MODE_SETTING)) === 'open' ? 'open' : 'closed',
    url,
    baseUrl,
    operatorUrl,
    adminUrl: admin?.url,
    wire1: wire1 && { url: wire1.url, baseUrl: wire1.baseUrl },
    order: given => carryOut(given, operatorContext),
    close: () => closeAll(parts),
  }
}

/** The listener that speaks wire 1 alone, if one is wanted. */
async function openBeside(
  first: Listening,
  place: Place | undefined,
  parts: Omit<ListeningParts, 'site'>,
): Promise<Listening | undefined> {
  if (place === undefined) return undefined
  try {
    return await openListening([1], place, { ...parts, site: undefined })
  } catch (error) {
    await closeListening(first)
    throw error
  }
}

/** The operator's surface, which nobody opens without a token. */
async function openAdmin(
  { admin }: Config,
  given: AdminGiven | undefined,
  { listeners, ...parts }: { hub: Hub; log: Log; listeners: readonly Listening[] },
): Promise<AdminListening | undefined> {
  if (admin === undefined) return undefined
  if (given === undefined) throw new Error('the surface of the operator needs a token')
  try {
    return await openAdminListening(admin, given, parts)
  } catch (error) {
    await Promise.all(listeners.map(closeListening))
    throw error
  }
}

type Closing = Pick<RunningHub, 'hub' | 'offers'> & {
  listeners: Listening[]
  data: DataDirectory
  log: Log
  peerList: PeerList
  watched: OperatorListener | undefined
  clock: ClockWatch
  operator: { close(): void }
  leases: FileLeases
  admin: AdminListening | undefined
}

/**
 * Ends a hub in order: nothing new comes in, what is under way gets its answer, then the store closes. A step that fails,
 * as where the store is away, keeps none of the others from being taken.
 */
async function closeAll(parts: Closing): Promise<void> {
  const { hub, watched, listeners, log } = parts
  const step = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      log.warn('a part of the hub did not end in order', { part: what, error: wordsOf(error) })
    }
  }
  if (watched !== undefined) watched.phase = 'stopping'
  parts.clock.close()
  parts.peerList.close()
  parts.operator.close()
  await step('leases', () => parts.leases.endAll())
  for (const { listener } of listeners) listener.makeLast()
  parts.admin?.makeLast()
  hub.polls.endAll()
  await step('listeners', () => Promise.all([...listeners.map(closeListening), parts.admin?.close()]))
  await step('checkpoints', () => parts.offers.stop())
  await step('hub', () => hub.stop())
  await step('verifier', () => hub.context.verifier.close())
  await step('store', () => parts.data.close())
  await step('figures', async () => watched?.close())
}

function verifierOf({ limits }: Config, log: Log, standard: boolean | undefined): Verifier {
  return new Verifier(limits.verificationsMax, present({ standard }), error =>
    log.error('the thread that checks signatures ended; the next check starts another', {
      error: error.message,
    }),
  )
}

/** Another thread makes epochs where it can read the store. */
const epochsOf = (store: Store): EpochMaker =>
  store.local === undefined ? epochsHere(store) : epochsApart(store.local.path)

type Shown = {
  config: Config
  hub: Hub
  listeners: Listening[]
  clock: ClockWatch
  remembered: Remembered
}

function showFigures(watched: OperatorListener, { config, hub, listeners, clock, remembered }: Shown): void {
  const { store, now, verifier, peers } = hub.context
  watched.trouble = async () => {
    const { broken, locked, away } = await store.health()
    if (broken) return 'the store failed'
    if (locked) return 'another program has locked the store'
    if (away) return remembered.away?.() ?? 'the database is away'
    const trouble = remembered.trouble()
    if (trouble !== undefined) return trouble
    return clock.behindMs > 0
      ? `the clock is ${clock.behindMs} ms behind; set it, or see svc-hub doctor`
      : undefined
  }
  watched.phase = 'ready'
  watched.metrics.watch({
    release: buildInfo.version,
    commit: buildInfo.commit,
    now,
    bytesInFlight: () => listeners.reduce((sum, { shares }) => sum + shares.bytesInFlight, 0),
    heldPolls: () => hub.polls.size,
    health: () => healthOf(hub),
    engine: async () => (await verifier.engine()).name,
    counts: () => store.counts(Math.floor(now() / HOUR_MS) * HOUR_MS - HOUR_MS),
    totals: () => store.totals(),
    credits: () => store.creditTotals(),
    isSupplyHalted: async () => (await standstill({ store })) !== undefined,
    clockBehindMs: () => clock.behindMs,
    peers: () => peers.all.map(({ aid }) => peers.contact(aid)),
    arePeersStopped: () =>
      Promise.all(peers.all.map(async ({ aid }) => (await store.clearing(aid)).stoppedMs !== undefined)),
    freeBytes: () => freeBytes(config.dataDir),
    database: remembered.database,
  })
}
