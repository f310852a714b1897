/**
 * What an adapter says of a device, as the outcome of a call. Here its word is judged: each stage may lower the trust in it,
 * none raises it, and a state that was read back counts against the one that was written (node document §2.3–§3.1).
 */
import { contentId } from '../../../protocol/crypto/hash.ts'
import { fromBase64, Malformed, toBase64 } from '../../../protocol/encoding/bytes.ts'
import { present } from '../../../protocol/encoding/present.ts'
import type { Tier } from '../../../protocol/proof/effect.ts'
import { type CallOutcome, failed, unavailable } from '../provider.ts'
import type { Description, DeviceCapability, Reading, Result, Value } from './frames.ts'
import { limits } from './limits.ts'
import { shownOf, tierLeft } from './quirks.ts'

/** The highest tiers that the owner grants. */
export type Ceiling = { readonly verify: Tier; readonly auth: Tier }
export type Subject = { description: Description; capability: DeviceCapability; ceiling: Ceiling }
type Tiers = Required<Pick<CallOutcome, 'verify' | 'auth'>>

const least = (...tiers: readonly (number | undefined)[]): Tier =>
  Math.min(...tiers.map(one => one ?? 4)) as Tier

/** What was read, or heard. */
export function readingOutcome(subject: Subject, reading: Reading, withContent = false): CallOutcome {
  const { capability, description } = subject
  const { kind, capability: name } = capability
  const quirks = quirksOf(capability, reading)
  const value = shownValue(capability, reading.value)
  const fault = faultIn(kind, reading)
  const tiers = tiersOf(subject, reading, quirks)
  const common = {
    ...tiers,
    verify: least(tiers.verify, isShown(capability, reading) ? undefined : 1),
    protocol: description.protocol,
    ...present({ quirk: quirks.join(',') || undefined, nativeAck: reading.native_ack }),
  }
  if (fault !== undefined) return { ...common, ...failed(`the adapter answered ${name} with ${fault}`) }
  const frame = reading.snapshot && snapshotOf(reading.snapshot)
  if (typeof frame === 'string') return { ...common, ...failed(frame) }
  const stream = reading.stream === undefined ? [] : [{ path: reading.stream, mediaType: 'RTSP' }]
  const said = reading.observed_state ?? (typeof value === 'number' ? undefined : value?.toString())
  const content = withContent && frame !== undefined ? contentOf(frame.bytes) : undefined
  return {
    status: 'OK',
    ...common,
    metrics: typeof value === 'number' ? { ...reading.metrics, [name]: value } : { ...reading.metrics },
    artifacts: [...(frame?.artifacts ?? []), ...stream],
    ...present({ observedState: content ?? said }),
  }
}

/** The adapter's answer to a reading. */
export function readOutcome(subject: Subject, result: Result, withContent: boolean): CallOutcome {
  return judged(result, readingOutcome(subject, result, withContent))
}

/** The adapter's answer to a write: what was read back says whether it took effect. */
export function writeOutcome(subject: Subject, written: Value, result: Result): CallOutcome {
  const { capability } = subject
  const requested = `${capability.capability}=${String(written)}`
  const outcome = { ...judged(result, readingOutcome(subject, result)), requested }
  const reported = shownValue(capability, result.value)
  if (reported === undefined) {
    const verify = least(outcome.verify, result.native_ack === true ? 1 : 0)
    return { ...outcome, verify }
  }
  const isSame =
    typeof written === 'number' && typeof reported === 'number'
      ? Math.abs(written - reported) <= (capability.tolerance ?? 0)
      : written === reported
  const words = `wrote ${String(written)}, the device reports ${String(reported)}`
  return isSame || outcome.status !== 'OK' ? outcome : { ...outcome, ...failed(words) }
}

function judged({ status, message }: Result, outcome: CallOutcome): CallOutcome {
  const said = present({ message })
  switch (status) {
    case 'OK':
      return { ...said, ...outcome }
    case 'UNVERIFIED':
      return { ...said, ...outcome, verify: least(outcome.verify, 1) }
    case 'FAILED':
      return { ...outcome, ...failed(message ?? 'the adapter says that it failed') }
    case 'UNAVAILABLE':
      return { ...unavailable(message ?? OFFLINE), ...present({ protocol: outcome.protocol }) }
  }
}

export const OFFLINE = 'device offline'

function tiersOf({ description, capability, ceiling }: Subject, reading: Reading, quirks: string[]): Tiers {
  return {
    verify: least(
      ...[reading.verify_trust, description.verify_trust, capability.verify_trust],
      ...[ceiling.verify, tierLeft(quirks)],
    ),
    auth: least(reading.auth_trust, description.auth_trust, ceiling.auth),
  }
}

/** Those of the description, then those that the adapter says it applied itself. */
function quirksOf({ quirks = [] }: DeviceCapability, { quirk = '' }: Reading): string[] {
  const own = quirk
    .split(',')
    .map(id => id.trim())
    .filter(id => id !== '')
  return [...new Set([...quirks, ...own])]
}

const shownValue = ({ quirks = [] }: DeviceCapability, value: Value | undefined): Value | undefined =>
  typeof value === 'number' ? shownOf(quirks, value) : value

/** A value of another kind than the description says. */
function faultIn(kind: DeviceCapability['kind'], { value }: Reading): string | undefined {
  if (value === undefined) return undefined
  const found = typeof value === 'string' ? 'text' : typeof value
  if (found === kind) return undefined
  return `a ${found}, and described it as a ${kind}`
}

/** Whether an answer has what was asked for; the address of a stream shows nothing of what is there. */
function isShown({ kind, capability }: DeviceCapability, reading: Reading): boolean {
  switch (kind) {
    case 'number':
    case 'boolean':
    case 'text':
      return reading.value !== undefined || reading.metrics?.[capability] !== undefined
    case 'snapshot':
      return reading.snapshot !== undefined
    case 'stream':
      return false
  }
}

type Artifacts = NonNullable<CallOutcome['artifacts']>

/** A frame with its id, which is ours: whatever an adapter says, it is that of the bytes. An empty one is not attached. */
function snapshotOf({
  media_type: mediaType,
  content,
}: NonNullable<Reading['snapshot']>): { bytes: Uint8Array; artifacts: Artifacts } | string {
  let bytes: Uint8Array
  try {
    bytes = fromBase64(content, 'content')
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return 'the adapter answered with a snapshot that is no base64'
  }
  if (bytes.length > limits.snapshotBytes.value)
    return `the snapshot has more than ${limits.snapshotBytes.value} bytes`
  const artifact = { path: 'snapshot', sizeBytes: bytes.length, contentCid: contentId(bytes), mediaType }
  return { bytes, artifacts: bytes.length === 0 ? [] : [artifact] }
}

const contentOf = (bytes: Uint8Array): string | undefined =>
  bytes.length > limits.contentBytes.value ? undefined : toBase64(bytes)
