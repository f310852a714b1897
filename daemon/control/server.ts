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
import { controlCodes } from '../../protocol/control/codes.ts'
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
import { refuse } from '../refusal.ts'
import { serveAttachment } from './attachments.ts'
import { type ConsoleParts, serveConsole, tradeTicket } from './console.ts'
import { serveEvents } from './events.ts'
import type { Handlers } from './handlers.ts'
import { boundedServer, closed, listening, listeningOn, readBody, refusal, send } from './http.ts'
import { INTERNAL, invoke } from './invoke.ts'
import { OwnOrigins } from './origin.ts'

const HOW_TO_ADD_A_HOST = 'goes into console_hosts of config.json'

type Needs = Pick<Context, 'attachments' | 'events' | 'log' | 'now' | 'notices'>

const OWNER_ONLY = 0o177
const IPV4_LOOPBACK = ['127.0.0.1', 'localhost']
const PORTS_TRIED_MAX = 8

/** Whoever asked for any port takes any other as well. */
const anyAgain = (port: number) => (port === 0 ? async () => 0 : undefined)

export type ControlOptions = {
  ctx: Needs
  handlers: Handlers
  token: string
  console: ConsoleParts
  host: string
  port: number
  /** Further names under which it may be asked. */
  hosts: readonly string[]
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

/** The parameters of a request; one that stands twice is none. */
function queryOf(url: URL): Record<string, string> {
  const given = Object.fromEntries(url.searchParams)
  if (Object.keys(given).length < url.searchParams.size)
    throw new Malformed('a parameter of the query stands twice')
  return given
}

export class ControlServer {
  #options: ControlOptions
  #server: http.Server
  /** The same port of `::1`, where the address is of IPv4: browsers look there first for a name of this machine. */
  #beside: http.Server
  /** Nothing but this user's own programs reaches it, so it asks neither for a token nor for a host. */
  #local: http.Server
  #bound = ''
  #origins = new OwnOrigins('', 0, [], HOW_TO_ADD_A_HOST)
  #closing = new AbortController()
  /** Calls that wait for their answers: a signal made of several would cost each of them more than most of them do. */
  readonly #underWay = new Set<AbortController>()

  readonly #oneAtATime = new OneAtATime()

  constructor(options: ControlOptions) {
    this.#options = options
    const serve = (isLocal: boolean): http.RequestListener => {
      return (request, response) => {
        if (!this.#oneAtATime.admit(request.socket, response)) return
        this.#handle(request, response, isLocal).catch(error => this.#fail(response, error))
      }
    }
    this.#server = boundedServer(options.ctx, { requestTimeout: 0 }, serve(false))
    this.#beside = boundedServer(options.ctx, { requestTimeout: 0 }, serve(false))
    this.#local = http.createServer({ requestTimeout: 0 }, serve(true))
  }

  /** Listens; resolves with the address as `host:port`. */
  async listen(): Promise<string> {
    const host = this.#options.host.replace(/^\[(.*)\]$/, '$1')
    const { port, otherPort } = this.#options
    const bound = await this.#listenOnBoth(host, port, otherPort)
    await this.#listenLocally()
    this.#origins = new OwnOrigins(host, bound, this.#options.hosts, HOW_TO_ADD_A_HOST)
    this.#bound = host.includes(':') ? `[${host}]:${bound}` : `${host}:${bound}`
    return this.#bound
  }

  /** The port, which nobody else may have at `::1`; another one where somebody does and there is another. */
  async #listenOnBoth(host: string, port: number, otherPort = anyAgain(port)): Promise<number> {
    for (let attempt = 1, at = port; ; attempt++) {
      await listeningOn(this.#server, { host, port: at, otherPort })
      const bound = (this.#server.address() as AddressInfo).port
      if (!IPV4_LOOPBACK.includes(host)) return bound
      try {
        await listening(this.#beside, () => this.#beside.listen({ host: '::1', port: bound, ipv6Only: true }))
        return bound
      } catch (error) {
        // a machine without IPv6
        if (systemCode(error) !== 'EADDRINUSE') return bound
        if (otherPort === undefined || attempt === PORTS_TRIED_MAX) {
          this.#options.ctx.log.warn({ port: bound }, 'another program has this port at ::1')
          return bound
        }
        await closed(this.#server)
        at = await otherPort()
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
    for (const one of this.#underWay) one.abort()
    await Promise.all([closed(this.#server), closed(this.#beside), closed(this.#local)])
  }

  async #handle(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    isLocal: boolean,
  ): Promise<void> {
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cache-Control', 'no-store')
    const foreign = isLocal ? undefined : this.#origins.fault(request)
    if (foreign !== undefined) return send(response, 403, refusal('forbidden_origin', foreign))
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
        return serveConsole(this.#options.console, request, response)
      case `POST ${controlRoutes.consoleToken.path}`:
        return this.#trade(request, response)
    }
    if (!isLocal && !isBearer(request.headers.authorization, this.#options.token))
      return send(response, 401, refusal('unauthorized', 'the bearer token is missing or wrong'))
    if (key === `GET ${controlRoutes.events.path}`) return this.#streamEvents(request, response, url)
    if (key === `POST ${controlRoutes.upload.path}`) return this.#takeUpload(request, response, url)
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

  /** That it lives; to who sends a nonce, also that it holds the token. */
  #ping(nonce: string | null) {
    if (nonce === null || !NONCE.test(nonce)) return { ok: true }
    return { ok: true, proof: proofOf(this.#options.token, this.#bound, nonce) }
  }

  async #trade(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const row = controlRoutes.consoleToken
    const given = parseJson(await readBody(request, row))
    const read = row.request.safeParse(given)
    if (!read.success) throw new Malformed(faultOf(read.error, given, 'the request'))
    send(response, 200, await tradeTicket(this.#options.console, request, read.data.ticket))
  }

  /** One file, written as it comes. */
  async #takeUpload(request: http.IncomingMessage, response: http.ServerResponse, url: URL): Promise<void> {
    const row = controlRoutes.upload
    const given = Object.fromEntries(url.searchParams)
    const read = row.query.safeParse(given)
    if (!read.success) throw new Malformed(faultOf(read.error, given, 'the request'))
    if (Number(request.headers['content-length'] ?? 0) > row.limits.bodyBytes)
      refuse('too_large', 'the file is larger than 64 MiB')
    send(response, 200, await this.#options.ctx.attachments.uploads.take(read.data.name, request))
  }

  async #operate(
    name: OperationName,
    row: RouteRow,
    request: http.IncomingMessage,
    response: http.ServerResponse,
    url: URL,
  ): Promise<void> {
    const gone = new AbortController()
    const { signal } = gone
    response.on('close', () => {
      this.#underWay.delete(gone)
      if (!response.writableFinished) gone.abort()
    })
    this.#underWay.add(gone)
    if (this.#closing.signal.aborted) gone.abort()
    try {
      const given = row.method === 'GET' ? queryOf(url) : parseJson(await readBody(request, row))
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
