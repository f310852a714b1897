/** Randomness of the operating system, drawn in blocks because one call for 16 bytes costs as much as one for 4096. */
import { randomFillSync } from 'node:crypto'

const BLOCK_BYTES = 4096
const SMALL_BYTES = 64

let block = new Uint8Array(0)
let used = 0

/** Fresh random bytes; no byte is given twice, and given ones are wiped from the block. */
export function systemRandom(count: number): Uint8Array {
  if (count > SMALL_BYTES) return randomFillSync(new Uint8Array(count))
  if (used + count > block.length) {
    block = randomFillSync(new Uint8Array(BLOCK_BYTES))
    used = 0
  }
  const bytes = block.slice(used, used + count)
  block.fill(0, used, used + count)
  used += count
  return bytes
}
