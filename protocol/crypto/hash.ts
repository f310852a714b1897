/** Labelled hashes, labelled signatures and content ids (objects: notation, encoding). */
import { sha256, sign, verify } from '#crypto'
import { concat, Malformed, utf8 } from '../encoding/bytes.ts'

/** Labels are constants of the formats, so these are few. */
const prefixes = new Map<string, Uint8Array>()
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
/** CIDv1, raw codec, sha2-256, 32 bytes. */
const CID_PREFIX = Uint8Array.of(0x01, 0x55, 0x12, 0x20)

/** Bytes of a content id: prefix and digest. */
export const CID_BYTES = 36

/** `utf8(label) ‖ 00 ‖ parts`: no message of one label can be read as a message of another. */
export function labelled(label: string, ...parts: Uint8Array[]): Uint8Array {
  return concat(prefixOf(label), ...parts)
}

/** `utf8(label) ‖ 00` */
function prefixOf(label: string): Uint8Array {
  let prefix = prefixes.get(label)
  if (prefix === undefined) {
    prefix = utf8(`${label}\0`)
    prefixes.set(label, prefix)
  }
  return prefix
}

/** `H(label ‖ 00 ‖ parts)`. */
export function labelledHash(label: string, ...parts: Uint8Array[]): Uint8Array {
  return sha256(labelled(label, ...parts))
}

/** `sig(label, message)`: Ed25519 over `utf8(label) ‖ 00 ‖ message`. */
export function labelledSign(label: string, seed: Uint8Array, message: Uint8Array): Uint8Array {
  return sign(seed, labelled(label, message))
}

/** Strict Ed25519 over `utf8(label) ‖ 00 ‖ message`, objects §1 and §3; false where it does not hold. */
export function labelledVerify(
  label: string,
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify(publicKey, labelled(label, message), signature)
}

/** The 36 bytes of the content id of `content`. */
export function contentId(content: Uint8Array): Uint8Array {
  return contentIdOfDigest(sha256(content))
}

/** The content id whose SHA-256 digest is already known, for content hashed as a stream. */
export function contentIdOfDigest(digest: Uint8Array): Uint8Array {
  return concat(CID_PREFIX, digest)
}

/** Text form of a content id: `b` and base32 without padding, always starting with `bafkrei`. */
export function cidText(cid: Uint8Array): string {
  if (!isContentId(cid)) throw new Malformed('content id is not CIDv1 raw sha2-256')
  let text = 'b'
  let bits = 0
  let buffer = 0
  for (const byte of cid) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += BASE32[(buffer >>> bits) & 31]
    }
  }
  return bits > 0 ? text + BASE32[(buffer << (5 - bits)) & 31] : text
}

/** Strict inverse of {@link cidText}. */
export function parseCid(text: string): Uint8Array {
  const bytes = new Uint8Array(CID_BYTES)
  let bits = 0
  let buffer = 0
  let offset = 0
  for (const character of text.slice(1)) {
    const value = BASE32.indexOf(character)
    if (value < 0) throw new Malformed('content id is not base32')
    buffer = ((buffer << 5) | value) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes[offset++] = (buffer >>> bits) & 255
    }
  }
  if (!isContentId(bytes) || cidText(bytes) !== text)
    throw new Malformed('content id is not CIDv1 raw sha2-256')
  return bytes
}

/** Whether these are 36 bytes that begin `01 55 12 20`, objects §2. */
export function isContentId(bytes: Uint8Array): boolean {
  return bytes.length === CID_BYTES && CID_PREFIX.every((byte, i) => bytes[i] === byte)
}
