/**
 * What goes over the device link: lines of JSON, one object each. What an adapter writes is judged by these shapes, and the
 * documents print them. Members of evidence have the names of the node document §2.2.
 */
import * as z from 'zod'
import { lineShape, textShape } from '../../../protocol/contract/shapes.ts'
import { isVisibleLine } from '../../../protocol/encoding/plain-text.ts'
import { tierOf } from '../../../protocol/proof/effect.ts'
import { limits } from './limits.ts'
import { isQuirk, quirkIds } from './quirks.ts'

/** The version of this interface. */
export const LINK_VERSION = 1
/** What other modules carry; an adapter that says so of itself would pass for one of them. */
const FOREIGN_PROTOCOLS: readonly string[] = ['taskboard', 'shell', 'http']

const WORDS_BYTES_MAX = 1_000
const VALUE_BYTES_MAX = 4_096
const QUIRKS_MAX = 8
const ID_MAX = 2 ** 31 - 1

export const deviceId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/, { error: 'expected a device: 1 to 64 of A-Z a-z 0-9 . _ : -' })
export const capabilityName = z.string().regex(/^[A-Za-z][A-Za-z0-9._-]{0,63}$/, {
  error: 'expected a name: a letter, then up to 63 of A-Z a-z 0-9 . _ -',
})
const line = (bytesMax: number) =>
  lineShape(bytesMax).meta({ description: `line of at most ${bytesMax} bytes` })
const words = line(WORDS_BYTES_MAX)
const id = z.int().min(1).max(ID_MAX)

const tier = (axis: 'V' | 'A') =>
  z
    .union([z.int(), z.string()])
    .transform((written, context) => {
      const found = tierOf(axis, written)
      if (found === undefined)
        context.addIssue({ code: 'custom', message: `expected 0 to 4 or ${axis}0 to ${axis}4` })
      return found ?? 0
    })
    .meta({ description: `0 to 4, or \`${axis}0\` to \`${axis}4\`` })

const protocol = z
  .string()
  .regex(/^[a-z][a-z0-9._-]{0,31}$/, { error: 'expected a protocol in small letters, such as modbus' })
  .refine(name => !FOREIGN_PROTOCOLS.includes(name), {
    error: `expected the protocol of the device; ${FOREIGN_PROTOCOLS.join(', ')} belong to other modules`,
  })

/** A value as it is written or read: what is none of these goes into `observed_state`. */
export const valueShape = z
  .union([z.number(), z.boolean(), textShape(VALUE_BYTES_MAX)], {
    error: 'expected a number, true or false, or a text',
  })
  .meta({ description: 'number, boolean, or text of at most 4096 bytes' })
export type Value = z.infer<typeof valueShape>

const quirkId = z.string().refine(isQuirk, { error: `expected a quirk: ${quirkIds.join(', ')}` })

/** The metric that counts readings for whoever watches. */
export const SEQUENCE = 'sequence'
const ownName = capabilityName.refine(name => name !== SEQUENCE, {
  error: `expected another name; ${SEQUENCE} counts readings`,
})

/** How it is with a device in one respect. */
const Capability = z.strictObject({
  capability: ownName,
  access: z
    .array(z.enum(['read', 'write', 'subscribe']))
    .min(1)
    .max(3),
  kind: z.enum(['number', 'boolean', 'text', 'snapshot', 'stream']),
  unit: line(32).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  /** How far what is read back may be from what was written. */
  tolerance: z.number().min(0).optional(),
  /** The texts that may be written. */
  values: z.array(line(256)).min(1).max(64).optional(),
  verify_trust: tier('V').optional(),
  quirks: z.array(quirkId).max(QUIRKS_MAX).optional(),
})
export type DeviceCapability = z.infer<typeof Capability>

const Describe = z.strictObject({
  type: z.literal('describe'),
  device: deviceId,
  protocol,
  name: line(128).optional(),
  vendor: line(128).optional(),
  model: line(128).optional(),
  online: z.boolean().optional(),
  verify_trust: tier('V'),
  auth_trust: tier('A'),
  capabilities: z
    .array(Capability)
    .max(limits.capabilities.value)
    .refine(list => new Set(list.map(({ capability }) => capability)).size === list.length, {
      error: 'expected each capability once',
    }),
})
export type Description = z.infer<typeof Describe>

const MEDIA_TYPE = /^[a-z]+\/[\w.+-]{1,63}$/
const Snapshot = z.strictObject({
  media_type: z.string().regex(MEDIA_TYPE, { error: 'expected a media type such as image/jpeg' }),
  /** Its bytes as base64; an empty frame is not attached. */
  content: z.string().meta({ description: `base64 of at most ${limits.snapshotBytes.value} bytes` }),
})

const streamAddress = z
  .string()
  .max(1_024)
  .refine(isStream, { error: 'expected an address such as rtsp://host/path, without a password' })
  .meta({ description: 'rtsp or rtsps address without user and password' })

function isStream(text: string): boolean {
  const url = URL.parse(text)
  const isRtsp = url?.protocol === 'rtsp:' || url?.protocol === 'rtsps:'
  return isRtsp && url.host !== '' && url.username === '' && url.password === '' && isVisibleLine(text)
}

/** What was found out about a capability. */
const reading = {
  value: valueShape.optional(),
  metrics: z
    .record(ownName, z.number())
    .refine(all => Object.keys(all).length <= limits.metrics.value, {
      error: `expected at most ${limits.metrics.value} metrics`,
    })
    .optional(),
  observed_state: textShape(limits.observedBytes.value).optional(),
  snapshot: Snapshot.optional(),
  stream: streamAddress.optional(),
  native_ack: z.boolean().optional(),
  verify_trust: tier('V').optional(),
  auth_trust: tier('A').optional(),
  /** Ids of corrections that the adapter made itself. */
  quirk: line(256).optional(),
  /** The node knows these better; an adapter may send its whole evidence all the same. */
  requested: z.string().max(WORDS_BYTES_MAX).optional(),
  protocol: z.string().max(64).optional(),
  latency_ms: z.number().optional(),
}

const Result = z.strictObject({
  type: z.literal('result'),
  id,
  status: z.enum(['OK', 'UNVERIFIED', 'FAILED', 'UNAVAILABLE']),
  message: words.optional(),
  ...reading,
})
export type Result = z.infer<typeof Result>

const Event = z.strictObject({ type: z.literal('event'), id, ...reading })
export type Reading = Omit<z.infer<typeof Event>, 'type' | 'id'>

const ends = z.strictObject({ type: z.literal('ended'), id, message: words.optional() })

/** What an adapter writes. */
export const fromAdapter = {
  hello: z.strictObject({
    type: z.literal('hello'),
    version: z.literal(LINK_VERSION),
    adapter: line(64).refine(name => name !== '', { error: 'expected a name' }),
  }),
  describe: Describe,
  state: z.strictObject({ type: z.literal('state'), device: deviceId, online: z.boolean() }),
  forget: z.strictObject({ type: z.literal('forget'), device: deviceId }),
  result: Result,
  event: Event,
  ended: ends,
} as const
export const Frame = z.discriminatedUnion('type', [
  fromAdapter.hello,
  fromAdapter.describe,
  fromAdapter.state,
  fromAdapter.forget,
  fromAdapter.result,
  fromAdapter.event,
  fromAdapter.ended,
])
export type Frame = z.infer<typeof Frame>

const asked = { id, device: deviceId, capability: capabilityName }
/** What the node writes. */
export const fromNode = {
  welcome: z.strictObject({ type: z.literal('welcome'), version: z.literal(LINK_VERSION) }),
  read: z.strictObject({ type: z.literal('read'), ...asked, timeout_ms: z.int() }),
  write: z.strictObject({ type: z.literal('write'), ...asked, value: valueShape, timeout_ms: z.int() }),
  subscribe: z.strictObject({ type: z.literal('subscribe'), ...asked }),
  unsubscribe: z.strictObject({ type: z.literal('unsubscribe'), id }),
  refused: z.strictObject({ type: z.literal('refused'), error: z.string(), device: deviceId.optional() }),
} as const
type Shapes = typeof fromNode
export type ToAdapter = { [N in keyof Shapes]: z.infer<Shapes[N]> }[keyof Shapes]
