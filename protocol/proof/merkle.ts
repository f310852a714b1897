/**
 * The tree over a list that only grows, as certificate transparency has it (RFC 6962 §2.1): enough of it to add leaves and
 * to name its root. Leaves are told from nodes by their first byte.
 */
import { sha256 } from '#crypto'
import { concat } from '../encoding/bytes.ts'

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

const joined = (...parts: readonly Uint8Array[]): Uint8Array => sha256(concat(...parts))
const leafHash = (leaf: Uint8Array): Uint8Array => joined(LEAF, leaf)
const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => joined(NODE, left, right)

/** Leaves from one on to another. */
export type LeafRange = readonly [from: number, end: number]

/**
 * The nodes that show that the tree of the first `old` leaves is where that of `size` began (RFC 6962 §2.1.2), each by the
 * leaves below it, in their order; none where there was nothing, or nothing came.
 */
export function consistencyRanges(old: number, size: number): LeafRange[] {
  return old === 0 || old === size ? [] : rangesWithin(old, [0, size], true)
}

/** `isWhole`: the old tree ends with this subtree, and its root is known from there. */
function rangesWithin(old: number, [from, end]: LeafRange, isWhole: boolean): LeafRange[] {
  const size = end - from
  if (old === size) return isWhole ? [] : [[from, end]]
  const half = 2 ** Math.ceil(Math.log2(size) - 1)
  const middle = from + half
  return old <= half
    ? [...rangesWithin(old, [from, middle], isWhole), [middle, end]]
    : [...rangesWithin(old - half, [middle, end], false), [from, middle]]
}

/** Roots of the whole trees that a list falls into, the largest first: as many as its length has ones in base two. */
export class CompactRange {
  #size = 0
  #roots: Uint8Array[] = []

  /** Number of leaves. */
  get size(): number {
    return this.#size
  }

  append(leaf: Uint8Array): void {
    let root = leafHash(leaf)
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2))
      root = nodeHash(this.#roots.pop() as Uint8Array, root)
    this.#roots.push(root)
    this.#size += 1
  }

  /** 32 bytes; of no leaves the hash of nothing. */
  root(): Uint8Array {
    const [last, ...before] = [...this.#roots].reverse()
    if (last === undefined) return sha256(new Uint8Array())
    return before.reduce((right, left) => nodeHash(left, right), last)
  }
}
