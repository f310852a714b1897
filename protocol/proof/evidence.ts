/**
 * Records of the evidence chain (node document §2.5): the signed preimage, its id, the link to the record before, and
 * the line of the file. One codec for the node's own chain and, later, the hub's supply chain.
 */

import { CID_BYTES, cidText, contentId, labelled, labelledSign, labelledVerify } from '../crypto/hash.ts'
import { equal, fromBase64, fromBase64url, Malformed, toBase64, utf8 } from '../encoding/bytes.ts'
import { type CborValue, decode, subMap } from '../encoding/cbor.ts'
import { Refusal } from '../encoding/errors.ts'
import { present } from '../encoding/present.ts'
import {
  blob,
  bytes,
  type Infer,
  item,
  list,
  literal,
  optional,
  record,
  required,
  text,
  uint,
} from '../encoding/record.ts'
import { aid, aidBytes } from '../identity/aid.ts'

/** Bytes of a record at most, objects §14. */
export const RECORD_BYTES_MAX = 1024 * 1024
const LABEL = 'svc-ael/v1'
const PREIMAGE_LAST_KEY = 10
/** Of records that may have a correlation, as this release writes them. */
const VERSION_MINOR = 1
/** 16 bytes in base64url. */
const INTERACTION_ID = /^[A-Za-z0-9_-]{21}[AQgw]$/

/** Previous id of the first record: the content id of a fixed text. */
export const GENESIS = contentId(utf8('svc-ael-genesis/v1'))

/** Event type of a fork anchor: two records of one seq were signed, objects §14. */
export const FORK_ANCHOR = 'svc.chain.fork'
/** Event type that is set aside and never written, objects §14. */
export const GENESIS_KIND = 'svc.chain.genesis'
/** Event type that is set aside and never written, objects §14. */
export const DISPUTE_KIND = 'svc.chain.dispute'

/** Keys 1 to 14 of a record, objects §14; {@link readRecord} also checks id, signer and place. */
export const ChainRecord = record('chain record', {
  chainDid: required(1, text(128)),
  seq: required(2, uint),
  previous: required(3, bytes(CID_BYTES)),
  eventType: required(4, text(128)),
  versionMajor: required(5, literal(2)),
  payload: required(6, item),
  ts: required(7, uint),
  signer: required(8, aid),
  keyStateSeq: required(9, uint),
  critical: optional(10, list(text(128), 16, 1)),
  id: required(11, bytes(CID_BYTES)),
  signature: required(12, bytes(64)),
  versionMinor: optional(13, uint),
  correlation: optional(14, blob(64)),
})
/** `ts` in Unix milliseconds, `id` and `previous` content ids of 36 bytes, `signature` of 64. */
export type ChainRecord = Infer<typeof ChainRecord>

/** A finished record with the bytes that stand in the file. */
export type StoredRecord = { record: ChainRecord; bytes: Uint8Array }

/** `did:svc:<AID>`, objects §14; a text that is no AID throws {@link Malformed}. */
export function chainDid(aidText: string): string {
  aidBytes(aidText)
  return `did:svc:${aidText}`
}

/** Signs a record on top of `previous`; the bytes are final and are written as they are, also by a redo. */
export function signRecord(
  seed: Uint8Array,
  given: {
    signer: string
    keyStateSeq: number
    seq: number
    previous: Uint8Array
    eventType: string
    payload: CborValue
    ts: number
  },
): StoredRecord {
  const draft = {
    chainDid: chainDid(given.signer),
    seq: given.seq,
    previous: given.previous,
    eventType: given.eventType,
    versionMajor: 2 as const,
    payload: given.payload,
    ts: given.ts,
    signer: given.signer,
    keyStateSeq: given.keyStateSeq,
    id: GENESIS,
    signature: new Uint8Array(64),
    ...unsignedOf(given.payload),
  }
  const preimage = preimageOf(ChainRecord.encode(draft))
  const finished = { ...draft, id: contentId(preimage), signature: labelledSign(LABEL, seed, preimage) }
  return { record: finished, bytes: ChainRecord.encode(finished) }
}

/** What a record of this release says outside of what is signed; the correlation is the task that the payload names. */
function unsignedOf(payload: CborValue): Pick<ChainRecord, 'versionMinor' | 'correlation'> {
  const id = payload instanceof Map ? payload.get('interaction_id') : undefined
  const isId = typeof id === 'string' && INTERACTION_ID.test(id)
  return { versionMinor: VERSION_MINOR, ...present({ correlation: isId ? fromBase64url(id) : undefined }) }
}

/** Whether what is not signed is as this release writes it, or absent as in records of earlier ones. */
export function isAsWritten({ payload, versionMinor, correlation }: ChainRecord): boolean {
  const written = unsignedOf(payload)
  const isSame =
    correlation === undefined ||
    (written.correlation !== undefined && equal(correlation, written.correlation))
  return isSame && (versionMinor === undefined || versionMinor === written.versionMinor)
}

/** Keys 1 to 10 as received: what id and signature cover. */
function preimageOf(bytes: Uint8Array): Uint8Array {
  return subMap(bytes, key => key <= PREIMAGE_LAST_KEY)
}

/** Why a record does not hold, objects §14; {@link readRecord} leaves `signature` and `key` to its caller. */
export type RecordFault = 'id' | 'chain' | 'seq' | 'previous' | 'signer' | 'signature' | 'extension' | 'key'

/** A chain that does not verify; `seq` is the record at fault. */
export class ChainInvalid extends Refusal<RecordFault | 'malformed'> {
  override name = 'ChainInvalid'
  readonly seq: number
  constructor(fault: RecordFault | 'malformed', seq: number, detail = '') {
    super(fault, `record ${seq} of the evidence chain does not verify: ${fault}${detail}`)
    this.seq = seq
  }
}

/** Everything of a record but its signature: form, own id, place in the chain. Throws {@link ChainInvalid}. */
export function readRecord(
  bytes: Uint8Array,
  place: { seq: number; previous: Uint8Array; chainDid: string },
): StoredRecord & { preimage: Uint8Array } {
  if (bytes.length > RECORD_BYTES_MAX) throw new ChainInvalid('malformed', place.seq)
  let parsed: ChainRecord
  try {
    parsed = ChainRecord.read(decode(bytes, { floats: true }), 'chain record')
  } catch (error) {
    if (error instanceof Malformed) throw new ChainInvalid('malformed', place.seq, `: ${error.message}`)
    throw error
  }
  const preimage = preimageOf(bytes)
  if (!equal(parsed.id, contentId(preimage))) throw new ChainInvalid('id', place.seq)
  if (parsed.critical !== undefined) throw new ChainInvalid('extension', place.seq)
  if (parsed.chainDid !== place.chainDid) throw new ChainInvalid('chain', place.seq)
  if (parsed.chainDid !== chainDid(parsed.signer)) throw new ChainInvalid('signer', place.seq)
  if (parsed.seq !== place.seq) throw new ChainInvalid('seq', place.seq)
  if (!equal(parsed.previous, place.previous)) throw new ChainInvalid('previous', place.seq)
  return { record: parsed, bytes, preimage }
}

/** The bytes that the signature of a record covers. */
export function signedBytes(read: { preimage: Uint8Array }): Uint8Array {
  return labelled(LABEL, read.preimage)
}

/** Whether the signature of a read record holds under the key of the key state it names. */
export function recordSignatureHolds(
  publicKey: Uint8Array,
  read: StoredRecord & { preimage: Uint8Array },
): boolean {
  return labelledVerify(LABEL, publicKey, read.preimage, read.record.signature)
}

/** The line of the chain file: base64 of the record, and a newline. */
export function recordLine(bytes: Uint8Array): string {
  return `${toBase64(bytes)}\n`
}

/** Bytes of a record from its line without the newline; throws {@link Malformed} for other than base64. */
export function parseRecordLine(line: string): Uint8Array {
  return fromBase64(line, 'chain line')
}

/** A payload as JSON shows it: byte values as base64, everything else as it is. */
export function renderPayload(value: CborValue): unknown {
  if (value instanceof Uint8Array) return toBase64(value)
  if (Array.isArray(value)) return value.map(renderPayload)
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, entry]) => [String(key), renderPayload(entry)]))
  }
  return value !== null && typeof value === 'object' ? value.value : value
}

/** A record as JSON shows it. */
export function renderRecord(record: ChainRecord): Record<string, unknown> {
  return {
    seq: record.seq,
    event_type: record.eventType,
    timestamp: record.ts,
    signer_aid: record.signer,
    payload: renderPayload(record.payload),
    id: cidText(record.id),
    prev_id: cidText(record.previous),
    sig: toBase64(record.signature),
    ...present({
      version_minor: record.versionMinor,
      corr_id: record.correlation && toBase64(record.correlation),
    }),
  }
}
