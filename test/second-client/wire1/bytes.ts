/** Bytes as the documents write them (objects, §1 to §3): svc-cbor, hashes, content ids, Ed25519. Nothing of ours is used. */
import { createHash, createPrivateKey, createPublicKey, sign as signWith } from 'node:crypto'

export type Item =
  | number
  | string
  | Uint8Array
  | null
  | boolean
  | Item[]
  | { [key: number]: Item | undefined }

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const CID = Buffer.from('01551220', 'hex')
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

export const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8')
export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
export const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
export const ofBase64 = (text: unknown): Buffer => Buffer.from(String(text), 'base64')
/** An AID as its 33 bytes. */
export const aidBytes = (aid: string): Buffer => Buffer.from(aid, 'base64url')

function head(major: number, value: number): Buffer {
  const first = major << 5
  if (value < 24) return Buffer.from([first | value])
  if (value < 0x100) return Buffer.from([first | 24, value])
  const wide = Buffer.alloc(value < 0x1_0000 ? 3 : value < 0x1_0000_0000 ? 5 : 9)
  wide[0] = first | { 3: 25, 5: 26, 9: 27 }[wide.length as 3 | 5 | 9]
  if (wide.length === 3) wide.writeUInt16BE(value, 1)
  else if (wide.length === 5) wide.writeUInt32BE(value, 1)
  else wide.writeBigUInt64BE(BigInt(value), 1)
  return wide
}

/** Deterministic CBOR; a member of a map that is undefined is left out. */
export function cbor(item: Item): Buffer {
  if (item === null) return Buffer.from([0xf6])
  if (typeof item === 'boolean') return Buffer.from([item ? 0xf5 : 0xf4])
  if (typeof item === 'number') return item < 0 ? head(1, -1 - item) : head(0, item)
  if (typeof item === 'string') return Buffer.concat([head(3, utf8(item).length), utf8(item)])
  if (item instanceof Uint8Array) return Buffer.concat([head(2, item.length), item])
  if (Array.isArray(item)) return Buffer.concat([head(4, item.length), ...item.map(cbor)])
  // integer keys of an object come in ascending order
  const members = Object.entries(item).flatMap(([key, value]) =>
    value === undefined ? [] : [Buffer.concat([head(0, Number(key)), cbor(value)])],
  )
  return Buffer.concat([head(5, members.length), ...members])
}

/** Reads what {@link cbor} writes. */
export function readCbor(bytes: Buffer): Item {
  let at = 0
  const take = (length: number): Buffer => {
    at += length
    return bytes.subarray(at - length, at)
  }
  const countOf = (short: number): number =>
    short < 24 ? short : Number(`0x${take(1 << (short - 24)).toString('hex')}`)
  const readers: ((count: number) => Item)[] = [
    count => count,
    count => -1 - count,
    take,
    count => take(count).toString('utf8'),
    length => Array.from({ length }, read),
    length => Object.fromEntries(Array.from({ length }, () => [read(), read()])),
  ]
  function read(): Item {
    const [first = 0] = take(1)
    const reader = readers[first >> 5]
    if (reader === undefined) return first === 0xf6 ? null : first === 0xf5
    return reader(countOf(first & 31))
  }
  return read()
}

export const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()
const labelled = (label: string, bytes: Uint8Array): Buffer =>
  Buffer.concat([utf8(label), Buffer.from([0]), bytes])
/** H(L; m). */
export const hash = (label: string, bytes: Uint8Array): Buffer => sha256(labelled(label, bytes))

/** A content id, as its 36 bytes. */
export const cid = (bytes: Uint8Array): Buffer => Buffer.concat([CID, sha256(bytes)])
/** A content id as text: `b` and base32. */
export function cidText(bytes: Uint8Array): string {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('')
  return `b${(bits.match(/.{1,5}/g) ?? []).map(five => BASE32[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')}`
}
/** The bytes of a content id that is text. */
export function cidOf(text: string): Buffer {
  const bits = [...text.slice(1)].map(letter => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}

const privateKey = (seed: Uint8Array) =>
  createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
export const publicKey = (seed: Uint8Array): Buffer =>
  createPublicKey(privateKey(seed)).export({ format: 'der', type: 'spki' }).subarray(-32)
/** Ed25519 over exactly these bytes. */
export const signed = (seed: Uint8Array, bytes: Uint8Array): Buffer => signWith(null, bytes, privateKey(seed))
/** sig(L; m). */
export const labelledSignature = (label: string, seed: Uint8Array, bytes: Uint8Array): Buffer =>
  signed(seed, labelled(label, bytes))
/** `[bstr(body), sig]`. */
export const signedObject = (label: string, seed: Uint8Array, body: Buffer): Buffer =>
  cbor([body, labelledSignature(label, seed, body)])
