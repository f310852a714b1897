/**
 * The way of every wire-3 request. Its steps stand in one list, {@link steps}, in the order in which they are taken; of
 * several faults the first in this order is told. Cheap checks come first.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { authCodes, type Code, commonCodes } from '../../protocol/wire3/codes.ts'
import { headers, identityHeaders, versionedPrefixes, WIRE } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { addressBucket, clientAddress, isProxy } from '../core/address.ts'
import type { Agent } from '../core/agents.ts'
import type { Hub } from '../core/hub.ts'
import type { Limits } from '../core/limits.ts'
import { RateBuckets } from '../core/rate.ts'
import { type Facts, Refusal } from '../core/refusal.ts'
import { faultPoint } from '../faults.ts'
import { BodyCut, BodySource, declaredLength, RateWatch, readBody } from '../http/body.ts'
import { BodyPool, type BodyRoom } from '../http/body-room.ts'
import { hasManyHosts, header, mayBeJson, mediaType, preferredWait } from '../http/headers.ts'
import type { Line, LineOptions, Unparsed } from '../http/line.ts'
import { finishUnread, rawJson, sendJson, sendReply, whenClosed } from '../http/reply.ts'
import { type Found, originForm, Router, splitTarget } from '../http/router.ts'
import { HEADER_BYTES_MAX } from '../http/server.ts'
import {
  Authenticator,
  type RequestLine,
  readSignedHeaders,
  type SignedHeaders,
  unauthorized,
} from './auth.ts'
import { decodeBody, decodeQuery } from './decode.ts'
import type { Handler, Handlers, Incoming, Wire3Row } from './handler.ts'
import { handlersOf } from './handlers.ts'
import { refusalAnswer, refusalCode, refusedMembers, WireRefusal } from './refusals.ts'

const NO_BODY = new Uint8Array(0)
const JSON_SHARES = 8
/** So much of a JSON body weighs as much as a request in the bucket of its address. */
const BYTES_OF_A_REQUEST = 64 * 1024

/** So many refusals for asking too often are answered at once; whoever goes on asking waits for each. */
const QUICK_REFUSALS = { perSecond: 5, burst: 20 }
const SLOW_REFUSAL_MS = 1000

/** Stands where the id of an error would: a refusal with a code that its row does not name. */
export const UNNAMED_CODE = 'unnamed-code'

/** What the steps of all requests work with. */
type Parts = {
  hub: Hub
  watch: RateWatch
  /** Bodies on their way in: envelopes, and JSON, which never waits for envelopes. */
  pools: { envelopes: BodyPool; json: BodyPool }
  buckets: RateBuckets
  /** Refusals of addresses whose bucket is empty. */
  refusals: RateBuckets
  authenticator: Authenticator
  handlers: Handlers
  nameFault: LineOptions['nameFault']
}

/** One request on its way; a step fills in what it has found out. */
class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Path with query, as sent and as signed. */
  readonly target: string
  readonly queryText: string
  readonly found: Found<Wire3RouteName> | undefined
  address = ''
  query: unknown
  bytes: Uint8Array = NO_BODY
  body: unknown
  /** What the headers of a signed route say, whether it is true or not. */
  signature: SignedHeaders | undefined
  signer: Agent | undefined
  /** What the body holds while it comes in. */
  room: BodyRoom | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
    this.target = originForm(request.url ?? '/')
    const { path, query } = splitTarget(this.target)
    this.queryText = query
    this.found = router.find(this.method, path)
  }

  /** HEAD is answered like GET; the runtime leaves out the body. */
  get method(): string {
    const { method = '' } = this.request
    return method === 'HEAD' ? 'GET' : method
  }

  get name(): Wire3RouteName {
    return this.#known.name
  }

  get params(): Record<string, string> {
    return this.#known.params
  }

  get row(): Wire3Row {
    return wire3Routes[this.#known.name]
  }

  get #known(): Found<Wire3RouteName> {
    if (this.found === undefined) throw new Refusal('resourceUnknown')
    return this.found
  }

  header(name: string): string | undefined {
    return header(this.request.headers, name)
  }

  /** What a signature of this request covers. */
  get line(): RequestLine {
    const { method, action = '' } = this.row
    return { method, path: this.target, body: this.bytes, action }
  }
}

type Step = (exchange: Exchange, parts: Parts) => void | Promise<void>

/** Every request takes these steps in this order; the first that refuses ends it. */
const steps: readonly Step[] = [
  checkWire,
  checkKnown,
  checkHeaders,
  takeFromBucket,
  readQuery,
  openRoom,
  readSigner,
  receiveBody,
  readJson,
  authenticate,
  carryOut,
]

/** What is told where no request was read. */
const unparsed: Record<Unparsed, [Code, Facts]> = {
  malformed: ['bad_request', { why: 'it is not an HTTP request that this hub reads' }],
  headTooLarge: ['too_large', { limitBytes: HEADER_BYTES_MAX, part: 'head' }],
  headTooSlow: ['bad_request', { why: 'its head did not come in time' }],
}

const router = new Router<Wire3RouteName>(wire3Routes)
const methods: ReadonlySet<string> = new Set(Object.values(wire3Routes).map(({ method }) => method))

/** The request listener of wire 3 over a hub. */
export function createApp({ hub, baseUrl, nameFault, about, hasDocuments, onError }: LineOptions): Line {
  const { limits, now, random, identity, verifier } = hub.context
  const parts: Parts = {
    hub,
    nameFault,
    watch: new RateWatch(limits.bodyBytesPerSecondMin, limits.bodyGraceMs),
    pools: openPools(limits),
    buckets: new RateBuckets(limits.requestRate),
    refusals: new RateBuckets(QUICK_REFUSALS),
    authenticator: new Authenticator({ hub: identity.aid, clocks: hub.clocks, now, verifier }),
    handlers: handlersOf(hub, baseUrl, { about, hasDocuments }),
  }

  function refuse({ request, response, found }: Exchange, thrown: unknown): Code | undefined {
    if (thrown instanceof BodyCut || response.destroyed) {
      response.destroy()
      return undefined
    }
    const known = refusalCode(thrown)
    if (known === undefined) onError(Buffer.from(random(6)).toString('hex'), thrown)
    const { code, facts } = known ?? { code: 'internal', facts: {} }
    // A code that its row does not name is a fault of the hub: clients are told nothing of it beforehand.
    if (found !== undefined && !namesCode(wire3Routes[found.name], code))
      onError(UNNAMED_CODE, new Error(`${request.method} ${found.name} answered ${code}`))
    if (response.headersSent) {
      response.destroy()
      return code
    }
    const spread = (random(1)[0] ?? 0) / 256
    const refused = refusalAnswer(code, facts, baseUrl(), spread)
    if (losesConnection(code, request)) response.shouldKeepAlive = false
    finishUnread(request, response)
    const more = found && refusedMembers(wire3Routes[found.name], code, identity.aid)
    sendJson(response, refused.status, refused.headers, { ...refused.body, ...more })
    return code
  }

  return {
    async handle(request, response) {
      response.setHeader(headers.wire, String(WIRE))
      const exchange = new Exchange(request, response)
      const route = routeLabel(exchange)
      try {
        for (const step of steps) await step(exchange, parts)
        return { route, code: undefined }
      } catch (thrown) {
        return { route, code: refuse(exchange, thrown) }
      } finally {
        exchange.room?.release()
      }
    },
    answerUnparsed(fault) {
      const [code, facts] = unparsed[fault]
      const { status, body } = refusalAnswer(code, facts, baseUrl(), 0)
      return rawJson(status, { [headers.wire]: String(WIRE) }, body)
    },
    bytesInFlight: () => parts.pools.envelopes.held + parts.pools.json.held,
    close: () => parts.watch.close(),
  }
}

function routeLabel({ found }: Exchange): string {
  if (found === undefined) return 'none'
  const { method, path } = wire3Routes[found.name]
  return `${method} ${path}`
}

/** Versions above are refused everywhere; below, none or no number where no browser reads (hub API §9). */
function checkWire(exchange: Exchange, { nameFault }: Parts): void {
  const { httpVersion, headers: given, rawHeaders } = exchange.request
  if (httpVersion !== '1.0' && given.host === undefined)
    throw new Refusal('requestMalformed', { why: 'it has no Host header' })
  if (hasManyHosts(rawHeaders))
    throw new Refusal('requestMalformed', { why: 'it has more than one Host header' })
  const why = nameFault(given.host)
  if (why !== undefined) throw new Refusal('requestMalformed', { why })
  const declared = exchange.header(headers.wire)
  const version = declared !== undefined && /^[0-9]+$/.test(declared) ? Number(declared) : 0
  if (version > WIRE) throw new WireRefusal('wire_too_new')
  // nothing is there for it in any version
  if (!methods.has(exchange.method)) throw new Refusal('resourceUnknown')
  const versioned = versionedPrefixes.some(prefix => exchange.target.startsWith(prefix))
  const readable = exchange.method === 'GET' && !versioned
  if (version < WIRE && !readable) throw new WireRefusal('wire_too_old')
}

function checkKnown({ found }: Exchange): void {
  if (found === undefined) throw new Refusal('resourceUnknown')
}

function checkHeaders(exchange: Exchange): void {
  const { auth, raw, request } = exchange.row
  if (auth !== 'signed' && identityHeaders.some(name => exchange.header(name) !== undefined))
    throw new WireRefusal('identity_headers_not_allowed')
  if (mediaType(exchange.header('content-encoding') ?? 'identity') !== 'identity')
    throw new Refusal('requestMalformed', { why: 'bodies are taken as they are, without Content-Encoding' })
  const type = mediaType(exchange.header('content-type'))
  if (raw !== undefined && type !== raw)
    throw new Refusal('requestMalformed', { why: `Content-Type must be ${raw}` })
  if (request !== undefined && !mayBeJson(type))
    throw new Refusal('requestMalformed', { why: 'Content-Type must be application/json' })
}

async function takeFromBucket(exchange: Exchange, { hub, buckets, refusals }: Parts): Promise<void> {
  const socketAddress = exchange.request.socket.remoteAddress ?? ''
  exchange.address = clientAddress(socketAddress, exchange.header('x-forwarded-for'))
  if (isProxy(exchange.address)) return
  const weight = Math.min(weightOf(exchange), hub.context.limits.requestRate.burst)
  const bucket = addressBucket(exchange.address)
  const retryAfterMs = buckets.take(bucket, hub.context.now(), weight)
  if (retryAfterMs === 0) return
  if (refusals.take(bucket, hub.context.now()) > 0) await heldBack(exchange.response)
  throw new Refusal('rateLimited', { retryAfterMs })
}

/** Refusing costs the hub more than asking costs a flood: each socket of one gets a refusal a second. */
function heldBack(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(go, SLOW_REFUSAL_MS).unref()
    const stop = whenClosed(response, go)
    function go(): void {
      clearTimeout(timer)
      stop()
      resolve()
    }
  })
}

/** A body that is read before its sender is known counts as several requests, and so does what its row says. */
function weightOf({ row, request }: Exchange): number {
  if (row.request === undefined) return row.limits['weight'] ?? 1
  const bytes = Math.min(declaredLength(request) ?? row.limits.bodyBytes, row.limits.bodyBytes)
  return 1 + Math.floor(bytes / BYTES_OF_A_REQUEST)
}

function readQuery(exchange: Exchange): void {
  exchange.query = decodeQuery(exchange.row, exchange.queryText)
}

/** A declared length that is too much is refused; room itself is taken as bytes arrive. */
function openRoom(exchange: Exchange, { hub, pools }: Parts): void {
  const { raw, limits } = exchange.row
  if (limits.bodyBytes === 0) return
  const limitBytes = raw === undefined ? limits.bodyBytes : hub.context.limits.envelopeBytesMax
  const declared = declaredLength(exchange.request)
  if (declared !== undefined && declared > limitBytes) throw new Refusal('tooLarge', { limitBytes })
  const owner = isProxy(exchange.address) ? undefined : addressBucket(exchange.address)
  exchange.room = (raw === undefined ? pools.json : pools.envelopes).open(owner)
}

/** Nothing is read for a request that nobody claims to have signed. */
function readSigner(exchange: Exchange): void {
  if (exchange.row.auth === 'signed') exchange.signature = readSignedHeaders(exchange.request.headers)
}

async function receiveBody(exchange: Exchange, { watch }: Parts): Promise<void> {
  const { request, limits } = exchange.row
  if (request === undefined || exchange.room === undefined) return
  const source = new BodySource(exchange.request, watch, exchange.room)
  exchange.bytes = await readBody(exchange.request, limits.bodyBytes, source)
}

function readJson(exchange: Exchange): void {
  exchange.body = decodeBody(exchange.row, exchange.bytes)
}

async function authenticate(exchange: Exchange, { hub, authenticator }: Parts): Promise<void> {
  const { row, params, signature: given } = exchange
  if (given === undefined || row.signer === 'core') return
  if (params['aid'] !== undefined && params['aid'] !== given.aid)
    throw unauthorized('the signer is not the agent of this path')
  const agent = await signerOf(row, given.aid, hub)
  if (agent === undefined) {
    if (row.unknownSigner === 'admission') await hub.registry.checkOpen(given.aid)
    throw unauthorized('the signer is not registered here', 'register it again, or ask the operator')
  }
  await authenticator.verify(given, exchange.line, agent.log)
  exchange.signer = agent
}

/** An agent registered here now; of its account also one that has left and whose identity has not ended. */
async function signerOf({ signer }: Wire3Row, aid: string, { agents }: Hub): Promise<Agent | undefined> {
  if (signer !== 'account') return await agents.findRegistered(aid)
  const agent = await agents.find(aid)
  return agent?.log.deactivated === true ? undefined : agent
}

async function carryOut(exchange: Exchange, { handlers, authenticator, watch }: Parts): Promise<void> {
  const { name, params, row, query, body, address, signer, request, response } = exchange
  const incoming = {
    params,
    query,
    body,
    headers: request.headers,
    address,
    signer,
    verifySigner: log => authenticator.verify(readSignedHeaders(request.headers), exchange.line, log),
    openBody: () => ({ source: bodyOf(exchange, watch), declared: declaredLength(request) }),
    waitSeconds: row.held === true ? preferredWait(request.headers) : 0,
    onGone: callback => whenClosed(response, callback),
  } as Incoming<Wire3RouteName>
  if (response.destroyed) throw new BodyCut('the client has gone')
  const reply = await (handlers[name] as Handler<Wire3RouteName>)(incoming)
  faultPoint(`hub.${name}.before-answer`)
  finishUnread(request, response)
  await sendReply(response, reply)
  faultPoint(`hub.${name}.after-answer`)
}

function bodyOf({ request, room }: Exchange, watch: RateWatch): BodySource {
  if (room === undefined) throw new Error('a route that takes no body')
  return new BodySource(request, watch, room)
}

/** The shares: half of the envelopes, but always one of the largest; an eighth of JSON, but always its largest body. */
function openPools({ bytesInFlightMax, jsonBytesInFlightMax, envelopeBytesMax }: Limits): Parts['pools'] {
  const bodies = Object.values(wire3Routes).map(({ limits, ...row }) => ('raw' in row ? 0 : limits.bodyBytes))
  return {
    envelopes: new BodyPool(bytesInFlightMax, Math.max(bytesInFlightMax / 2, envelopeBytesMax)),
    json: new BodyPool(jsonBytesInFlightMax, Math.max(jsonBytesInFlightMax / JSON_SHARES, ...bodies)),
  }
}

/** Who asks too often gives up its place as well; a proxy's connection is not the client's. */
function losesConnection(code: Code, { socket }: IncomingMessage): boolean {
  return code === 'rate_limited' && !isProxy(socket.remoteAddress ?? '')
}

/** Whether a row, its kind of authentication or every route names a code. */
function namesCode(row: RouteRow, code: Code): boolean {
  const common: readonly string[] = commonCodes
  const ofAuth: readonly string[] = row.auth in authCodes ? authCodes[row.auth as keyof typeof authCodes] : []
  return row.codes.includes(code) || common.includes(code) || ofAuth.includes(code)
}
