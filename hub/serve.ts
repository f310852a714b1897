/** A running hub: data directory, core, one listener that speaks one line, the operator's socket, and an orderly end. */

import { createServer, type Server } from 'node:http'
import type { Config } from './config.ts'
import type { Alert } from './core/context.ts'
import { composeHub, type Hub } from './core/hub.ts'
import { systemRandom } from './core/random.ts'
import { Verifier } from './core/verifier.ts'
import { openDataDirectory } from './data-dir.ts'
import { listenForOperator } from './operator-socket.ts'
import { createApp } from './v3/app.ts'

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
  close(): Promise<void>
}

/** Starts a hub; resolves when it answers. */
export async function startHub(options: ServeOptions): Promise<RunningHub> {
  const { config, log } = options
  const now = options.now ?? Date.now
  const random = options.random ?? systemRandom
  const data = await openDataDirectory({
    directory: config.dataDir,
    now,
    random,
    onBroken: error => {
      log.error('the store failed; no more writes', { error: error.message })
      options.onBroken()
    },
    ...(options.groupMax === undefined ? {} : { groupMax: options.groupMax }),
    bytesMax: config.limits.storeBytesMax,
  })
  try {
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
    const server = protectedServer(config, (request, response) => void app.handle(request, response))
    const url = await listen(server, config)
    if (baseUrl === '') baseUrl = url
    const operator = await listenForOperator(config.dataDir, {
      store,
      now,
      limits: config.limits,
      changed: aid => hub.agents.forgetAccount(aid),
    })
    const close = async (): Promise<void> => {
      operator.close()
      hub.polls.endAll()
      await closeServer(server)
      app.close()
      await hub.stop()
      await verifier.close()
      await data.close()
    }
    return { hub, aid: identity.aid, created: data.created, url, baseUrl, close }
  } catch (error) {
    await data.close()
    throw error
  }
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

function listen(server: Server, config: Config): Promise<string> {
  const { host, port } = config.listen
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      const bound = server.address()
      if (bound === null || typeof bound === 'string') return reject(new Error('the listener has no address'))
      const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
      resolve(`http://${shown}:${bound.port}`)
    })
  })
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
