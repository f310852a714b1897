/**
 * The control interface: the operation table over loopback HTTP. The attacker is a page in this user's browser or
 * another user of the machine; on every route the Host must be exact and no foreign origin may ask.
 */

import { chmodSync, rmSync } from 'node:fs'
import * as http from 'node:http'
import type * as z from 'zod'
import { faultOf } from '../../protocol/contract/fault.ts'
import { OneAtATime } from '../../protocol/contract/one-at-a-time.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { controlCodes } from '../../protocol/control/codes.ts'
import { controlRoutes, type OperationName, operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import type { Attachments } from '../attachments/attachments.ts'
import { NONCE, proofOf } from '../home/proof.ts'
import { isBearer } from '../home/token.ts'
import type { Events } from '../platform/events.ts'
import { faultPoint } from '../platform/faults.ts'
import { SECRET_FILE_MODE } from '../platform/files.ts'
import { refuse } from '../refusal.ts'
import type { AttachmentLinks } from './attachments.ts'
import { type ConsoleParts, openPage, serveConsole, tradeTicket } from './console.ts'
import type { CrowdParts } from './crowd.ts'
import { serveEvents } from './events.ts'
import type { Exchange, Question, Reply } from './exchange.ts'
import type { Handlers } from './handlers.ts'
import { boundedServer, closed, listening, readBody, refusal, send } from './http.ts'
import { INTERNAL, invoke } from './invoke.ts'
import { listenOnBoth } from './loopback.ts'
import { OwnOrigins } from './origin.ts'
import { SealedCalls } from './sealed-calls.ts'

const HOW_TO_ADD_A_HOST = 'goes into console_hosts of config.json'

const OWNER_ONLY = 0o177

export type ControlOptions = {
  machine: CrowdParts
  events: Events
  uploads: Attachments['uploads']
  links: AttachmentLinks
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

function urlOf({ url = '/' }: Pick<Question, 'url'>): URL {
  const read = URL.parse(url, 'http://control')
  if (read === null) throw new Malformed('the address of the request is none')
  return read
}

/** The parameters of a request; one that stands twice is none. */
function queryOf(url: URL): Record<string, string> {
  const given = Object.fromEntries(url.searchParams)
  if (Object.keys(given).length < url.searchParams.size)
    throw new Malformed('a parameter of the query stands twice')
  return given
}

const LOOPBACK = '127.0.0.1'
const PLACES_MAX = 8

type Listening = { servers: readonly http.Server[]; origins: OwnOrigins }

export class ControlServer {
  #options: ControlOptions
  #server: http.Server
  /** The same port of the other loopback address. */
  #beside: http.Server
  /** Nothing but this user's own programs reaches it, so it asks neither for a token nor for a host. */
  #local: http.Server
  readonly #serve: http.RequestListener
  /** Further ports, each opened for one link of the console. */
  readonly #places = new Map<number, Listening>()
  #bound = ''
  #origins = new OwnOrigins('', 0, [], HOW_TO_ADD_A_HOST)
  #closing = new AbortController()
  /** Calls that wait for their answers: a signal made of several would cost each of them more than most of them do. */
  readonly #underWay = new Set<AbortController>()

  readonly #oneAtATime = new OneAtATime()
  readonly #sealedCalls: SealedCalls

  constructor(options: ControlOptions) {
    this.#options = options
    const { timers } = options.machine
    this.#sealedCalls = new SealedCalls(options.console.pages, timers, (question, reply) =>
      this.#perform(question, reply),
    )
    const serve = (isLocal: boolean): http.RequestListener => {
      return (request, response) => {
        if (!this.#oneAtATime.admit(request.socket, response)) return
        this.#handle(request, response, isLocal).catch(error => this.#fail(response, error))
      }
    }
    this.#serve = serve(false)
    this.#server = this.#bounded()
    this.#beside = this.#bounded()
    this.#local = http.createServer({ requestTimeout: 0 }, serve(true))
  }

  #bounded(): http.Server {
    return boundedServer(this.#options.machine, { requestTimeout: 0 }, this.#serve)
  }

  /** Listens; resolves with the address as `host:port`. */
  async listen(): Promise<string> {
    const host = this.#options.host.replace(/^\[(.*)\]$/, '$1')
    const { port, otherPort, machine } = this.#options
    const wanted = { host, port, otherPort, timers: machine.timers }
    const { port: bound, isAlone } = await listenOnBoth(this.#server, this.#beside, wanted)
    const { control } = this.#options.console
    control.isAlone = isAlone
    control.newPlace = () => this.#openPlace()
    await this.#listenLocally()
    this.#origins = new OwnOrigins(host, bound, this.#options.hosts, HOW_TO_ADD_A_HOST)
    this.#bound = host.includes(':') ? `[${host}]:${bound}` : `${host}:${bound}`
    return this.#bound
  }

  /** Another port of this machine, for one link; the oldest of many closes. */
  async #openPlace(): Promise<string> {
    const servers = [this.#bounded(), this.#bounded()] as const
    const { timers } = this.#options.machine
    const wanted = { host: LOOPBACK, port: 0, otherPort: undefined, timers }
    const { port, isAlone } = await listenOnBoth(...servers, wanted)
    const origins = new OwnOrigins(LOOPBACK, port, [], HOW_TO_ADD_A_HOST)
    const [oldest] = this.#places.keys()
    if (this.#places.size >= PLACES_MAX && oldest !== undefined) await this.#closePlace(oldest)
    this.#places.set(port, { servers, origins })
    if (!isAlone) return `${LOOPBACK}:${port}`
    await this.#closePlace(port)
    return refuse('internal', 'no port is free at both loopback addresses of this machine')
  }

  async #closePlace(port: number): Promise<void> {
    const { servers = [] } = this.#places.get(port) ?? {}
    this.#places.delete(port)
    await Promise.all(servers.map(one => this.#closed(one)))
  }

  /** A file system without sockets leaves the address alone. */
  async #listenLocally(): Promise<void> {
    const { socket, machine } = this.#options
    rmSync(socket, { force: true })
    const mask = process.umask(OWNER_ONLY)
    try {
      await listening(this.#local, () => {
        this.#local.listen(socket)
        process.umask(mask)
      })
      chmodSync(socket, SECRET_FILE_MODE)
    } catch (error) {
      machine.log.warn({ err: error }, 'no control socket in the data directory; programs use the address')
    } finally {
      process.umask(mask)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    for (const one of this.#underWay) one.abort()
    const places = [...this.#places.keys()].map(port => this.#closePlace(port))
    const servers = [this.#server, this.#beside, this.#local]
    await Promise.all([...servers.map(one => this.#closed(one)), ...places])
  }

  #closed(server: http.Server): Promise<void> {
    return closed(server, this.#options.machine.timers)
  }

  async #handle(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    isLocal: boolean,
  ): Promise<void> {
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cache-Control', 'no-store')
    const { origins } = this.#places.get(request.socket.localPort ?? 0) ?? { origins: this.#origins }
    const foreign = isLocal ? undefined : origins.fault(request)
    if (foreign !== undefined) return send(response, 403, refusal('forbidden_origin', foreign))
    const url = urlOf(request)
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /':
        response.writeHead(302, { Location: '/console' }).end()
        return
      case 'GET /ping':
        return send(response, 200, this.#ping(url.searchParams.get('nonce')))
      case 'GET /attachment':
        return this.#options.links.serve(url, response)
      case 'GET /console':
        return serveConsole(this.#options.console, request, response)
      case `POST ${controlRoutes.consoleSession.path}`:
        return this.#answer(request, response, controlRoutes.consoleSession, tradeTicket)
      case `POST ${controlRoutes.consoleOpen.path}`:
        return this.#answer(request, response, controlRoutes.consoleOpen, openPage)
      case `POST ${controlRoutes.consoleCall.path}`:
        return this.#sealedCalls.take(request, response, Object.fromEntries(url.searchParams))
    }
    if (!isLocal && !isBearer(request.headers.authorization, this.#options.token))
      return send(response, 401, refusal('unauthorized', 'the bearer token is missing or wrong'))
    await this.#perform(request, response)
  }

  /** What the holder of the token may ask, or a page in a sealed call. */
  async #perform(question: Question, reply: Reply): Promise<void> {
    try {
      const url = urlOf(question)
      const exchange = { question, reply, url }
      const key = `${question.method} ${url.pathname}`
      if (key === `GET ${controlRoutes.events.path}`) return this.#streamEvents(exchange)
      if (key === `POST ${controlRoutes.upload.path}`) return await this.#takeUpload(exchange)
      if (key === `GET ${controlRoutes.attachment.path}`) return await this.#options.links.serve(url, reply)
      const found = rows.get(key)
      if (found === undefined) return send(reply, 404, refusal('not_found', 'there is no such operation'))
      await this.#operate(found, exchange)
    } catch (error) {
      this.#fail(reply, error)
    }
  }

  #streamEvents({ question, reply, url }: Exchange): void {
    const given = Object.fromEntries(url.searchParams)
    const read = controlRoutes.events.query.safeParse(given)
    if (read.success)
      serveEvents(
        { events: this.#options.events, timers: this.#options.machine.timers },
        question,
        reply,
        url,
        this.#closing.signal,
      )
    else send(reply, 400, refusal('bad_request', faultOf(read.error, given, 'the request')))
  }

  /** That it lives; to who sends a nonce, also that it holds the token. */
  #ping(nonce: string | null) {
    if (nonce === null || !NONCE.test(nonce)) return { ok: true }
    return { ok: true, proof: proofOf(this.#options.token, this.#bound, nonce) }
  }

  async #answer<R extends RouteRow & { request: z.ZodType }>(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    row: R,
    answer: (parts: ConsoleParts, request: http.IncomingMessage, given: z.infer<R['request']>) => unknown,
  ): Promise<void> {
    const given = parseJson(await readBody(request, row, this.#options.machine.timers))
    const read = row.request.safeParse(given)
    if (!read.success) throw new Malformed(faultOf(read.error, given, 'the request'))
    send(response, 200, await answer(this.#options.console, request, read.data as z.infer<R['request']>))
  }

  /** One file, written as it comes. */
  async #takeUpload({ question, reply, url }: Exchange): Promise<void> {
    const row = controlRoutes.upload
    const given = Object.fromEntries(url.searchParams)
    const read = row.query.safeParse(given)
    if (!read.success) throw new Malformed(faultOf(read.error, given, 'the request'))
    if (Number(question.headers['content-length'] ?? 0) > row.limits.bodyBytes)
      refuse('too_large', 'the file is larger than 64 MiB')
    send(reply, 200, await this.#options.uploads.take(read.data.name, question))
  }

  async #operate(
    { name, row }: { name: OperationName; row: RouteRow },
    { question, reply, url }: Exchange,
  ): Promise<void> {
    const gone = new AbortController()
    const { signal } = gone
    reply.on('close', () => {
      this.#underWay.delete(gone)
      if (!reply.writableFinished) gone.abort()
    })
    this.#underWay.add(gone)
    if (this.#closing.signal.aborted) gone.abort()
    const { timers } = this.#options.machine
    const given = row.method === 'GET' ? queryOf(url) : parseJson(await readBody(question, row, timers))
    const said = await invoke(this.#options.handlers, name, given, signal)
    faultPoint(`node.control.${name}.before-answer`)
    send(reply, 200, said)
    faultPoint(`node.control.${name}.after-answer`)
  }

  #fail(response: Reply, error: unknown): void {
    if (response.headersSent || response.destroyed) return
    if (error instanceof OperationRefused) {
      send(response, controlCodes[error.code].status, refusal(error.code, error.message, error.next))
    } else if (error instanceof Malformed) {
      send(response, 400, refusal('bad_request', error.message))
    } else {
      this.#options.machine.log.error({ err: error }, 'control')
      send(response, 500, refusal('internal', INTERNAL))
    }
  }
}
