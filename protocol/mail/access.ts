/**
 * Access records (objects: access record): the delivery credential that travels in a header and, byte for byte, in
 * key 7 of the envelope. Kind 0 names nothing; kind 1 carries a capability and the holder's proof for one envelope.
 */

import { SIGNATURE_BYTES } from '../crypto/signed.ts'
import { Malformed } from '../encoding/bytes.ts'
import { decode, subMap } from '../encoding/cbor.ts'
import { blob, bytes, type Infer, literal, record, required } from '../encoding/record.ts'

/** Bytes of an access record at most, objects §6. */
export const ACCESS_BYTES_MAX = 1024
const CAPABILITY_BODY_BYTES_MAX = 512
const PROOF_KEY = 15

const FirstContact = record('access record', { kind: required(1, literal(0)) })
const WithCapability = record('access record', {
  kind: required(1, literal(1)),
  capabilityBody: required(2, blob(CAPABILITY_BODY_BYTES_MAX)),
  capabilitySignature: required(3, bytes(SIGNATURE_BYTES)),
  proof: required(PROOF_KEY, bytes(SIGNATURE_BYTES)),
})

/** Access by capability: body and signature as issued, proof by the holder key. */
export type CapabilityAccess = Infer<typeof WithCapability>
/** First contact (kind 0) or a capability (kind 1), objects §8. */
export type Access = Infer<typeof FirstContact> | CapabilityAccess

/** The same bytes for the header and for key 7 of the envelope, objects §8. */
export function encodeAccess(access: Access): Uint8Array {
  return access.kind === 0 ? FirstContact.encode(access) : WithCapability.encode(access)
}

/** Throws {@link Malformed} unless the bytes are one access record of a known kind. */
export function decodeAccess(encoded: Uint8Array): Access {
  if (encoded.length > ACCESS_BYTES_MAX)
    throw new Malformed(`access record is over ${ACCESS_BYTES_MAX} bytes`)
  const value = decode(encoded)
  const kind = value instanceof Map ? value.get(1) : undefined
  if (kind !== 0 && kind !== 1) throw new Malformed('unknown kind of access record')
  return kind === 0 ? FirstContact.read(value, 'access record') : WithCapability.read(value, 'access record')
}

/** The access record without its proof, as the sealing context holds it; throws {@link Malformed} like {@link decodeAccess}. */
export function staticAccess(encoded: Uint8Array): Uint8Array {
  decodeAccess(encoded)
  return subMap(encoded, key => key !== PROOF_KEY)
}
