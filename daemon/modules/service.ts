/**
 * Local HTTP services as providers: a call goes to the address that is configured, and of the reply count what a service
 * may say of itself. Whatever it claims, it is a word over a wire: V1 and A0.
 */
import { Readable } from 'node:stream'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { canonicalJson, type JsonValue } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { ServiceConfig } from '../home/module-config.ts'
import {
  type CallOutcome,
  type CapabilityCall,
  failed,
  type Module,
  type Provider,
  unavailable,
} from './provider.ts'

const REPLY_BYTES_MAX = 512 * 1024
/** Members that a service says about itself; its tiers are not among them. */
const OWN_MEMBERS: readonly string[] = [
  'observed_state',
  'protocol',
  'quirk',
  'native_ack',
  'verify_trust',
  'auth_trust',
]

export const module: Module | undefined = {
  name: 'service',
  open({ config, publication }) {
    const services = config.service ?? []
    publication.declare('a header of a service', () =>
      services.flatMap(({ headers }) => Object.values(headers)),
    )
    return services.map(provider)
  },
}

function provider(service: ServiceConfig): Provider {
  return {
    capability: service.id,
    summary: service.summary,
    published: service.published,
    ...present({ price: service.price }),
    timeoutMs: service.timeout_seconds * 1000,
    trust: { verify: 1, auth: 0 },
    run: call => ask(service, call),
  }
}

async function ask({ url, method, headers }: ServiceConfig, call: CapabilityCall): Promise<CallOutcome> {
  const { capability, args, caller = null } = call
  const body = JSON.stringify({ capability, args, caller })
  let response: Response
  try {
    response = await fetch(url, {
      method,
      headers: { ...headers, 'Content-Type': 'application/json' },
      redirect: 'manual',
      signal: call.signal,
      ...present({ body: method === 'POST' ? body : undefined }),
    })
  } catch (error) {
    if (call.signal.aborted) throw error
    return unavailable(`the service cannot be reached (${causeOf(error)})`)
  }
  return outcomeOf(response)
}

const causeOf = (error: unknown): string =>
  systemCode(error instanceof Error ? error.cause : undefined) ?? 'no connection'

async function outcomeOf(response: Response): Promise<CallOutcome> {
  const text = await textOf(response)
  if (!response.ok) return failed(`the service answered HTTP ${response.status}`)
  if (text === undefined) return failed(`the service answered with more than ${REPLY_BYTES_MAX} bytes`)
  const reply = objectIn(text)
  return reply === undefined ? { status: 'OK', observedState: text, protocol: 'http' } : lifted(reply)
}

/** The reply as text; undefined where it is longer than a service may answer. */
async function textOf({ body }: Response): Promise<string | undefined> {
  if (body === null) return ''
  const parts: Buffer[] = []
  let size = 0
  for await (const part of Readable.fromWeb(body)) {
    size += (part as Uint8Array).length
    if (size > REPLY_BYTES_MAX) return undefined
    parts.push(Buffer.from(part as Uint8Array))
  }
  return Buffer.concat(parts).toString('utf8').toWellFormed()
}

function objectIn(text: string): Record<string, JsonValue> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value)
    return isObject ? (value as Record<string, JsonValue>) : undefined
  } catch {
    return undefined
  }
}

/** Numbers at the top become metrics; what else there is stays whole in the observed state. */
function lifted(reply: Record<string, JsonValue>): CallOutcome {
  const members = Object.entries(reply).filter(([name]) => !OWN_MEMBERS.includes(name))
  const numbers = members.filter((one): one is [string, number] => typeof one[1] === 'number')
  const rest = members.filter(([, value]) => typeof value !== 'number')
  const said = (name: string) => (typeof reply[name] === 'string' ? reply[name] : undefined)
  const left = rest.length === 0 ? undefined : canonicalJson(Object.fromEntries(rest))
  return {
    status: 'OK',
    metrics: Object.fromEntries(numbers),
    protocol: said('protocol') ?? 'http',
    ...present({
      observedState: said('observed_state') ?? left,
      quirk: said('quirk'),
      nativeAck: reply['native_ack'] === true || undefined,
    }),
  }
}
