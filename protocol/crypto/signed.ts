/** Signed objects `[body bstr, sig bstr]`: the signature covers the body bytes as received, under one label a role. */
import { type CborValue, decode, encode } from '../encoding/cbor.ts'
import { blob, bytes, type Field, mapped, type RecordCodec, tuple } from '../encoding/record.ts'
import { labelledSign } from './hash.ts'
import { verifyShown } from './held-signatures.ts'

/** Bytes of an Ed25519 signature, objects §3. */
export const SIGNATURE_BYTES = 64

/** A body with its signature, not yet verified. */
export type Signed<T> = { body: T; bodyBytes: Uint8Array; signature: Uint8Array }

/** `decode` throws Malformed and verifies nothing; `verify` judges strictly (objects §3). */
export interface SignedCodec<T> extends Field<Signed<T>> {
  readonly label: string
  sign(seed: Uint8Array, body: T): Signed<T>
  encode(signed: Signed<T>): Uint8Array
  decode(bytes: Uint8Array): Signed<T>
  verify(publicKey: Uint8Array, signed: Signed<T>): boolean
}

/** Codec of `[bstr(body), sig]`, objects §3; a body over `bodyBytesMax` throws Malformed when read. */
export function signed<T>(label: string, body: RecordCodec<T>, bodyBytesMax: number): SignedCodec<T> {
  const field = mapped(
    tuple<[Uint8Array, Uint8Array]>(blob(bodyBytesMax), bytes(SIGNATURE_BYTES)),
    ([bodyBytes, signature]): Signed<T> => ({ body: body.decode(bodyBytes), bodyBytes, signature }),
    (object): [Uint8Array, Uint8Array] => [object.bodyBytes, object.signature],
  )
  return {
    ...field,
    label,
    sign(seed, value) {
      const bodyBytes = body.encode(value)
      return { body: value, bodyBytes, signature: labelledSign(label, seed, bodyBytes) }
    },
    encode: object => encode(field.write(object) as CborValue),
    decode: bytes => field.read(decode(bytes), label),
    verify: (publicKey, object) => verifyShown(label, publicKey, object.bodyBytes, object.signature),
  }
}
