/**
 * What an Ed25519 key and signature must be before either engine judges the equation, so that no library's leniency
 * decides: canonical encodings of both points, a scalar below the order of the group, no point of small order.
 */

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** All bits of the last byte of a point but the sign of x. */
const Y_MASK = 0x7f

const littleEndian = (value: bigint) =>
  Uint8Array.from({ length: KEY_BYTES }, (_, i) => Number((value >> BigInt(8 * i)) & 255n))

/** p = 2^255 - 19. */
const FIELD_PRIME = (1n << 255n) - 19n
const P = littleEndian(FIELD_PRIME)
/** Order of the group that the base point makes. */
const L = littleEndian((1n << 252n) + 27742317777372353535851937790883648493n)
/** The y of the eight points whose order divides 8: orders 4, 1, 8, 8, 2. Either sign bit is refused with it. */
const smallOrder = [
  0n,
  1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  FIELD_PRIME - 2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  FIELD_PRIME - 1n,
].map(littleEndian)

/** Whether key and signature may be judged at all. */
export function isStrict(key: Uint8Array, signature: Uint8Array): boolean {
  if (key.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  return (
    isPoint(key) &&
    isPoint(signature.subarray(0, KEY_BYTES)) &&
    compareNumbers(signature.subarray(KEY_BYTES), L, 0xff) < 0
  )
}

/** Canonical and of no small order; whether it is on the curve is for the engine to find. */
function isPoint(encoded: Uint8Array): boolean {
  if (compareNumbers(encoded, P, Y_MASK) >= 0) return false
  return !smallOrder.some(y => compareNumbers(encoded, y, Y_MASK) === 0)
}

/** Which of two little-endian numbers is larger; `mask` says which bits of the first one's last byte count. */
function compareNumbers(value: Uint8Array, other: Uint8Array, mask: number): number {
  let i = KEY_BYTES - 1
  let difference = ((value[i] as number) & mask) - (other[i] as number)
  while (difference === 0 && i > 0) {
    i--
    difference = (value[i] as number) - (other[i] as number)
  }
  return difference
}
