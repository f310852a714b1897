/**
 * The JSON form of a chain line, as older nodes wrote it (node document: evidence chain record): the members that the
 * record shows everywhere and those it leaves out there. `payload_cbor` is the payload's item in base64, because shown
 * bytes cannot be told from text; record id and signature are verified over the CBOR form as for every other line.
 */

import * as z from 'zod'
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64, Malformed, toBase64 } from '../../protocol/encoding/bytes.ts'
import { decode, encode } from '../../protocol/encoding/cbor.ts'
import { canonicalJson, type JsonValue, parseJson } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { ChainRecord, renderPayload, renderRecord } from '../../protocol/proof/evidence.ts'

const count = z.int().min(0)
const JsonLine = z.strictObject({
  seq: count,
  event_type: z.string(),
  timestamp: count,
  signer_aid: z.string(),
  payload: z.unknown(),
  id: z.string(),
  prev_id: z.string(),
  sig: z.string(),
  chain_did: z.string(),
  version_major: z.literal(2),
  key_state_seq: count,
  payload_cbor: z.string(),
  critical_extensions: z.array(z.string()).min(1).optional(),
  version_minor: count.optional(),
  corr_id: z.string().optional(),
})

/** Whether a line of the chain file is one of these. */
export const isJsonLine = (line: string): boolean => line.startsWith('{')

/** A record as a JSON line, without its newline. */
export function jsonLine(record: ChainRecord): string {
  return JSON.stringify({
    ...renderRecord(record),
    chain_did: record.chainDid,
    version_major: record.versionMajor,
    key_state_seq: record.keyStateSeq,
    payload_cbor: toBase64(encode(record.payload)),
    ...present({
      critical_extensions: record.critical,
    }),
  })
}

/** The bytes that a JSON line stands for, to be read as any other record; throws {@link Malformed}. */
export function recordOfJsonLine(line: string): Uint8Array {
  const parsed = JsonLine.safeParse(parseJson(line))
  if (!parsed.success) throw new Malformed('a JSON line of the chain is not a record')
  const given = parsed.data
  const payloadBytes = fromBase64(given.payload_cbor, 'payload_cbor')
  const payload = decode(payloadBytes, { floats: true })
  const shown = canonicalJson(renderPayload(payload) as JsonValue)
  if (shown !== canonicalJson(given.payload as JsonValue))
    throw new Malformed('payload and payload_cbor of a JSON line differ')
  return ChainRecord.encode({
    chainDid: given.chain_did,
    seq: given.seq,
    previous: parseCid(given.prev_id),
    eventType: given.event_type,
    versionMajor: given.version_major,
    payload,
    ts: given.timestamp,
    signer: given.signer_aid,
    keyStateSeq: given.key_state_seq,
    ...present({ critical: given.critical_extensions }),
    id: parseCid(given.id),
    signature: fromBase64(given.sig, 'sig'),
    ...present({
      versionMinor: given.version_minor,
      correlation: given.corr_id === undefined ? undefined : fromBase64(given.corr_id, 'corr_id'),
    }),
  })
}
