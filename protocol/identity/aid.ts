/** Agent identifiers: 33 bytes (version 1 and a digest), 44 characters of base64url that always start with "A". */

import { labelledHash } from '../crypto/hash.ts'
import { fromBase64url, Malformed, toBase64url } from '../encoding/bytes.ts'
import { bytes, type Field, mapped } from '../encoding/record.ts'

/** Bytes of an AID: version 1 and a SHA-256 digest, objects §4. */
export const AID_BYTES = 33
const AID_VERSION = 0x01

/** The AID of an inception body (objects: identity). */
export function aidOfInception(body: Uint8Array): string {
  const raw = new Uint8Array(AID_BYTES)
  raw[0] = AID_VERSION
  raw.set(labelledHash('svc-aid/v1', body), 1)
  return toBase64url(raw)
}

/** The 33 bytes of an AID text; refuses anything that is not one. */
export function aidBytes(aid: string): Uint8Array {
  const raw = fromBase64url(aid, 'AID')
  if (raw.length !== AID_BYTES || raw[0] !== AID_VERSION)
    throw new Malformed('expected an AID: 44 characters starting with A')
  return raw
}

/** 44 characters of base64url from 33 bytes; anything else throws {@link Malformed} (objects §4). */
export function aidText(raw: Uint8Array): string {
  if (raw.length !== AID_BYTES || raw[0] !== AID_VERSION)
    throw new Malformed('expected an AID: 44 characters starting with A')
  return toBase64url(raw)
}

/** Whether {@link aidBytes} takes the text. */
export function isAid(text: string): boolean {
  try {
    aidBytes(text)
    return true
  } catch {
    return false
  }
}

/** AIDs are text in our code and in JSON, 33 raw bytes inside CBOR. */
export const aid: Field<string> = mapped(bytes(AID_BYTES), aidText, aidBytes)
