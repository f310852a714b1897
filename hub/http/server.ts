/** The public listener: limits on heads and connections, and an end that lets answers under way finish. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { OneAtATime } from '../../protocol/contract/one-at-a-time.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import { addressBucket, isProxy } from '../core/address.ts'
import { makeRoom } from '../core/bounded.ts'
import { dated } from './dated.ts'
import type { Line, Unparsed } from './line.ts'
import type { Surplus } from './surplus.ts'

const HEADERS_TIMEOUT_MS = 10_000
const CONNECTIONS_CHECK_MS = 5000
const KEEP_ALIVE_MS = 75_000
/** When most connections are taken, one that does nothing is soon let go. */
const KEEP_ALIVE_CROWDED_MS = 5000
const CROWDED_SHARE = 0.75
export const HEADER_BYTES_MAX = 8 * 1024
/** Requests under way get so long to finish when the hub stops. */
const FINISH_MS = 8000
const IDLE_CHECK_MS = 25
const ANSWERS_CHECK_MS = 1000
/** So long an address that wrote requests without waiting for answers gets no connection. */
const CLOSED_DOOR_MS = 5000
const CLOSED_DOORS_MAX = 10_000

export type ConnectionLimits = {
  connectionsMax: number
  connectionsPerAddressMax: number
  /** Bodies are sent and answers are taken at this rate at least, after some time of grace. */
  bodyBytesPerSecondMin: number
  bodyGraceMs: number
}

/** How long a head may take, and how often that is looked at. */
export type HeadTimes = { headMs: number; checkMs: number }

const faults: Record<string, Unparsed> = {
  HPE_HEADER_OVERFLOW: 'headTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'headTooSlow',
}

/** Since when an answer waits to be taken, and how much of its connection's bytes had been then. */
type Waiting = { sinceMs: number; taken: number }

export type ServerParts = {
  surplus: Pick<Surplus, 'note'>
  timers: Timers
  /** The time that answers tell, where that is not the machine's. */
  now?: () => number
}

export class PublicServer {
  readonly server: Server
  readonly #open = new Set<ServerResponse>()
  readonly #limits: ConnectionLimits
  readonly #surplus: Pick<Surplus, 'note'>
  /** Connections of each address. */
  readonly #ofAddress = new Map<string, number>()
  readonly #waiting = new Map<ServerResponse, Waiting>()
  readonly #timers: Timers
  readonly #watch: Timer
  readonly #oneAtATime = new OneAtATime()
  /** Until when an address gets no connection. */
  readonly #closedDoors = new Map<string, number>()
  #connections = 0
  #ending = false

  constructor(
    limits: ConnectionLimits,
    listener: RequestListener,
    unparsed: Line['answerUnparsed'],
    { surplus, timers, now }: ServerParts,
    times: HeadTimes = { headMs: HEADERS_TIMEOUT_MS, checkMs: CONNECTIONS_CHECK_MS },
  ) {
    this.#limits = limits
    this.#surplus = surplus
    this.#timers = timers
    this.server = createServer(
      {
        // Bodies are watched by their rate; a total time would cut large ones.
        requestTimeout: 0,
        headersTimeout: times.headMs,
        connectionsCheckingInterval: times.checkMs,
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxHeaderSize: HEADER_BYTES_MAX,
        // Told by the line, in its own words.
        requireHostHeader: false,
        noDelay: true,
        ...(now && { ServerResponse: dated(now) }),
      },
      (request, response) => {
        const address = request.socket.remoteAddress ?? ''
        if (!this.#oneAtATime.admit(request.socket, response)) return this.#closeDoor(address)
        this.#add(response)
        listener(request, response)
      },
    )
    this.server.maxConnections = limits.connectionsMax
    // Whoever sends a head and waits is told to go on when its body is wanted.
    this.server.on('checkContinue', (request, response) => this.server.emit('request', request, response))
    // An expectation that is none of HTTP's is met like any other request.
    this.server.on('checkExpectation', (request, response) => this.server.emit('request', request, response))
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
      socket.end(unparsed(faults[error.code ?? ''] ?? 'malformed'))
    })
    this.server.on('connect', (_, socket: Socket) => socket.end(unparsed('malformed')))
    this.#watch = timers.every(ANSWERS_CHECK_MS, () => this.#cutUntaken(timers.monotonic()))
    this.#watch.unref()
    this.server.on('connection', (socket: Socket) => this.#admit(socket))
    this.server.on('drop', () => surplus.note('hub'))
    // Known to the runtime, not yet to its types.
    Object.assign(this.server, { dropMaxConnection: true })
  }

  /** One address has a share of all connections; a proxy on this machine holds those of everybody. */
  #admit(socket: Socket): void {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits
    const address = socket.remoteAddress ?? ''
    const owner = addressBucket(address)
    const held = this.#ofAddress.get(owner) ?? 0
    const isShut = (this.#closedDoors.get(owner) ?? 0) > this.#timers.monotonic()
    if (isShut || (held >= connectionsPerAddressMax && !isProxy(address))) {
      this.#surplus.note(isShut ? 'flood' : 'address')
      socket.destroy()
      return
    }
    this.#ofAddress.set(owner, held + 1)
    this.#connections += 1
    const noteCrowd = (): void => {
      const crowded = this.#connections > connectionsMax * CROWDED_SHARE
      this.server.keepAliveTimeout = crowded ? KEEP_ALIVE_CROWDED_MS : KEEP_ALIVE_MS
    }
    noteCrowd()
    socket.once('close', () => {
      this.#connections -= 1
      const left = (this.#ofAddress.get(owner) ?? 1) - 1
      if (left > 0) this.#ofAddress.set(owner, left)
      else this.#ofAddress.delete(owner)
      noteCrowd()
    })
  }

  #closeDoor(address: string): void {
    if (isProxy(address)) return
    const owner = addressBucket(address)
    this.#closedDoors.delete(owner)
    makeRoom(this.#closedDoors, CLOSED_DOORS_MAX)
    this.#closedDoors.set(owner, this.#timers.monotonic() + CLOSED_DOOR_MS)
  }

  #add(response: ServerResponse): void {
    if (this.#ending) response.shouldKeepAlive = false
    this.#open.add(response)
    response.once('close', () => {
      this.#open.delete(response)
      this.#waiting.delete(response)
    })
  }

  /** An answer that nobody takes is cut like a body that nobody sends. */
  #cutUntaken(nowMs: number): void {
    const { bodyBytesPerSecondMin, bodyGraceMs } = this.#limits
    for (const response of this.#open) {
      const { socket } = response
      if (socket === null || response.writableLength === 0) {
        this.#waiting.delete(response)
        continue
      }
      const taken = socket.bytesWritten - socket.writableLength
      const waiting = this.#waiting.get(response) ?? { sinceMs: nowMs, taken }
      this.#waiting.set(response, waiting)
      const overMs = nowMs - waiting.sinceMs - bodyGraceMs
      if (overMs > 0 && taken - waiting.taken < (overMs / 1000) * bodyBytesPerSecondMin) socket.destroy()
    }
  }

  /** From here on each answer says that it is the last on its connection, so that clients let go. */
  makeLast(): void {
    this.#ending = true
    for (const response of this.#open) response.shouldKeepAlive = false
  }

  /** Stops accepting, lets requests under way finish, then ends what is left. */
  close(): Promise<void> {
    return new Promise(resolve => {
      const timers = this.#timers
      const last = timers.after(FINISH_MS, () => this.server.closeAllConnections())
      // A kept connection becomes idle only after its answer.
      const idle = timers.every(IDLE_CHECK_MS, () => this.server.closeIdleConnections())
      this.server.close(() => {
        timers.clear(last)
        timers.clear(idle)
        timers.clear(this.#watch)
        resolve()
      })
      this.server.closeIdleConnections()
    })
  }
}
