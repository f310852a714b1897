/** A running hub: data directory, core, one listener that speaks one line, the operator's socket, and an orderly end. */

import { createServer, type Server, type ServerResponse } from 'node:http'
import { buildInfo } from '../protocol/build-info.ts'
import { present } from '../protocol/encoding/present.ts'
import { wire3Routes } from '../protocol/wire3/routes.ts'
import { bindServer } from './bind.ts'
import type { Config } from './config.ts'
import type { Alert } from './core/context.ts'
import { composeHub, type Hub } from './core/hub.ts'
import { HOUR_MS } from './core/limits.ts'
import { systemRandom } from './core/random.ts'
import { Verifier } from './core/verifier.ts'
import { type DataDirectory, openDataDirectory } from './data-dir.ts'
import { findRoute } from './http/router.ts'
import { FileLeases } from './operator/leases.ts'
import type { OperatorListener } from './operator/listener.ts'
import { listenForOperator } from './operator/socket.ts'
import { freeBytes } from './store/files.ts'
import { type App, createApp } from './v3/app.ts'

const HEADERS_TIMEOUT_MS = 10_000
const CONNECTIONS_CHECK_MS = 5000
const KEEP_ALIVE_MS = 75_000
const HEADER_BYTES_MAX = 8 * 1024
/** Requests under way get so long to finish when the hub stops. */
const FINISH_MS = 8000
const IDLE_CHECK_MS = 25

export type Log = { info: Alert; warn: Alert; error: Alert }
export type ServeOptions = {
  config: Config
  log: Log
  now?: () => number
  random?: (count: number) => Uint8Array
  /** The disk failed: the process must end and be started anew. */
  onBroken: () => void
  groupMax?: number
}

export type RunningHub = {
  hub: Hub
  aid: string
  created: boolean
  /** Address of the listener, as a URL. */
  url: string
  baseUrl: string
  /** Address of the operator's listener, where there is one. */
  operatorUrl: string | undefined
  close(): Promise<void>
}

/** Starts a hub; resolves when it answers. */
export async function startHub(options: ServeOptions): Promise<RunningHub> {
  const { config, log } = options
  const now = options.now ?? Date.now
  const random = options.random ?? systemRandom
  const watched = await openWatch(config)
  let data: DataDirectory | undefined
  try {
    data = await openDataDirectory({
      directory: config.dataDir,
      now,
      random,
      onBroken: error => {
        log.error('the store failed; no more writes', { error: error.message })
        options.onBroken()
      },
      ...present({ groupMax: options.groupMax }),
      bytesMax: config.limits.storeBytesMax,
      onGroup: watched && (group => watched.metrics.committed(group)),
    })
    return await serve(data, options, { now, random, watched })
  } catch (error) {
    await data?.close()
    await watched?.close()
    throw error
  }
}

type Surroundings = {
  now: () => number
  random: (count: number) => Uint8Array
  watched: OperatorListener | undefined
}

/** The operator's listener, whose parts are loaded only where one is wanted. */
async function openWatch(config: Config): Promise<OperatorListener | undefined> {
  if (config.operatorListen === undefined) return undefined
  const { openOperatorListener } = await import('./operator/listener.ts')
  return await openOperatorListener(config.operatorListen)
}

async function serve(
  data: DataDirectory,
  { config, log }: ServeOptions,
  { now, random, watched }: Surroundings,
): Promise<RunningHub> {
  const { identity, store, blobs, secret } = data
  const verifier = new Verifier(config.limits.verificationsMax)
  const hub = await composeHub({
    identity,
    store,
    blobs,
    secret,
    limits: config.limits,
    verifier,
    now,
    random,
    alert: log.warn,
  })
  let baseUrl = config.baseUrl ?? ''
  const app = createApp({
    hub,
    baseUrl: () => baseUrl,
    onError: (id, error) => log.error('request failed', { id, error: String(error) }),
  })
  const handle = watched === undefined ? app.handle : counted(app.handle, watched)
  const open = new OpenAnswers()
  const server = protectedServer(config, (request, response) => {
    open.add(response)
    void handle(request, response)
  })
  const url = await bindServer(server, config.listen)
  if (baseUrl === '') baseUrl = url
  const leases = new FileLeases(blobs)
  const operatorUrl = watched?.url
  const operator = await listenForOperator(config.dataDir, {
    store,
    now,
    limits: config.limits,
    changed: aid => hub.agents.forgetAccount(aid),
    leases,
    running: () => ({ url, baseUrl, operatorUrl, pid: process.pid, ...store.health() }),
  })
  if (watched !== undefined) showFigures(watched, { config, hub, app })
  const close = async (): Promise<void> => {
    if (watched !== undefined) watched.phase = 'stopping'
    operator.close()
    await leases.endAll()
    open.makeLast()
    hub.polls.endAll()
    await closeServer(server)
    app.close()
    await hub.stop()
    await verifier.close()
    await data.close()
    await watched?.close()
  }
  return { hub, aid: identity.aid, created: data.created, url, baseUrl, operatorUrl, close }
}

/** The same listener, with every answer counted under the row of its route. */
function counted(handle: App['handle'], { metrics }: OperatorListener): App['handle'] {
  return async (request, response) => {
    const startedMs = performance.now()
    const code = await handle(request, response)
    const found = findRoute(request.method ?? '', (request.url ?? '/').split('?')[0] as string)
    const row = found && wire3Routes[found.name]
    const route = row === undefined ? 'none' : `${row.method} ${row.path}`
    metrics.answered({ route, status: response.statusCode, code, ms: performance.now() - startedMs })
    return code
  }
}

function showFigures(
  watched: OperatorListener,
  { config, hub, app }: { config: Config; hub: Hub; app: App },
): void {
  const { store, now } = hub.context
  watched.trouble = () => (store.health().broken ? 'the store failed' : undefined)
  watched.phase = 'ready'
  watched.metrics.watch({
    release: buildInfo.version,
    commit: buildInfo.commit,
    now,
    bytesInFlight: app.bytesInFlight,
    heldPolls: () => hub.polls.size,
    health: () => store.health(),
    counts: () => store.counts(Math.floor(now() / HOUR_MS) * HOUR_MS - HOUR_MS),
    totals: () => store.totals(),
    freeBytes: () => freeBytes(config.dataDir),
  })
}

type Listener = Parameters<typeof createServer>[1]

function protectedServer(config: Config, listener: NonNullable<Listener>): Server {
  const server = createServer(
    {
      // Bodies are watched by their rate; a total time would cut large ones.
      requestTimeout: 0,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      requireHostHeader: true,
      noDelay: true,
    },
    listener,
  )
  server.maxConnections = config.limits.connectionsMax
  // Known to the runtime, not yet to its types.
  Object.assign(server, { dropMaxConnection: true })
  return server
}

/** Answers under way. Once the hub ends, each says that it is the last on its connection, so that clients let go. */
class OpenAnswers {
  readonly #open = new Set<ServerResponse>()
  #ending = false

  add(response: ServerResponse): void {
    if (this.#ending) response.shouldKeepAlive = false
    this.#open.add(response)
    response.once('close', () => this.#open.delete(response))
  }

  makeLast(): void {
    this.#ending = true
    for (const response of this.#open) response.shouldKeepAlive = false
  }
}

/** Stops accepting, lets requests under way finish, then ends what is left. */
function closeServer(server: Server): Promise<void> {
  return new Promise(resolve => {
    const last = setTimeout(() => server.closeAllConnections(), FINISH_MS)
    // A kept connection becomes idle only after its answer.
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
    server.close(() => {
      clearTimeout(last)
      clearInterval(idle)
      resolve()
    })
    server.closeIdleConnections()
  })
}
