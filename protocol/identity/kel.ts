/**
 * The key event log (KEL): inception, rotation, deactivation; replay with every refusal reason; the verdicts on a
 * submitted log against a held one (objects: identity). A thief of the current key alone can neither rotate nor kill
 * the identity, because each event commits to the digest of a next key that stays elsewhere.
 */
import { publicKey as publicKeyOf } from '#crypto'
import { labelledHash, labelledSign } from '../crypto/hash.ts'
import { verifyShown } from '../crypto/held-signatures.ts'
import { equal } from '../encoding/bytes.ts'
import { decode, encode } from '../encoding/cbor.ts'
import { Refusal } from '../encoding/errors.ts'
import {
  blob,
  bytes,
  type Field,
  type Infer,
  item,
  list,
  literal,
  mapped,
  oneOf,
  optional,
  record,
  required,
  tuple,
  uint,
} from '../encoding/record.ts'
import { aid, aidOfInception } from './aid.ts'

/** Events of one log at most, objects §4. */
export const KEL_EVENTS_MAX = 1024
/** Bytes of an encoded log at most, objects §4. */
export const KEL_BYTES_MAX = 256 * 1024
const EVENT_BODY_BYTES_MAX = 4096
const WITNESSES_MAX = 4
/** Witness entries of one event at most, objects §4. */
export const WITNESS_ENTRIES_MAX = 8
const ALG_ED25519 = 1
/** Under which key events are signed. */
export const KEL_LABEL = 'svc-kel/v1'

/** Type of the first event of a log, objects §4. */
export const INCEPTION = 0
/** Type of an event that changes the key or the home hub, objects §4. */
export const ROTATION = 1
/** Type of the event that ends a log, objects §4. */
export const DEACTIVATION = 2

/** Keys 1 to 10 of an event, objects §4; decoding throws {@link Malformed}. */
export const KeyEventBody = record('key event', {
  v: required(1, literal(1)),
  type: required(2, oneOf(INCEPTION, ROTATION, DEACTIVATION)),
  aid: optional(3, aid),
  seq: required(4, uint),
  previous: optional(5, bytes(32)),
  ts: required(6, uint),
  keys: required(7, list(tuple<[number, Uint8Array]>(uint, bytes(32)), 1, 1)),
  next: required(8, list(bytes(32), 1)),
  witnesses: required(9, list(aid, WITNESSES_MAX)),
  critical: required(10, list(item, 16)),
})
/** Digests and keys of 32 bytes, `ts` in Unix milliseconds. */
export type KeyEventBody = Infer<typeof KeyEventBody>

/** A hub's statement that it saw this event at `ts`; evidence of time, no part of the event's identity. */
export type WitnessEntry = { hub: string; hubSeq: number; ts: number; signature: Uint8Array }

/** An event, not verified; its digest and signatures cover `bodyBytes` (objects §4). */
export type KeyEvent = {
  body: KeyEventBody
  bodyBytes: Uint8Array
  signatures: [number, Uint8Array][]
  witnesses: WitnessEntry[]
}

const witnessEntry: Field<WitnessEntry> = mapped(
  tuple<[string, number, number, Uint8Array]>(aid, uint, uint, bytes(64)),
  ([hub, hubSeq, ts, signature]) => ({ hub, hubSeq, ts, signature }),
  (entry): [string, number, number, Uint8Array] => [entry.hub, entry.hubSeq, entry.ts, entry.signature],
)

/** `[body, signatures, witness entries]`, objects §4; at most 4,096 bytes of body and 8 entries. */
export const keyEvent: Field<KeyEvent> = mapped(
  tuple<[Uint8Array, [number, Uint8Array][], WitnessEntry[]]>(
    blob(EVENT_BODY_BYTES_MAX),
    list(tuple<[number, Uint8Array]>(uint, bytes(64)), 4),
    list(witnessEntry, WITNESS_ENTRIES_MAX),
  ),
  ([bodyBytes, signatures, witnesses]) => ({
    body: KeyEventBody.decode(bodyBytes),
    bodyBytes,
    signatures,
    witnesses,
  }),
  (event): [Uint8Array, [number, Uint8Array][], WitnessEntry[]] => [
    event.bodyBytes,
    event.signatures,
    event.witnesses,
  ],
)

/** A log embedded in another object. */
export const kelItem: Field<KeyEvent[]> = list(keyEvent, KEL_EVENTS_MAX)

/** Parses a log without verifying it; throws {@link Malformed}, or {@link KelInvalid} for a log over the limits. */
export function decodeKel(log: Uint8Array): KeyEvent[] {
  if (log.length > KEL_BYTES_MAX) throw new KelInvalid('too_large')
  return kelItem.read(decode(log), 'key event log')
}

/** Encodes a log as svc-cbor; its limits are not checked (objects §4). */
export function encodeKel(events: readonly KeyEvent[]): Uint8Array {
  return encode(kelItem.write([...events]))
}

/** Why a log does not verify, objects §4. */
export type KelFault =
  | 'empty'
  | 'too_large'
  | 'not_an_inception'
  | 'second_inception'
  | 'wrong_members'
  | 'wrong_aid'
  | 'wrong_seq'
  | 'wrong_previous'
  | 'time_not_rising'
  | 'unknown_algorithm'
  | 'wrong_commitment'
  | 'missing_commitment'
  | 'commitment_after_end'
  | 'witness_at_inception'
  | 'unknown_extension'
  | 'wrong_signers'
  | 'bad_signature'
  | 'after_deactivation'

/** A log that does not verify; `seq` is the event at fault. */
export class KelInvalid extends Refusal<KelFault> {
  override name = 'KelInvalid'
  readonly seq: number
  constructor(fault: KelFault, seq = 0) {
    super(fault, `key event ${seq}: ${fault.replaceAll('_', ' ')}`)
    this.seq = seq
  }
}

declare const verified: unique symbol

/** A log every event of which has been checked; only {@link verifyKel} and its kin make one. */
export type VerifiedKel = {
  readonly [verified]: true
  readonly events: readonly KeyEvent[]
  readonly aid: string
  /** Sequence number of the last event, the value of `X-Svc-Seq`. */
  readonly seq: number
  readonly ts: number
  /** The current identity key. */
  readonly publicKey: Uint8Array
  readonly headDigest: Uint8Array
  /** The hub the last event names as witness: the agent's home. */
  readonly home: string | undefined
  readonly deactivated: boolean
}

/** H("svc-kel-id/v1" ‖ 00 ‖ body): what the next event points back to; signatures are no part of it. */
export function eventDigest(body: Uint8Array): Uint8Array {
  return labelledHash('svc-kel-id/v1', body)
}

/** H("svc-kel-next/v1" ‖ 00 ‖ cbor([alg, pk])): the commitment to a key not yet revealed. */
export function keyCommitment(publicKey: Uint8Array): Uint8Array {
  return labelledHash('svc-kel-next/v1', encode([ALG_ED25519, publicKey]))
}

/** Judges the signature of an event whose form holds. */
export type SignatureCheck = (key: Uint8Array, event: KeyEvent) => boolean

const checkSignature: SignatureCheck = (key, { bodyBytes, signatures: [first] }) =>
  first !== undefined && verifyShown(KEL_LABEL, key, bodyBytes, first[1])

/** Replays a log from its inception; throws {@link KelInvalid} at the first event that does not hold. */
export function verifyKel(events: readonly KeyEvent[]): VerifiedKel {
  return verifyTail(undefined, events)
}

/** Replays further events on top of a verified log; `check` is another one only where the signatures are checked elsewhere. */
export function extendKel(
  log: VerifiedKel | undefined,
  events: readonly KeyEvent[],
  check = checkSignature,
): VerifiedKel {
  return verifyTail(log, events, check)
}

/** The log of events that were verified before they were stored; nothing is checked again. */
export function storedKel(events: readonly KeyEvent[]): VerifiedKel {
  const [inception] = events
  if (inception === undefined) throw new KelInvalid('empty')
  return summary(aidOfInception(inception.bodyBytes), events)
}

/** The key that was current at `seq`, for things signed under a key since retired. */
export function keyAt(log: VerifiedKel, seq: number): Uint8Array | undefined {
  return log.events[seq]?.body.keys[0]?.[1]
}

function verifyTail(
  base: VerifiedKel | undefined,
  tail: readonly KeyEvent[],
  check = checkSignature,
): VerifiedKel {
  const events = base === undefined ? [...tail] : [...base.events, ...tail]
  if (events.length === 0) throw new KelInvalid('empty')
  if (events.length > KEL_EVENTS_MAX) throw new KelInvalid('too_large', KEL_EVENTS_MAX)
  const inception = events[0] as KeyEvent
  const identifier = base?.aid ?? aidOfInception(inception.bodyBytes)
  for (let seq = base?.events.length ?? 0; seq < events.length; seq++) {
    const fault = eventFault(identifier, events[seq - 1], events[seq] as KeyEvent, seq, check)
    if (fault !== undefined) throw new KelInvalid(fault, seq)
  }
  return summary(identifier, events)
}

function summary(identifier: string, events: readonly KeyEvent[]): VerifiedKel {
  const last = events.at(-1) as KeyEvent
  return {
    events,
    aid: identifier,
    seq: last.body.seq,
    ts: last.body.ts,
    publicKey: (last.body.keys[0] as [number, Uint8Array])[1],
    headDigest: eventDigest(last.bodyBytes),
    home: last.body.witnesses[0],
    deactivated: last.body.type === DEACTIVATION,
  } as unknown as VerifiedKel
}

function eventFault(
  identifier: string,
  before: KeyEvent | undefined,
  event: KeyEvent,
  seq: number,
  check: SignatureCheck,
): KelFault | undefined {
  const { body } = event
  const [algorithm, key] = body.keys[0] as [number, Uint8Array]
  if (body.seq !== seq) return 'wrong_seq'
  if (algorithm !== ALG_ED25519) return 'unknown_algorithm'
  if (body.critical.length > 0) return 'unknown_extension'
  if (body.type === DEACTIVATION ? body.next.length > 0 : body.next.length === 0) {
    return body.type === DEACTIVATION ? 'commitment_after_end' : 'missing_commitment'
  }
  const fault = before === undefined ? inceptionFault(body) : successorFault(identifier, before, body, key)
  if (fault !== undefined) return fault
  const [signature, ...others] = event.signatures
  if (signature === undefined || others.length > 0 || signature[0] !== 0) return 'wrong_signers'
  return check(key, event) ? undefined : 'bad_signature'
}

function inceptionFault(body: KeyEventBody): KelFault | undefined {
  if (body.type !== INCEPTION) return 'not_an_inception'
  if (body.aid !== undefined || body.previous !== undefined) return 'wrong_members'
  return body.witnesses.length > 0 ? 'witness_at_inception' : undefined
}

function successorFault(
  identifier: string,
  before: KeyEvent,
  body: KeyEventBody,
  key: Uint8Array,
): KelFault | undefined {
  if (before.body.type === DEACTIVATION) return 'after_deactivation'
  if (body.type === INCEPTION) return 'second_inception'
  if (body.aid === undefined || body.previous === undefined) return 'wrong_members'
  if (body.aid !== identifier) return 'wrong_aid'
  if (!equal(body.previous, eventDigest(before.bodyBytes))) return 'wrong_previous'
  if (body.ts <= before.body.ts) return 'time_not_rising'
  const commitment = before.body.next[0]
  return commitment !== undefined && equal(commitment, keyCommitment(key)) ? undefined : 'wrong_commitment'
}

/** A submitted log beside the held one, objects §4; `seq` of a fork is the first event that differs. */
export type KelVerdict =
  | { verdict: 'unchanged' }
  | { verdict: 'rollback' }
  | { verdict: 'extends'; log: VerifiedKel }
  | { verdict: 'fork'; seq: number; held: KeyEvent; submitted: KeyEvent }

/**
 * Compares a submitted log with the held one. The first differing event is a fork only when it verifies on top of what
 * both share; otherwise anyone could smear an identity, so it throws {@link KelInvalid}. What both share is never
 * verified again, and nothing after the differing event is looked at.
 */
export function compareKel(
  held: VerifiedKel,
  submitted: readonly KeyEvent[],
  check = checkSignature,
): KelVerdict {
  if (submitted.length === 0) throw new KelInvalid('empty')
  const common = Math.min(held.events.length, submitted.length)
  for (let seq = 0; seq < common; seq++) {
    const ours = held.events[seq] as KeyEvent
    const theirs = submitted[seq] as KeyEvent
    if (equal(ours.bodyBytes, theirs.bodyBytes)) continue
    if (seq === 0) throw new KelInvalid('wrong_aid')
    const fault = eventFault(held.aid, held.events[seq - 1], theirs, seq, check)
    if (fault !== undefined) throw new KelInvalid(fault, seq)
    return { verdict: 'fork', seq, held: ours, submitted: theirs }
  }
  if (submitted.length === held.events.length) return { verdict: 'unchanged' }
  if (submitted.length < held.events.length) return { verdict: 'rollback' }
  return { verdict: 'extends', log: extendKel(held, submitted.slice(common), check) }
}

/** First event of an identity, signed by its own key, with the next key already committed to. */
export function incept(options: { seed: Uint8Array; nextSeed: Uint8Array; ts: number }): VerifiedKel {
  const body: KeyEventBody = {
    v: 1,
    type: INCEPTION,
    seq: 0,
    ts: options.ts,
    keys: [[ALG_ED25519, publicKeyOf(options.seed)]],
    next: [keyCommitment(publicKeyOf(options.nextSeed))],
    witnesses: [],
    critical: [],
  }
  return verifyKel([signEvent(options.seed, body)])
}

/** Reveals the committed key, commits to another, and names the witness hub (the old one unless given). */
export function rotate(
  log: VerifiedKel,
  options: { seed: Uint8Array; nextSeed: Uint8Array; ts: number; home?: string },
): VerifiedKel {
  const home = options.home ?? log.home
  const body = successorBody(log, ROTATION, options.seed, options.ts, home)
  return extendKel(log, [
    signEvent(options.seed, { ...body, next: [keyCommitment(publicKeyOf(options.nextSeed))] }),
  ])
}

/** Ends the identity for good; needs the committed key. */
export function deactivate(log: VerifiedKel, options: { seed: Uint8Array; ts: number }): VerifiedKel {
  return extendKel(log, [
    signEvent(options.seed, successorBody(log, DEACTIVATION, options.seed, options.ts, log.home)),
  ])
}

function successorBody(
  log: VerifiedKel,
  type: typeof ROTATION | typeof DEACTIVATION,
  seed: Uint8Array,
  ts: number,
  home: string | undefined,
): KeyEventBody {
  return {
    v: 1,
    type,
    aid: log.aid,
    seq: log.seq + 1,
    previous: log.headDigest,
    ts: Math.max(ts, log.ts + 1),
    keys: [[ALG_ED25519, publicKeyOf(seed)]],
    next: [],
    witnesses: home === undefined ? [] : [home],
    critical: [],
  }
}

function signEvent(seed: Uint8Array, body: KeyEventBody): KeyEvent {
  const bodyBytes = KeyEventBody.encode(body)
  return { body, bodyBytes, signatures: [[0, labelledSign(KEL_LABEL, seed, bodyBytes)]], witnesses: [] }
}
