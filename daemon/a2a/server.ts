/**
 * The A2A interface: cards, JSON-RPC and HTTP+JSON for programs of this machine. The attackers are a page in the user's
 * browser, another user of the machine, and a client that sends without end or reads nothing: Host and Origin must be
 * ours, everything but the node's own card needs the token, bodies, times and connections are bounded.
 */
import type * as http from 'node:http'
import { OneAtATime } from '../../protocol/contract/one-at-a-time.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import type { CrowdParts } from '../control/crowd.ts'
import { boundedServer, closed } from '../control/http.ts'
import { listenOnBoth } from '../control/loopback.ts'
import { OwnOrigins } from '../control/origin.ts'
import { isBearer } from '../home/token.ts'
import type { Agents } from './agents.ts'
import { CARD_PATH, cardOf } from './cards.ts'
import { A2aRefused, refuseA2a, TokenReplaced } from './errors.ts'
import { type MethodName, methodAt } from './methods.ts'
import { askForPayment, mediaTypeFor, openStream, rpcError, sendJson, statusBody, unpaid } from './reply.ts'
import {
  body,
  callOf,
  decoded,
  idOf,
  meansOf,
  parsed,
  placeOf,
  type RequestPlace,
  requireVersion,
} from './requests.ts'
import { type Asking, refusedAs, type ServedOutcome, type Service } from './service.ts'
import type { Following, TaskStreams } from './streams.ts'
import { extensionUris, headerNames, headerOf, PaymentNeeded } from './x402.ts'

const REQUEST_TIMEOUT_MS = 60_000
const CARDS_MAX = 256
const HOW_TO_ADD_A_HOST = 'is allowed with: svc a2a on --host <name>'

/** Where it listens, and with which token. */
export type ServerOptions = {
  token: () => string
  host: string
  port: number
  hosts: readonly string[]
  otherPort: (() => Promise<number>) | undefined
}

type Exchange = {
  request: http.IncomingMessage
  response: http.ServerResponse
  url: URL
  /** Ends with the token that it came with. */
  authority: AbortSignal
}

/** An answer in the form of a binding: what is told, and what is refused. */
type Wrapping = { item: (item: object) => object; refused: (refused: A2aRefused) => object; type: string }

/** Somebody else has the port at the other loopback address, and would be told the token of who asks there. */
export class HalfTaken extends Failure {
  override name = 'HalfTaken'
  constructor() {
    super('another program has its port at the other loopback address')
  }
}

export class A2aServer {
  readonly #options: ServerOptions
  readonly #agents: Agents
  readonly #service: Service
  readonly #streams: TaskStreams
  readonly #machine: CrowdParts
  readonly #server: http.Server
  /** The same port of the other loopback address. */
  readonly #beside: http.Server
  readonly #closing = new AbortController()
  /** Ends what the present token has opened. */
  #authority = new AbortController()
  readonly #oneAtATime = new OneAtATime()
  #origins = new OwnOrigins('', 0, [], HOW_TO_ADD_A_HOST)
  #bound = ''
  readonly #cards = new Map<string, string>()

  constructor(
    { agents, service, streams }: { agents: Agents; service: Service; streams: TaskStreams },
    machine: CrowdParts,
    options: ServerOptions,
  ) {
    this.#options = options
    this.#agents = agents
    this.#service = service
    this.#streams = streams
    this.#machine = machine
    const bounds = { requestTimeout: REQUEST_TIMEOUT_MS }
    const serve: http.RequestListener = (request, response) => {
      if (!this.#oneAtATime.admit(request.socket, response)) return
      this.#handle(request, response).catch(error => this.#fail(response, error))
    }
    this.#server = boundedServer(machine, bounds, serve)
    this.#beside = boundedServer(machine, bounds, serve)
  }

  /** Listens; resolves with the address as `host:port`. */
  async listen(): Promise<string> {
    const host = this.#options.host.replace(/^\[(.*)\]$/, '$1')
    const { port, otherPort, hosts } = this.#options
    const { timers } = this.#machine
    const wanted = { host, port, otherPort, timers }
    const { port: bound, isAlone } = await listenOnBoth(this.#server, this.#beside, wanted)
    if (isAlone) {
      await this.close()
      throw new HalfTaken()
    }
    this.#origins = new OwnOrigins(host, bound, hosts, HOW_TO_ADD_A_HOST)
    this.#bound = host.includes(':') ? `[${host}]:${bound}` : `${host}:${bound}`
    return this.#bound
  }

  /** Ends what was opened with the token before. */
  tokenReplaced(): void {
    this.#authority.abort(new TokenReplaced())
    this.#authority = new AbortController()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const { timers } = this.#machine
    await Promise.all([closed(this.#server, timers), closed(this.#beside, timers)])
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    response.setHeader('X-Content-Type-Options', 'nosniff')
    const foreign = this.#origins.fault(request)
    if (foreign !== undefined) return plainError(response, 403, 'PERMISSION_DENIED', foreign)
    const url = URL.parse(request.url ?? '/', 'http://a2a')
    if (url === null)
      return plainError(response, 400, 'INVALID_ARGUMENT', 'the address of the request is none')
    const place = placeOf(url.pathname)
    const exchange = { request, response, url, authority: this.#authority.signal }
    if (place.path === CARD_PATH && place.tenant === undefined) return this.#card(exchange, place)
    response.setHeader('Cache-Control', 'no-store')
    if (!isBearer(request.headers.authorization, this.#options.token())) {
      response.setHeader('WWW-Authenticate', 'Bearer realm="a2a"')
      const sentence = 'the bearer token is missing or wrong; svc a2a token prints it'
      return plainError(response, 401, 'UNAUTHENTICATED', sentence)
    }
    if (place.path === CARD_PATH) return this.#card(exchange, place)
    if (place.path === '/') return this.#rpc(exchange, place)
    return this.#rest(exchange, place)
  }

  #card({ request, response }: Exchange, { tenant }: RequestPlace): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      notThere(response)
      return
    }
    const agents = this.#agents
    const agent = tenant === undefined ? undefined : agents.called(tenant)
    const card = cardOf(agents.card(agent, this.#baseOf(request, tenant), false), tenant === undefined)
    response.setHeader('Cache-Control', card.cacheControl)
    response.setHeader('ETag', card.etag)
    response.setHeader('Last-Modified', this.#changedAt(card.etag))
    if (request.headers['if-none-match'] === card.etag) response.writeHead(304).end()
    else sendJson(response, 200, JSON.parse(card.text))
  }

  /** When a card was first seen as it is. */
  #changedAt(etag: string): string {
    const at = this.#cards.get(etag) ?? new Date(this.#machine.now()).toUTCString()
    if (this.#cards.size >= CARDS_MAX) this.#cards.clear()
    this.#cards.set(etag, at)
    return at
  }

  async #rpc(exchange: Exchange, place: RequestPlace): Promise<void> {
    const { request, response } = exchange
    if (request.method !== 'POST') return notThere(response)
    let id: string | number | null = null
    try {
      const call = parsed(await body(request, this.#machine.timers))
      id = idOf(call)
      requireVersion(exchange)
      const { name, params } = callOf(call)
      const outcome = await this.#call(name, params, exchange, place)
      this.#answer(exchange, outcome, {
        item: result => ({ jsonrpc: '2.0', id, result }),
        refused: refused => rpcError(id, refused),
        type: 'application/json',
      })
    } catch (error) {
      const refused = this.#refused(error)
      if (refused instanceof PaymentNeeded) askForPayment(response, refused, rpcError(id, unpaid(refused)))
      else sendJson(response, refused instanceof TokenReplaced ? 401 : 200, rpcError(id, refused))
    }
  }

  async #rest(exchange: Exchange, place: RequestPlace): Promise<void> {
    const { request, response, url } = exchange
    const found = methodAt(request.method ?? '', place.path)
    const type = mediaTypeFor(request)
    if (found === undefined) return notThere(response)
    if ('verbs' in found) {
      response.setHeader('Allow', found.verbs.join(', '))
      return plainError(response, 405, 'UNIMPLEMENTED', `this path takes ${found.verbs.join(', ')}`)
    }
    try {
      requireVersion(exchange)
      const { 'A2A-Version': _, ...query } = Object.fromEntries(url.searchParams)
      const bytes = await body(request, this.#machine.timers)
      const given = request.method === 'POST' && bytes.length > 0 ? parsed(bytes) : {}
      if (typeof given !== 'object' || given === null || Array.isArray(given)) refuseA2a('JSONParse')
      const params = { ...query, ...(given as object), ...decoded(found.given) } as JsonValue
      const outcome = await this.#call(found.name, params, exchange, place)
      this.#answer(exchange, outcome, { item: item => item, refused: statusBody, type })
    } catch (error) {
      const refused = this.#refused(error)
      if (refused instanceof PaymentNeeded)
        askForPayment(response, refused, statusBody(unpaid(refused)), type)
      else sendJson(response, refused.row.http, statusBody(refused), type)
    }
  }

  async #call(
    name: MethodName,
    params: JsonValue,
    { request, response, authority }: Exchange,
    { tenant }: RequestPlace,
  ): Promise<ServedOutcome> {
    authority.throwIfAborted()
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const lastEventId = request.headers['last-event-id']
    const means = meansOf(request)
    if (means.isExtended) response.setHeader('A2A-Extensions', extensionUris.join(', '))
    const asking: Asking = {
      tenant,
      base: this.#baseOf(request, tenant),
      lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
      means,
      signal: AbortSignal.any([gone.signal, this.#closing.signal, authority]),
      authority,
    }
    const outcome = await this.#service.call(name, params, asking)
    authority.throwIfAborted()
    return outcome
  }

  #answer(exchange: Exchange, outcome: ServedOutcome, wrapping: Wrapping): void {
    const { response } = exchange
    if (outcome.settled !== undefined && !response.headersSent)
      response.setHeader(headerNames.response, headerOf(outcome.settled))
    if ('reply' in outcome) sendJson(response, 200, wrapping.item(outcome.reply), wrapping.type)
    else if (!response.destroyed) this.#stream(exchange, outcome.follow, wrapping)
  }

  #stream({ response, authority }: Exchange, following: Following, wrapping: Wrapping): void {
    const sink = openStream(response, this.#machine.timers, wrapping.item)
    const stop = this.#streams.follow(following, sink)
    const end = () => sink.end()
    const refuse = () => {
      stop()
      sink.refuse(wrapping.refused(authority.reason))
    }
    this.#closing.signal.addEventListener('abort', end)
    authority.addEventListener('abort', refuse)
    response.on('close', () => {
      stop()
      this.#closing.signal.removeEventListener('abort', end)
      authority.removeEventListener('abort', refuse)
    })
  }

  /** The address of an agent, as this client calls the interface. */
  #baseOf({ headers }: http.IncomingMessage, tenant: string | undefined): string {
    const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
    const base = `${scheme}://${headers.host ?? this.#bound}`
    return tenant === undefined ? base : `${base}/${encodeURIComponent(tenant)}`
  }

  #refused(error: unknown): A2aRefused | PaymentNeeded {
    return refusedAs(error, this.#machine.log)
  }

  #fail(response: http.ServerResponse, error: unknown): void {
    const refused = this.#refused(error)
    if (refused instanceof A2aRefused) sendJson(response, refused.row.http, statusBody(refused))
  }
}

function plainError(response: http.ServerResponse, code: number, status: string, message: string): void {
  sendJson(response, code, { error: { code, status, message, details: [] } })
}

const notThere = (response: http.ServerResponse): void =>
  plainError(response, 404, 'NOT_FOUND', 'there is nothing at this path; the card names the addresses')
