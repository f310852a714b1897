/**
 * Effects: the outcome of a capability call. Five statuses, evidence of how it was executed, a record of what can be
 * checked, two trust axes that can only be lowered, and the one JSON rendering (node document §2.1–§2.4, §3.1).
 */

import { CID_BYTES, cidText, isContentId } from '../crypto/hash.ts'
import { Malformed } from '../encoding/bytes.ts'
import { CborFloat, type CborMap, type CborValue } from '../encoding/cbor.ts'
import { canonicalJson, type JsonValue } from '../encoding/json.ts'
import { present } from '../encoding/present.ts'
import {
  bool,
  bytes,
  type Field,
  type Infer,
  int,
  list,
  mapped,
  oneOf,
  optional,
  record,
  required,
  text,
  uint,
} from '../encoding/record.ts'

/** In the order of their numbers in CBOR, which are 1 to 5 (objects §15). */
export const statuses = ['OK', 'UNVERIFIED', 'FAILED', 'UNAVAILABLE', 'PAYMENT_REQUIRED'] as const
/** Text of a status, as receipts and renderings have it. */
export type Status = (typeof statuses)[number]

const TEXT_BYTES_MAX = 4096
const OBSERVED_BYTES_MAX = 4 * 1024 * 1024
const METRICS_MAX = 256
const LIST_MAX = 1024
const TRUST_MAX = 4
/** Below this tier a result may not claim `OK`. */
export const OK_TRUST_MIN = 2

const short = text(TEXT_BYTES_MAX)
const trust = oneOf(0, 1, 2, 3, TRUST_MAX)

const metrics: Field<Record<string, number>> = {
  read(value, name) {
    if (!(value instanceof Map) || value.size === 0 || value.size > METRICS_MAX)
      throw new Malformed(`${name} is not a map of 1 to ${METRICS_MAX} metrics`)
    const out: [string, number][] = []
    for (const [key, item] of value) {
      if (typeof key !== 'string') throw new Malformed(`${name} has a key that is not text`)
      if (!(item instanceof CborFloat)) throw new Malformed(`${name} ${key} is not a float`)
      out.push([key, item.value])
    }
    return Object.fromEntries(out)
  },
  write: value =>
    new Map(
      Object.entries(value).map(([key, item]): [string, CborValue] => [key, new CborFloat(item)]),
    ) as CborMap,
}

const cid: Field<Uint8Array> = mapped(bytes(CID_BYTES), checkedCid, checkedCid)

function checkedCid(stored: Uint8Array): Uint8Array {
  if (!isContentId(stored)) throw new Malformed('content id is not CIDv1 raw sha2-256')
  return stored
}

const Artifact = record('artifact', {
  path: optional(1, short),
  sizeBytes: optional(2, uint),
  contentCid: optional(3, cid),
  mediaType: optional(4, text(128)),
})
const TestResult = record('test result', { id: optional(1, short), status: optional(2, oneOf(1, 2, 3)) })
const Resource = record('resource', {
  kind: optional(1, short),
  id: optional(2, short),
  mergeClass: optional(3, short),
})
const EffectRef = record('effect reference', {
  verb: optional(1, oneOf(1, 2, 3, 4, 5)),
  resource: optional(2, Resource),
})

/** What can be checked of an effect; every key is omitted when empty. */
export const EffectRecord = record('effect record', {
  artifacts: optional(1, list(Artifact, LIST_MAX, 1)),
  tests: optional(2, list(TestResult, LIST_MAX, 1)),
  metrics: optional(3, metrics),
  resources: optional(4, list(Resource, LIST_MAX, 1)),
  effects: optional(5, list(EffectRef, LIST_MAX, 1)),
})
/** Lists of 1 to 1,024 items, 1 to 256 metrics, content ids of 36 bytes, sizes in bytes (objects §15). */
export type EffectRecord = Infer<typeof EffectRecord>

/** How the effect came about; every key is omitted when empty. */
export const Evidence = record('evidence', {
  requested: optional(1, short),
  protocol: optional(2, short),
  nativeAck: optional(3, bool),
  observedState: optional(4, text(OBSERVED_BYTES_MAX)),
  latencyMs: optional(5, int),
  verifyTrust: optional(6, trust),
  authTrust: optional(7, trust),
  quirk: optional(8, short),
})
/** Texts of at most 4 KiB, `observedState` of 4 MiB; milliseconds; tiers 0 to 4 (objects §15). */
export type Evidence = Infer<typeof Evidence>

const statusNumber: Field<Status> = mapped(
  oneOf(1, 2, 3, 4, 5),
  (stored): Status => statuses[stored - 1] as Status,
  status => (statuses.indexOf(status) + 1) as 1 | 2 | 3 | 4 | 5,
)

/** The outcome of a call in CBOR, objects §15; decoding throws {@link Malformed}. */
export const Effect = record('effect', {
  status: required(1, statusNumber),
  record: optional(2, EffectRecord),
  message: required(3, short),
  evidence: optional(4, Evidence),
})
/** `message` has at most 4 KiB; {@link buildEffect} makes one that keeps to the rules. */
export type Effect = Infer<typeof Effect>

/** An effect is verifiable only when its status is `OK` and a record is there. */
export function isVerifiable(effect: Effect): boolean {
  return effect.status === 'OK' && effect.record !== undefined
}

/**
 * Builds an effect under the rules: `OK` needs a record and a trust of at least V2, else it is `UNVERIFIED`; a record
 * exists only when there are metrics or artifacts.
 */
export function buildEffect(given: Effect): Effect {
  const { record: found, evidence } = given
  const kept = found === undefined ? {} : withoutEmpty(found)
  const hasRecord = kept.metrics !== undefined || kept.artifacts !== undefined
  const lowTrust = (evidence?.verifyTrust ?? 0) < OK_TRUST_MIN
  const downgrade = given.status === 'OK' && (!hasRecord || lowTrust)
  const reason = lowTrust
    ? 'executed, but below the trust that OK needs'
    : 'executed, but nothing can be checked'
  return {
    status: downgrade ? 'UNVERIFIED' : given.status,
    message: downgrade && given.message === '' ? reason : given.message,
    ...present({ record: hasRecord ? kept : undefined }),
    ...present({ evidence }),
  }
}

/** A record that names no metric and no artifact in them has none, whatever empty map or list stands there. */
function withoutEmpty(found: EffectRecord): EffectRecord {
  return Object.fromEntries(Object.entries(found).filter(([, items]) => Object.keys(items).length > 0))
}

/** Trust can only be lowered: the lesser of what was claimed and what this stage allows. */
export function lowerTrust(
  evidence: Evidence,
  cap: { verify?: 0 | 1 | 2 | 3 | 4; auth?: 0 | 1 | 2 | 3 | 4 },
): Evidence {
  const least = (claimed: 0 | 1 | 2 | 3 | 4 | undefined, allowed: 0 | 1 | 2 | 3 | 4 = TRUST_MAX) =>
    Math.min(claimed ?? 0, allowed) as 0 | 1 | 2 | 3 | 4
  return {
    ...evidence,
    verifyTrust: least(evidence.verifyTrust, cap.verify),
    authTrust: least(evidence.authTrust, cap.auth),
  }
}

/** Evidence as every outward surface shows it: the trust axes always, everything else only when it says something. */
export function renderEvidence(evidence: Evidence = {}): Record<string, JsonValue> {
  return {
    verify_trust: evidence.verifyTrust ?? 0,
    auth_trust: evidence.authTrust ?? 0,
    ...present({
      protocol: evidence.protocol || undefined,
      requested: evidence.requested || undefined,
      observed_state: evidence.observedState || undefined,
      quirk: evidence.quirk || undefined,
      native_ack: evidence.nativeAck || undefined,
      latency_ms: (evidence.latencyMs ?? 0) > 0 ? (evidence.latencyMs as number) : undefined,
    }),
  }
}

/**
 * The one JSON rendering of an effect: RFC 8785, so that result bytes and their content id are stable. A quote says in
 * `payment_required` what it asks for.
 */
export function renderEffect(effect: Effect, paymentRequired?: JsonValue): string {
  const { metrics: measured, artifacts, tests, resources, effects } = effect.record ?? {}
  return canonicalJson({
    status: effect.status,
    message: effect.message,
    verifiable: isVerifiable(effect),
    ...present({ metrics: measured }),
    ...present({ artifacts: artifacts?.map(renderArtifact) }),
    ...present({ tests: tests?.map(renderTest) }),
    ...present({ resources: resources?.map(renderResource) }),
    ...present({ effects: effects?.map(renderReference) }),
    ...present({ payment_required: paymentRequired }),
    evidence: renderEvidence(effect.evidence),
  })
}

function renderArtifact(artifact: Infer<typeof Artifact>): Record<string, JsonValue> {
  return {
    ...present({
      path: artifact.path || undefined,
      size_bytes: artifact.sizeBytes || undefined,
      content_cid: artifact.contentCid ? cidText(artifact.contentCid) : undefined,
      media_type: artifact.mediaType || undefined,
    }),
  }
}

const TEST_STATUSES = ['pass', 'fail', 'absent'] as const
const VERBS = ['create', 'modify', 'delete', 'call', 'get'] as const

function renderTest({ id, status }: Infer<typeof TestResult>): Record<string, JsonValue> {
  return present({
    id: id || undefined,
    status: status === undefined ? undefined : TEST_STATUSES[status - 1],
  })
}

function renderResource({ kind, id, mergeClass }: Infer<typeof Resource>): Record<string, JsonValue> {
  return present({
    kind: kind || undefined,
    id: id || undefined,
    merge_class: mergeClass || undefined,
  })
}

function renderReference({ verb, resource }: Infer<typeof EffectRef>): Record<string, JsonValue> {
  return present({
    verb: verb === undefined ? undefined : VERBS[verb - 1],
    resource: resource && renderResource(resource),
  })
}

/** V0 to V4 or A0 to A4 as a number; `OK` needs V2 or above (objects §15). */
export type Tier = 0 | 1 | 2 | 3 | 4

/** A tier as it is written anywhere: its number, V0 to V4 or A0 to A4, and by its older name T0 to T4. */
export function tierOf(axis: 'V' | 'A', written: unknown): Tier | undefined {
  if (typeof written === 'number') return isTier(written) ? written : undefined
  const match = typeof written === 'string' ? /^([VAT])([0-4])$/.exec(written) : null
  const isNamed = match?.[1] === axis || (match?.[1] === 'T' && axis === 'V')
  return match !== null && isNamed ? (Number(match[2]) as Tier) : undefined
}

const isTier = (value: number): value is Tier => Number.isInteger(value) && value >= 0 && value <= TRUST_MAX

/** A rendered effect of somebody with its tiers as numbers, whatever they were written as; what is no tier says nothing. */
export function withTiers(effect: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { evidence } = effect
  if (evidence === null || typeof evidence !== 'object' || Array.isArray(evidence)) return { ...effect }
  const { verify_trust, auth_trust } = evidence as Record<string, unknown>
  const tiers = { verify_trust: tierOf('V', verify_trust) ?? 0, auth_trust: tierOf('A', auth_trust) ?? 0 }
  return { ...effect, evidence: { ...evidence, ...tiers } }
}

/** How much of what was observed stands in the words of an effect. */
const OBSERVED_SHOWN_CHARACTERS = 4000
const METRICS_SHOWN = 32

/** What a reader sees of a rendered effect: status and message, then what was measured and observed. */
export function effectText(rendered: Readonly<Record<string, unknown>>): string {
  const { metrics: measured, evidence } = rendered
  const lines = isRecord(measured)
    ? Object.entries(measured)
        .slice(0, METRICS_SHOWN)
        .map(([name, value]) => `${name}: ${String(value)}`)
    : []
  const observed = isRecord(evidence) ? evidence['observed_state'] : undefined
  if (typeof observed === 'string') lines.push(observed.slice(0, OBSERVED_SHOWN_CHARACTERS))
  return [`${String(rendered['status'])}: ${String(rendered['message'])}`, ...lines].join('\n')
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
