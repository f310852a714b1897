/**
 * The way of every wire-3 request, in one order: wire version, route row, headers, rate bucket, strict decoding,
 * authentication, one call into the core, reply. Cheap checks come first.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { authCodes, type Code, commonCodes } from '../../protocol/wire3/codes.ts'
import { ENVELOPE_TYPE, headers, identityHeaders, WIRE } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { addressBucket, clientAddress, isLoopback } from '../core/address.ts'
import { MODE_SETTING } from '../core/admission.ts'
import type { Agent } from '../core/agents.ts'
import type { Hub } from '../core/hub.ts'
import { RateBuckets } from '../core/rate.ts'
import { Refusal } from '../core/refusal.ts'
import { faultPoint } from '../faults.ts'
import { BodyCut, BodySource, BytesInFlight, declaredLength, RateWatch, readBody } from '../http/body.ts'
import { findRoute } from '../http/router.ts'
import { Authenticator, header, readSignedHeaders, unauthorized } from './auth.ts'
import { cardHandlers } from './cards.ts'
import { decodeBody, decodeQuery } from './decode.ts'
import { directoryHandlers } from './directory.ts'
import { type Handler, type Handlers, type Incoming, Streamed } from './handler.ts'
import { pageHandlers } from './pages.ts'
import { refusalAnswer, refusalCode, WireRefusal } from './refusals.ts'
import { registerHandlers } from './register.ts'
import { relayHandlers } from './relay.ts'
import { reviewHandlers } from './reviews.ts'

const NO_BODY = new Uint8Array(0)
/** An unread rest up to this size is thrown away quietly, so that the connection can be used again. */
const REST_BYTES_MAX = 256 * 1024
const CLOSE_AFTER_MS = 2000

/** Stands where the id of an error would: a refusal with a code that its row does not name. */
export const UNNAMED_CODE = 'unnamed-code'

export type AppOptions = { hub: Hub; baseUrl: () => string; onError: (id: string, error: unknown) => void }
export type App = {
  /** Answers one request; resolves with the code of the refusal, if it was one. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<Code | undefined>
  bytesInFlight(): number
  close(): void
}

/** The request listener of wire 3 over a hub. */
export function createApp({ hub, baseUrl, onError }: AppOptions): App {
  const { limits, now, random, identity } = hub.context
  const watch = new RateWatch(limits.bodyBytesPerSecondMin, limits.bodyGraceMs)
  const inFlight = new BytesInFlight(limits.bytesInFlightMax)
  const buckets = new RateBuckets(limits.requestRate)
  const authenticator = new Authenticator({
    hub: identity.aid,
    clocks: hub.clocks,
    now,
    verifier: hub.context.verifier,
  })
  const handlers: Handlers = {
    ...relayHandlers(hub),
    ...registerHandlers(hub, baseUrl),
    ...directoryHandlers(hub),
    ...reviewHandlers(hub),
    ...cardHandlers(hub, baseUrl),
    ...pageHandlers(hub, baseUrl),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '/'
    const [path = '/', query = ''] = splitTarget(target)
    checkWire(request.method ?? '', path, header(request.headers, headers.wire))
    const found = findRoute(request.method ?? '', path)
    if (found === undefined) throw new Refusal('resourceUnknown')
    const row: RouteRow = wire3Routes[found.name]
    checkHeaders(row, request)
    const address = clientAddress(
      request.socket.remoteAddress ?? '',
      header(request.headers, 'x-forwarded-for'),
    )
    takeFromBucket(address)
    const decodedQuery = decodeQuery(row, query)
    const release = reserve(row, request)
    try {
      const bytes = row.request === undefined ? NO_BODY : await readBody(request, row.limits.bodyBytes, watch)
      const body = decodeBody(found.name, row, bytes)
      const line = { method: row.method, path: target, body: bytes, action: row.action ?? '' }
      const signer =
        row.auth === 'signed' ? await authenticate(found.name, found.params, request, line) : undefined
      const incoming = {
        params: found.params,
        query: decodedQuery,
        body,
        headers: request.headers,
        address,
        signer,
        verifySigner: log => authenticator.verify(readSignedHeaders(request.headers), line, log),
        openBody: () => new BodySource(request, watch),
        request,
        onGone: callback => whenClosed(response, callback),
      } as Incoming<Wire3RouteName>
      const reply = await (handlers[found.name] as Handler<Wire3RouteName>)(incoming)
      faultPoint(`hub.${found.name}.before-answer`)
      finishUnread(request, response)
      await send(response, reply)
      faultPoint(`hub.${found.name}.after-answer`)
    } finally {
      release()
    }
  }

  function takeFromBucket(address: string): void {
    if (isLoopback(address)) return
    const waitMs = buckets.take(addressBucket(address), now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
  }

  function reserve(row: RouteRow, request: IncomingMessage): () => void {
    if (row.limits.bodyBytes === 0) return () => undefined
    const declared = declaredLength(request)
    const bytesMax = row.raw === undefined ? row.limits.bodyBytes : limits.envelopeBytesMax
    if (declared !== undefined && declared > bytesMax) throw new Refusal('tooLarge', { limitBytes: bytesMax })
    return inFlight.reserve(declared ?? bytesMax)
  }

  async function authenticate(
    name: Wire3RouteName,
    params: Record<string, string>,
    request: IncomingMessage,
    line: { method: string; path: string; body: Uint8Array; action: string },
  ): Promise<Agent | undefined> {
    const given = readSignedHeaders(request.headers)
    // Registration is judged under the submitted log, after the cheaper checks of the core.
    if (name === 'register') return undefined
    if (params['aid'] !== undefined && params['aid'] !== given.aid)
      throw unauthorized('the signer is not the agent of this path')
    const agent = await hub.agents.findRegistered(given.aid)
    if (agent === undefined) return await refuseUnknown(name, given.aid)
    await authenticator.verify(given, line, agent.log)
    return agent
  }

  async function refuseUnknown(name: Wire3RouteName, aid: string): Promise<never> {
    const { store } = hub.context
    if (name === 'relaySession' && (await store.setting(MODE_SETTING)) !== 'open') {
      const { admitted } = await store.account(aid)
      if (!admitted) throw new Refusal('admissionRequired', { aid })
    }
    throw unauthorized('the signer is not registered here')
  }

  function refuse(request: IncomingMessage, response: ServerResponse, thrown: unknown): Code | undefined {
    if (thrown instanceof BodyCut || response.destroyed) {
      response.destroy()
      return undefined
    }
    let known = refusalCode(thrown, request.url?.startsWith(wire3Routes.relaySend.path) === true)
    if (known === undefined) {
      onError(Buffer.from(random(6)).toString('hex'), thrown)
      known = { code: 'internal', facts: {} }
    }
    checkNamed(request, known.code)
    if (response.headersSent) {
      response.destroy()
      return known.code
    }
    const spread = (random(1)[0] as number) / 256
    const refused = refusalAnswer(known.code, known.facts, baseUrl(), spread)
    finishUnread(request, response)
    sendJson(response, refused.status, refused.headers, refused.body)
    return known.code
  }

  /** A code that its row does not name is a fault of the hub: clients are told nothing of it beforehand. */
  function checkNamed(request: IncomingMessage, code: Code): void {
    const [path = '/'] = splitTarget(request.url ?? '/')
    const found = findRoute(request.method ?? '', path)
    if (found !== undefined && !namesCode(wire3Routes[found.name], code))
      onError(UNNAMED_CODE, new Error(`${request.method} ${found.name} answered ${code}`))
  }

  return {
    async handle(request, response) {
      response.setHeader(headers.wire, String(WIRE))
      try {
        await answer(request, response)
        return undefined
      } catch (thrown) {
        return refuse(request, response, thrown)
      }
    },
    bytesInFlight: () => inFlight.held,
    close: () => watch.close(),
  }
}

/** Whether a row, its kind of authentication or every route names a code. */
function namesCode(row: RouteRow, code: Code): boolean {
  const common: readonly string[] = commonCodes
  const ofAuth: readonly string[] = row.auth in authCodes ? authCodes[row.auth as keyof typeof authCodes] : []
  return row.codes.includes(code) || common.includes(code) || ofAuth.includes(code)
}

/** Path and query of a request target. */
function splitTarget(target: string): [string, string] {
  const mark = target.indexOf('?')
  return mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

/** Versions above are refused everywhere; below or none only where no browser reads (hub API §9). */
function checkWire(method: string, path: string, declared: string | undefined): void {
  const version = declared !== undefined && /^[0-9]{1,6}$/.test(declared) ? Number(declared) : 0
  if (version > WIRE) throw new WireRefusal('wire_too_new')
  const readable = method === 'GET' && !path.startsWith('/relay/') && !path.startsWith('/fed/')
  if (version < WIRE && !readable) throw new WireRefusal('wire_too_old')
}

function checkHeaders(row: RouteRow, request: IncomingMessage): void {
  const anonymous = row.auth === 'anonymous' || row.auth === 'credential'
  if (anonymous && identityHeaders.some(name => header(request.headers, name) !== undefined))
    throw new WireRefusal('identity_headers_not_allowed')
  if (row.raw === 'envelope' && header(request.headers, 'content-type') !== ENVELOPE_TYPE)
    throw new Refusal('requestMalformed', { why: `Content-Type must be ${ENVELOPE_TYPE}` })
}

function whenClosed(response: ServerResponse, callback: () => void): () => void {
  if (response.destroyed) callback()
  response.once('close', callback)
  return () => response.removeListener('close', callback)
}

async function send(response: ServerResponse, reply: unknown): Promise<void> {
  if (!(reply instanceof Streamed)) return sendJson(response, 200, {}, reply)
  response.writeHead(200, reply.headers)
  await reply.write(response)
  response.end()
}

function sendJson(
  response: ServerResponse,
  status: number,
  more: Record<string, string>,
  body: unknown,
): void {
  // Text goes out in one write together with its headers.
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...more,
  })
  response.end(text)
}

/**
 * An answer may come while the client is still sending. A small rest is read and dropped; for a large one the
 * connection ends, a moment later, so that the client can read the answer first.
 */
function finishUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return
  const declared = declaredLength(request)
  request.resume()
  if (declared !== undefined && declared <= REST_BYTES_MAX) return
  response.setHeader('Connection', 'close')
  response.once('finish', () => {
    const timer = setTimeout(() => request.destroy(), CLOSE_AFTER_MS)
    timer.unref()
    request.once('close', () => clearTimeout(timer))
  })
}
