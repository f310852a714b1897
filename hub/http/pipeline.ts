/**
 * The way of every request, whichever line it is for. Its steps stand in one list, {@link steps}, in the order in which
 * they are taken; of several faults the first in this order is told. Cheap checks come first. What a line has of its own
 * is a hook: versions, headers, who signed, and the words of its refusals.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { BODY_BYTES_DEFAULT, type RouteRow } from '../../protocol/contract/route.ts'
import type { Timers } from '../../protocol/timers.ts'
import { addressBucket, clientAddress, isProxy } from '../core/address.ts'
import type { HubContext } from '../core/context.ts'
import { type Facts, Refusal, refusalOf } from '../core/refusal.ts'
import { faultPoint } from '../faults.ts'
import { BodyCut, BodySource, declaredLength, readBody } from './body.ts'
import { decodeBody, decodeQuery } from './decode.ts'
import { Exchange, type Kinds, type Rows } from './exchange.ts'
import { hasManyHosts, mayBeJson, mediaType, preferredWait } from './headers.ts'
import { type Lifts, readLifted } from './lifted.ts'
import type { Line, LineOptions, Unparsed } from './line.ts'
import { rawJson, sendJson, sendReply, whenClosed } from './reply.ts'
import { Router } from './router.ts'
import { HEADER_BYTES_MAX } from './server.ts'
import type { Shares } from './shares.ts'

/** So much of a JSON body weighs as much as a request in the bucket of its address. */
const BYTES_OF_A_REQUEST = 64 * 1024
const SLOW_REFUSAL_MS = 1000
const NOT_FOUND = 404
/** Who signs a row that says nothing of it. */
const AGENT = 'agent'

/** Stands where the id of an error would: a refusal with a code that its row does not name. */
export const UNNAMED_CODE = 'unnamed-code'

/** A refusal as a line tells it. */
export type Told<K extends Kinds> = { code: K['code']; facts: Facts }
export type RefusalAnswer = { status: number; headers: Record<string, string>; body: Record<string, unknown> }

/** What the handler of a route is given by every line. */
export type Incoming = {
  params: Record<string, string>
  query: unknown
  body: unknown
  /** The long member of the body; undefined where it had none. */
  lifted: unknown
  headers: IncomingHttpHeaders
  /** The client's address as far as it can be known. */
  address: string
  signer: unknown
  /** The unread body of a raw route, and its length where the client said it. */
  openBody: () => { source: BodySource; declared: number | undefined }
  /** How long the client would wait for its answer, on routes that may hold it. */
  waitSeconds: number
  /** Calls back once when the client has gone; returns how to stop listening. */
  onGone: (callback: () => void) => () => void
}

/** How signers of one kind are known. */
export interface SignerHooks<K extends Kinds> {
  /** What a request says of its signer, before its body is read. */
  read(exchange: Exchange<K>): K['signed'] | undefined
  /** Who signed it, once that is certain; undefined where its handler finds out. */
  authenticate(exchange: Exchange<K>): Promise<K['signer'] | undefined>
}

/** An HTML document with its headers. */
type Page = { document: string; headers: Record<string, string> }

/** What a line has of its own. */
export interface Hooks<K extends Kinds> {
  /** What a browser is shown where nothing is; without it that is told like anything else. */
  wrongAddress?(): Page
  readonly rows: Rows<K>
  readonly handlers: Readonly<Record<K['name'], (incoming: never) => Promise<unknown>>>
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
  /** The code of what has none: a bug. */
  readonly internal: K['code']
  /** How often an address asks is left to a proxy, but for what people without keys send. */
  readonly unmetered?: true
  /** Whether a request says that it is for this line. */
  speaks(request: IncomingMessage): boolean
  /** Refuses a version that the line does not speak; no route may have been found. */
  checkVersion(exchange: Exchange<K>): void
  /** Refuses headers that the route does not take. */
  checkHeaders(exchange: Exchange<K>): void
  /** Each kind of signer that rows of the line take. */
  readonly signers: Readonly<Record<K['signer']['kind'], SignerHooks<K>>>
  /** What its handlers are given besides. */
  incoming(exchange: Exchange<K>): Record<string, unknown>
  /** What is thrown for a code that a row itself names. */
  refusal(code: K['code']): Error
  /** The code of anything thrown; undefined for a bug. */
  told(thrown: unknown): Told<K> | undefined
  namesCode(row: K['row'], code: K['code']): boolean
  /** The whole answer; `spread` in [0, 1) moves retries of an overloaded hub apart. */
  answer(told: Told<K>, row: K['row'] | undefined, spread: number): RefusalAnswer
}

/** What the steps of all requests work with. */
type Parts<K extends Kinds> = Pick<LineOptions, 'nameFault'> & {
  hooks: Hooks<K>
  shares: Shares
  /** Keeps long members of bodies, on lines that have some. */
  lifts?: Lifts<unknown>
  context: Pick<HubContext, 'limits' | 'now' | 'timers' | 'random'>
}

type Step = <K extends Kinds>(exchange: Exchange<K>, parts: Parts<K>) => void | Promise<void>

/**
 * Every request takes these steps in this order; the first that refuses ends it. Each counts for its address before it is
 * judged, so nobody floods a hub with requests that are wrong.
 */
const steps: readonly Step[] = [
  takeFromBucket,
  checkHost,
  checkVersion,
  checkKnown,
  checkHeaders,
  readQuery,
  openRoom,
  readSigner,
  receiveBody,
  readJson,
  authenticate,
  carryOut,
]

/** What is told where no request was read. */
const unparsed: Record<Unparsed, Refusal> = {
  malformed: new Refusal('requestMalformed', { why: 'it is not an HTTP request that this hub reads' }),
  headTooLarge: new Refusal('tooLarge', { limitBytes: HEADER_BYTES_MAX, part: 'head' }),
  headTooSlow: new Refusal('requestMalformed', { why: 'its head did not come in time' }),
}

/** A line over what its listener shares. */
export function openLine<K extends Kinds>(parts: Parts<K>, onError: LineOptions['onError']): Line {
  const { hooks, context, shares } = parts
  const all: readonly RouteRow[] = Object.values(hooks.rows)
  for (const row of all) signersOf(row, hooks)
  const table = { rows: hooks.rows, router: new Router<K['name']>(hooks.rows) }

  /** A code that its row does not name is a fault of the hub: clients are told nothing of it beforehand. */
  function codeOf({ request, found }: Exchange<K>, thrown: unknown): Told<K> {
    const known = hooks.told(thrown)
    if (known === undefined) onError(Buffer.from(context.random(6)).toString('hex'), thrown)
    const told = known ?? { code: hooks.internal, facts: {} }
    if (found !== undefined && !hooks.namesCode(hooks.rows[found.name], told.code))
      onError(UNNAMED_CODE, new Error(`${request.method} ${found.name} answered ${told.code}`))
    return told
  }

  function refuse(exchange: Exchange<K>, thrown: unknown): K['code'] | undefined {
    const { request, response, found } = exchange
    if (thrown instanceof BodyCut || response.destroyed) {
      response.destroy()
      return undefined
    }
    const told = codeOf(exchange, thrown)
    if (response.headersSent) {
      response.destroy()
      return told.code
    }
    const spread = (context.random(1)[0] ?? 0) / 256
    const { status, headers, body } = hooks.answer(told, found && hooks.rows[found.name], spread)
    if (losesConnection(thrown, request)) response.shouldKeepAlive = false
    shares.unread.finish(request, response)
    if (found === undefined && status === NOT_FOUND && hooks.wrongAddress !== undefined && wantsPage(request))
      return sendPage(response, hooks.wrongAddress(), told.code)
    sendJson(response, status, headers, body)
    return told.code
  }

  /** What was lifted out of a body and is kept nowhere goes. */
  async function letGo({ lifted }: Exchange<K>): Promise<void> {
    try {
      if (lifted !== undefined) await parts.lifts?.drop(lifted)
    } catch (error) {
      onError(Buffer.from(context.random(6)).toString('hex'), error)
    }
  }

  return {
    speaks: request => hooks.speaks(request),
    async handle(request, response) {
      for (const [name, value] of Object.entries(hooks.headers)) response.setHeader(name, value)
      const exchange = new Exchange<K>(request, response, table)
      const route = routeLabel(exchange)
      try {
        for (const step of steps) await step(exchange, parts)
        await letGo(exchange)
        return { route, code: undefined }
      } catch (thrown) {
        await letGo(exchange)
        return { route, code: refuse(exchange, thrown) }
      } finally {
        exchange.room?.release()
      }
    },
    answerUnparsed(fault) {
      const told = hooks.told(unparsed[fault]) ?? { code: hooks.internal, facts: {} }
      const { status, body } = hooks.answer(told, undefined, 0)
      const date = new Date(context.now()).toUTCString()
      return rawJson(status, { Date: date, ...hooks.headers }, body)
    },
  }
}

/** A person in a browser, which names pages before anything else. */
const wantsPage = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && /^\s*text\/html\b/i.test(headers.accept ?? '')

function sendPage<C>(response: ServerResponse, { document, headers }: Page, code: C): C {
  response.writeHead(NOT_FOUND, { ...headers, 'Content-Length': Buffer.byteLength(document) })
  response.end(document)
  return code
}

function routeLabel<K extends Kinds>(exchange: Exchange<K>): string {
  if (exchange.found === undefined) return 'none'
  const { method, path } = exchange.row
  return `${method} ${path}`
}

function checkHost<K extends Kinds>({ request }: Exchange<K>, { nameFault }: Parts<K>): void {
  const { httpVersion, headers, rawHeaders } = request
  if (httpVersion !== '1.0' && headers.host === undefined)
    throw new Refusal('requestMalformed', { why: 'it has no Host header' })
  if (hasManyHosts(rawHeaders))
    throw new Refusal('requestMalformed', { why: 'it has more than one Host header' })
  const why = nameFault(headers.host)
  if (why !== undefined) throw new Refusal('requestMalformed', { why })
}

function checkVersion<K extends Kinds>(exchange: Exchange<K>, { hooks }: Parts<K>): void {
  hooks.checkVersion(exchange)
}

function checkKnown<K extends Kinds>({ found }: Exchange<K>): void {
  if (found === undefined) throw new Refusal('resourceUnknown')
}

function checkHeaders<K extends Kinds>(exchange: Exchange<K>, { hooks }: Parts<K>): void {
  hooks.checkHeaders(exchange)
  const { raw, request } = exchange.row
  if (mediaType(exchange.header('content-encoding') ?? 'identity') !== 'identity')
    throw new Refusal('requestMalformed', { why: 'bodies are taken as they are, without Content-Encoding' })
  const type = mediaType(exchange.header('content-type'))
  if (raw !== undefined && type !== raw)
    throw new Refusal('requestMalformed', { why: `Content-Type must be ${raw}` })
  if (request !== undefined && !mayBeJson(type))
    throw new Refusal('requestMalformed', { why: 'Content-Type must be application/json' })
}

async function takeFromBucket<K extends Kinds>(
  exchange: Exchange<K>,
  { hooks, shares, context }: Parts<K>,
): Promise<void> {
  const socketAddress = exchange.request.socket.remoteAddress ?? ''
  exchange.address = clientAddress(socketAddress, exchange.header('x-forwarded-for'))
  const isMetered = hooks.unmetered !== true || (exchange.found !== undefined && exchange.row.apart === true)
  if (!isMetered || isProxy(exchange.address)) return
  const weight = Math.min(weightOf(exchange), context.limits.requestRate.burst)
  const bucket = addressBucket(exchange.address)
  const retryAfterMs = await shares.buckets.take(bucket, context.now(), weight)
  if (retryAfterMs === 0) return
  if ((await shares.refusals.take(bucket, context.now())) > 0)
    await heldBack(exchange.response, context.timers)
  throw new Refusal('rateLimited', { retryAfterMs })
}

/** Refusing costs the hub more than asking costs a flood: each socket of one gets a refusal a second. */
function heldBack(response: ServerResponse, timers: Timers): Promise<void> {
  return new Promise(resolve => {
    const timer = timers.after(SLOW_REFUSAL_MS, go).unref()
    const stop = whenClosed(response, go)
    function go(): void {
      timers.clear(timer)
      stop()
      resolve()
    }
  })
}

/** A body that is read before its sender is known counts as several requests, and so does what its row says. */
function weightOf<K extends Kinds>(exchange: Exchange<K>): number {
  if (exchange.found === undefined) return 1
  const { row, request } = exchange
  if (row.request === undefined) return row.limits['weight'] ?? 1
  const bytes = Math.min(declaredLength(request) ?? row.limits.bodyBytes, row.limits.bodyBytes)
  return 1 + Math.floor(bytes / BYTES_OF_A_REQUEST)
}

function readQuery<K extends Kinds>(exchange: Exchange<K>): void {
  exchange.query = decodeQuery(exchange.row, exchange.queryText)
}

/** A declared length that is too much is refused; room itself is taken as bytes arrive. */
function openRoom<K extends Kinds>(exchange: Exchange<K>, { shares, context }: Parts<K>): void {
  const { raw, limits } = exchange.row
  if (limits.bodyBytes === 0) return
  const limitBytes = raw === undefined ? limits.bodyBytes : context.limits.envelopeBytesMax
  const declared = declaredLength(exchange.request)
  if (declared !== undefined && declared > limitBytes) throw new Refusal('tooLarge', { limitBytes })
  const owner = isProxy(exchange.address) ? undefined : addressBucket(exchange.address)
  exchange.room = shares.poolOf(exchange.row).open(owner)
}

/** Nothing is read for a request that nobody claims to have signed. */
function readSigner<K extends Kinds>(exchange: Exchange<K>, { hooks }: Parts<K>): void {
  exchange.signed = signersOf(exchange.row, hooks)?.read(exchange)
}

async function receiveBody<K extends Kinds>(
  exchange: Exchange<K>,
  { shares, lifts }: Parts<K>,
): Promise<void> {
  const { request, limits, streams } = exchange.row
  if (request === undefined || exchange.room === undefined) return
  const source = new BodySource(exchange.response, shares.watch, exchange.room)
  if (streams === undefined || lifts === undefined) {
    exchange.bytes = await readBody(exchange.request, limits.bodyBytes, source)
    return
  }
  const besideBytesMax = limits['besideBytes'] ?? BODY_BYTES_DEFAULT
  const given = { member: streams, bytesMax: limits.bodyBytes, besideBytesMax, pace: shares.letterPace }
  const { bytes, lifted } = await readLifted(source, given, lifts)
  exchange.bytes = bytes
  exchange.lifted = lifted
}

function readJson<K extends Kinds>(exchange: Exchange<K>, { hooks }: Parts<K>): void {
  exchange.body = decodeBody(exchange.row, exchange.bytes, code => hooks.refusal(code))
}

async function authenticate<K extends Kinds>(exchange: Exchange<K>, { hooks }: Parts<K>): Promise<void> {
  exchange.signer = await signersOf(exchange.row, hooks)?.authenticate(exchange)
}

/** The kind of signer that a row takes; undefined where nobody signs. */
function signersOf<K extends Kinds>(row: RouteRow, { signers }: Hooks<K>): SignerHooks<K> | undefined {
  if (row.auth !== 'signed') return undefined
  const kind = row.signedBy ?? AGENT
  const known: Readonly<Record<string, SignerHooks<K>>> = signers
  const hooks = known[kind]
  if (hooks === undefined)
    throw new Error(`${row.path} is signed by a kind that its line does not know: ${kind}`)
  return hooks
}

async function carryOut<K extends Kinds>(exchange: Exchange<K>, { hooks, shares }: Parts<K>): Promise<void> {
  const { name, params, row, query, body, lifted, address, signer, request, response } = exchange
  const incoming: Incoming = {
    params,
    query,
    body,
    lifted,
    headers: request.headers,
    address,
    signer,
    openBody: () => ({ source: bodyOf(exchange, shares), declared: declaredLength(request) }),
    waitSeconds: row.held === true ? preferredWait(request.headers) : 0,
    onGone: callback => whenClosed(response, callback),
    ...hooks.incoming(exchange),
  }
  if (response.destroyed) throw new BodyCut('the client has gone')
  const handle = hooks.handlers[name as K['name']] as (given: Incoming) => Promise<unknown>
  const reply = await handle(incoming)
  faultPoint(`hub.${name}.before-answer`)
  shares.unread.finish(request, response)
  await sendReply(response, reply)
  faultPoint(`hub.${name}.after-answer`)
}

function bodyOf<K extends Kinds>({ response, room }: Exchange<K>, { watch }: Shares): BodySource {
  if (room === undefined) throw new Error('a route that takes no body')
  return new BodySource(response, watch, room)
}

/** Who asks too often gives up its place as well; a proxy's connection is not the client's. */
function losesConnection(thrown: unknown, { socket }: IncomingMessage): boolean {
  return refusalOf(thrown)?.code === 'rateLimited' && !isProxy(socket.remoteAddress ?? '')
}
