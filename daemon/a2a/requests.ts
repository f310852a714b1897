/** What a request of A2A says: for which agent, in which version, which method with which parameters. */
import type { IncomingMessage } from 'node:http'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { type JsonValue, parseJson } from '../../protocol/encoding/json.ts'
import type { Timers } from '../../protocol/timers.ts'
import { readBody } from '../control/http.ts'
import type { Means } from './capability-calls.ts'
import { PROTOCOL_VERSION } from './cards.ts'
import { refuseA2a } from './errors.ts'
import { isMethod, type MethodName, methods, ownSegments } from './methods.ts'
import { extensionUris, headerNames, readHeader } from './x402.ts'

/** Files stand in bodies as base64. */
const BODY_BYTES_MAX = 8 * 1024 * 1024
const VALUES_MAX = 20_000
const JSON_TYPE = 'application/json'
const JSON_TYPES: readonly string[] = [JSON_TYPE, 'application/a2a+json']

/** An agent's part of the path, and what stands below it. */
export type RequestPlace = { tenant: string | undefined; path: string }

/** The agent that a path is below, where its first part is none of the interface's own. */
export function placeOf(pathname: string): RequestPlace {
  const [, first = ''] = pathname.split('/')
  if (first === '' || ownSegments.includes(first)) return { tenant: undefined, path: pathname }
  const rest = pathname.slice(first.length + 1)
  return { tenant: decodedSegment(first), path: rest === '' ? '/' : rest }
}

function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return refuseA2a('InvalidParams', 'the path is not encoded as an address is')
  }
}

export const decoded = (given: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, decodedSegment(value)]))

/** The body; one of another type than JSON is refused before it is read. */
export async function body(request: IncomingMessage, timers: Timers): Promise<Uint8Array> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? JSON_TYPE
  if (!JSON_TYPES.includes(type))
    refuseA2a('ContentTypeNotSupported', `send the body as Content-Type: ${JSON_TYPE}`)
  try {
    return await readBody(request, { limits: { bodyBytes: BODY_BYTES_MAX } }, timers)
  } catch (error) {
    if (error instanceof OperationRefused) return refuseA2a('InvalidRequest', error.message)
    throw error
  }
}

export function parsed(bytes: Uint8Array): JsonValue {
  try {
    return parseJson(bytes, { valuesMax: VALUES_MAX })
  } catch (error) {
    if (error instanceof Malformed) return refuseA2a('JSONParse', `the body is not JSON: ${error.message}`)
    throw error
  }
}

export function idOf(call: JsonValue): string | number | null {
  const id = typeof call === 'object' && call !== null && !Array.isArray(call) ? call['id'] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

export function callOf(call: JsonValue): { name: MethodName; params: JsonValue } {
  if (typeof call !== 'object' || call === null || Array.isArray(call) || call['jsonrpc'] !== '2.0')
    return refuseA2a('InvalidRequest')
  const { method, params = {} } = call
  if (typeof method !== 'string') return refuseA2a('InvalidRequest')
  if (!isMethod(method))
    return refuseA2a(
      'MethodNotFound',
      `there is no such method; these are: ${Object.keys(methods).join(', ')}`,
    )
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    return refuseA2a('InvalidParams', 'params: expected an object')
  return { name: method, params }
}

/** Major and minor number alone count; none means 0.3 (§3.6.2). */
export function requireVersion({ request, url }: { request: IncomingMessage; url: URL }): void {
  const header = request.headers['a2a-version']
  const given = (typeof header === 'string' ? header : undefined) ?? url.searchParams.get('A2A-Version') ?? ''
  if (given === PROTOCOL_VERSION || given.startsWith(`${PROTOCOL_VERSION}.`)) return
  refuseA2a(
    'VersionNotSupported',
    `this interface speaks A2A ${PROTOCOL_VERSION}; say so in the header A2A-Version`,
  )
}

/** What came to pay for a call, and whether the client activated the extension for payments. */
export function meansOf({ headers }: IncomingMessage): Means {
  const payment = headers[headerNames.signature.toLowerCase()]
  const asked = [headers['a2a-extensions'] ?? []].flat().join(',').split(',')
  return {
    payment: typeof payment === 'string' ? (readHeader(payment) ?? {}) : undefined,
    isExtended: asked.some(uri => (extensionUris as readonly string[]).includes(uri.trim())),
  }
}
