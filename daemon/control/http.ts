/** What every answer of the control interface is made of: JSON bodies with limits, refusals, and servers that start and end. */
import * as http from 'node:http'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { type ControlCode, controlCodes } from '../../protocol/control/codes.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { sleep, type Timer, type Timers } from '../../protocol/timers.ts'
import { Crowd, type CrowdParts } from './crowd.ts'
import type { Question, Reply } from './exchange.ts'

const HEADERS_TIMEOUT_MS = 10_000
const LATE_HEADS_LOOK_MS = 2_000
/** How long the rest of a body that is too large is read. */
const DROPPED_FOR_MS = 5_000

export function listening(server: http.Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', resolve)
    listen()
  })
}

const PORT_ATTEMPTS_MAX = 8
const SAME_PORT_ATTEMPTS = 4
const SAME_PORT_PAUSE_MS = 150

export type Wanted = {
  host: string
  port: number
  /** Another port, where that one is in use; without it the start ends there. */
  otherPort: (() => Promise<number>) | undefined
  timers: Timers
}

/** Milliseconds for a whole request; 0 for those that may last. */
type Bounds = { requestTimeout: number }

/**
 * A server that every process of the machine can reach: so many connections at once, of which the owner's come first, and
 * so long for the head of a request.
 */
export function boundedServer(
  machine: CrowdParts,
  { requestTimeout }: Bounds,
  serve: http.RequestListener,
): http.Server {
  const bounds = { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: LATE_HEADS_LOOK_MS }
  const server = http.createServer({ ...bounds, requestTimeout }, serve)
  new Crowd(machine).watch(server)
  return server
}

/** Listens on a port, or on another one where that is in use and there is another; without one it throws. */
export async function listeningOn(
  server: http.Server,
  { host, port, otherPort, timers }: Wanted,
): Promise<void> {
  for (let attempt = 1, at = port; ; attempt++) {
    try {
      return await listening(server, () => server.listen(at, host))
    } catch (error) {
      const isTaken = systemCode(error) === 'EADDRINUSE' && attempt < PORT_ATTEMPTS_MAX
      if (otherPort === undefined || !isTaken) throw error
      // a node that was killed a moment ago may still have it
      if (attempt < SAME_PORT_ATTEMPTS) await sleep(timers, SAME_PORT_PAUSE_MS)
      else at = await otherPort()
    }
  }
}

export function closed(server: http.Server, timers: Timers): Promise<void> {
  if (!server.listening) return Promise.resolve()
  server.closeIdleConnections()
  return new Promise(resolve => {
    server.close(() => resolve())
    timers.after(500, () => server.closeAllConnections()).unref()
  })
}

export function refusal(code: ControlCode, sentence: string, next?: string) {
  return { reason: code, error: sentence, next: next ?? controlCodes[code].next }
}

export function send(response: Reply, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    .end(text)
}

/**
 * The body; what is over the limit is read and dropped before it is refused, for a while: a connection that ends with
 * bytes unread takes the answer away from a client that writes before it reads.
 */
export function readBody(
  request: Question,
  row: Pick<RouteRow, 'limits'>,
  timers: Timers,
): Promise<Uint8Array> {
  const { bodyBytes } = row.limits
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let length = 0
    let patience: Timer | undefined
    const refuse = () =>
      reject(new OperationRefused('too_large', `the request is larger than ${bodyBytes} bytes`))
    request.on('data', (part: Buffer) => {
      length += part.length
      if (length <= bodyBytes) return parts.push(part)
      parts.length = 0
      patience ??= timers.after(DROPPED_FOR_MS, refuse)
    })
    request.once('end', () => (length > bodyBytes ? refuse() : resolve(Buffer.concat(parts))))
    request.once('error', reject)
    request.once('close', () => timers.clear(patience))
  })
}
