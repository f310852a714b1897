/**
 * The control interface: the operation table over loopback HTTP. The attacker is a page in this user's browser or
 * another user of the machine; on every route the Host must be exact and no foreign origin may ask.
 */

import { chmodSync, rmSync } from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { faultOf } from '../../protocol/contract/fault.ts'
import { OneAtATime } from '../../protocol/contract/one-at-a-time.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { type ControlCode, controlCodes } from '../../protocol/control/codes.ts'
import { controlRoutes, type OperationName, operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import type { Context } from '../context.ts'
import { NONCE, proofOf } from '../home/proof.ts'
import { isBearer } from '../home/token.ts'
import { faultPoint } from '../platform/faults.ts'
import { SECRET_FILE_MODE } from '../platform/files.ts'
import { serveAttachment } from './attachments.ts'
import { serveEvents } from './events.ts'
import type { Handlers } from './handlers.ts'
import { INTERNAL, invoke } from './invoke.ts'

type Needs = Pick<Context, 'attachments' | 'events' | 'log' | 'now'>

/** How long the rest of a body that is too large is read. */
const DROPPED_FOR_MS = 5_000
const HEADERS_TIMEOUT_MS = 10_000
const OWNER_ONLY = 0o177
const PORT_ATTEMPTS_MAX = 8
/** What says for whom and from where a request is. */
const ORIGIN_HEADERS = ['host', 'origin', 'sec-fetch-site'] as const
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export type ControlOptions = {
  ctx: Needs
  handlers: Handlers
  token: string
  host: string
  port: number
  /** Another port, where that one is in use; without it the start ends there. */
  otherPort: (() => Promise<number>) | undefined
  /** Path of the socket for the programs of this user. */
  socket: string
}

const rows = new Map<string, { name: OperationName; row: RouteRow }>(
  Object.entries(operations).map(([name, row]) => [
    `${row.method} ${row.path}`,
    { name: name as OperationName, row },
  ]),
)

export class ControlServer {
  #options: ControlOptions
  #server: http.Server
  /** Nothing but this user's own programs reaches it, so it asks neither for a token nor for a host. */
  #local: http.Server
  #bound = ''
  #hosts = new Set<string>()
  #closing = new AbortController()

  readonly #oneAtATime = new OneAtATime()

  constructor(options: ControlOptions) {
    this.#options = options
    const serve = (isLocal: boolean) =>
      http.createServer({ headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: 0 }, (request, response) => {
        if (!this.#oneAtATime.admit(request.socket, response)) return
        this.#handle(request, response, isLocal).catch(error => this.#fail(response, error))
      })
    this.#server = serve(false)
    this.#local = serve(true)
  }

  /** Listens; resolves with the address as `host:port`. */
  async listen(): Promise<string> {
    const host = this.#options.host.replace(/^\[(.*)\]$/, '$1')
    await this.#listenOn(host)
    await this.#listenLocally()
    const bound = (this.#server.address() as AddressInfo).port
    for (const name of [...LOOPBACK, host])
      this.#hosts.add(name.includes(':') ? `[${name}]:${bound}` : `${name}:${bound}`)
    this.#bound = host.includes(':') ? `[${host}]:${bound}` : `${host}:${bound}`
    return this.#bound
  }

  async #listenOn(host: string): Promise<void> {
    const { otherPort } = this.#options
    let port = this.#options.port
    for (let attempt = 1; ; attempt++) {
      try {
        return await listening(this.#server, () => this.#server.listen(port, host))
      } catch (error) {
        const isTaken = systemCode(error) === 'EADDRINUSE' && attempt < PORT_ATTEMPTS_MAX
        if (otherPort === undefined || !isTaken) throw error
        port = await otherPort()
      }
    }
  }

  /** A file system without sockets leaves the address alone. */
  async #listenLocally(): Promise<void> {
    const { socket, ctx } = this.#options
    rmSync(socket, { force: true })
    const mask = process.umask(OWNER_ONLY)
    try {
      await listening(this.#local, () => {
        this.#local.listen(socket)
        process.umask(mask)
      })
      chmodSync(socket, SECRET_FILE_MODE)
    } catch (error) {
      ctx.log.warn({ err: error }, 'no control socket in the data directory; programs use the address')
    } finally {
      process.umask(mask)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([closed(this.#server), closed(this.#local)])
  }

  async #handle(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    isLocal: boolean,
  ): Promise<void> {
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cache-Control', 'no-store')
    if (!isLocal && !this.#isOwnOrigin(request))
      return send(
        response,
        403,
        refusal('forbidden_origin', 'this address or origin may not use the control interface'),
      )
    const url = new URL(request.url ?? '/', 'http://control')
    const key = `${request.method} ${url.pathname}`
    switch (key) {
      case 'GET /':
        response.writeHead(302, { Location: '/console' }).end()
        return
      case 'GET /ping':
        return send(response, 200, this.#ping(url.searchParams.get('nonce')))
      case 'GET /attachment':
        return serveAttachment(this.#options.ctx, this.#options.token, url, response)
      case 'GET /console':
        return this.#console(response)
    }
    if (!isLocal && !isBearer(request.headers.authorization, this.#options.token))
      return send(response, 401, refusal('unauthorized', 'the bearer token is missing or wrong'))
    if (key === `GET ${controlRoutes.events.path}`) return this.#streamEvents(request, response, url)
    const found = rows.get(key)
    if (found === undefined) return send(response, 404, refusal('not_found', 'there is no such operation'))
    await this.#operate(found.name, found.row, request, response, url)
  }

  #streamEvents(request: http.IncomingMessage, response: http.ServerResponse, url: URL): void {
    const given = Object.fromEntries(url.searchParams)
    const read = controlRoutes.events.query.safeParse(given)
    if (read.success) serveEvents(this.#options.ctx.events, request, response, url, this.#closing.signal)
    else send(response, 400, refusal('bad_request', faultOf(read.error, given, 'the request')))
  }

  /** Host exactly ours; an Origin, where a browser sends one, ours too; no cross-site fetch; none of these twice. */
  #isOwnOrigin(request: http.IncomingMessage): boolean {
    const { host, origin } = request.headers
    if (ORIGIN_HEADERS.some(name => (request.headersDistinct[name]?.length ?? 0) > 1)) return false
    const site = request.headers['sec-fetch-site']
    if (host === undefined || !this.#hosts.has(host.toLowerCase())) return false
    if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return false
    return site === undefined || site === 'same-origin' || site === 'none'
  }

  /** That it lives; to who sends a nonce, also that it holds the token. */
  #ping(nonce: string | null) {
    if (nonce === null || !NONCE.test(nonce)) return { ok: true }
    return { ok: true, proof: proofOf(this.#options.token, this.#bound, nonce) }
  }

  #console(response: http.ServerResponse): void {
    const page =
      '<!doctype html><meta charset="utf-8"><title>svc</title><p>The console comes with a later release. Use: svc help'
    response
      .writeHead(200, {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': "default-src 'none'",
      })
      .end(page)
  }

  async #operate(
    name: OperationName,
    row: RouteRow,
    request: http.IncomingMessage,
    response: http.ServerResponse,
    url: URL,
  ): Promise<void> {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, this.#closing.signal])
    try {
      const given =
        row.method === 'GET' ? Object.fromEntries(url.searchParams) : parseJson(await readBody(request, row))
      const reply = await invoke(this.#options.handlers, name, given, signal)
      faultPoint(`node.control.${name}.before-answer`)
      send(response, 200, reply)
      faultPoint(`node.control.${name}.after-answer`)
    } catch (error) {
      this.#fail(response, error)
    }
  }

  #fail(response: http.ServerResponse, error: unknown): void {
    if (response.headersSent || response.destroyed) return
    if (error instanceof OperationRefused) {
      send(response, controlCodes[error.code].status, refusal(error.code, error.message, error.next))
    } else if (error instanceof Malformed) {
      send(response, 400, refusal('bad_request', error.message))
    } else {
      this.#options.ctx.log.error({ err: error }, 'control')
      send(response, 500, refusal('internal', INTERNAL))
    }
  }
}

function listening(server: http.Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', resolve)
    listen()
  })
}

function closed(server: http.Server): Promise<void> {
  if (!server.listening) return Promise.resolve()
  server.closeIdleConnections()
  return new Promise(resolve => {
    server.close(() => resolve())
    setTimeout(() => server.closeAllConnections(), 500).unref()
  })
}

function refusal(code: ControlCode, sentence: string, next?: string) {
  return { reason: code, error: sentence, next: next ?? controlCodes[code].next }
}

function send(response: http.ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    .end(text)
}

/**
 * The body; what is over the limit is read and dropped before it is refused, for a while: a connection that ends with
 * bytes unread takes the answer away from a client that writes before it reads.
 */
function readBody(request: http.IncomingMessage, row: RouteRow): Promise<Uint8Array> {
  const { bodyBytes } = row.limits
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let length = 0
    let patience: NodeJS.Timeout | undefined
    const refuse = () =>
      reject(new OperationRefused('too_large', `the request is larger than ${bodyBytes} bytes`))
    request.on('data', (part: Buffer) => {
      length += part.length
      if (length <= bodyBytes) return parts.push(part)
      parts.length = 0
      patience ??= setTimeout(refuse, DROPPED_FOR_MS)
    })
    request.once('end', () => (length > bodyBytes ? refuse() : resolve(Buffer.concat(parts))))
    request.once('error', reject)
    request.once('close', () => clearTimeout(patience))
  })
}
