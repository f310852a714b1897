/**
 * The tree over a list that only grows, as certificate transparency has it (RFC 6962 §2.1): enough of it to add leaves and
 * to name its root. Leaves are told from nodes by their first byte.
 */
import { sha256 } from '#crypto'
import { concat, equal } from '../encoding/bytes.ts'

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

const joined = (...parts: readonly Uint8Array[]): Uint8Array => sha256(concat(...parts))
const leafHash = (leaf: Uint8Array): Uint8Array => joined(LEAF, leaf)
/** H(01 ‖ left ‖ right), 32 bytes (RFC 6962 §2.1; objects §19). */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => joined(NODE, left, right)

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
  const half = halfOf(size)
  const middle = from + half
  return old <= half
    ? [...rangesWithin(old, [from, middle], isWhole), [middle, end]]
    : [...rangesWithin(old - half, [middle, end], false), [from, middle]]
}

/** The leaves of the left half of a tree: the largest power of two below its size. */
export function halfOf(size: number): number {
  let half = 1
  while (half * 2 < size) half *= 2
  return half
}

/** The nodes beside the way from a leaf to the root of the tree of `size` (RFC 6962 §2.1.1), the lowest first. */
export const inclusionRanges = (index: number, size: number): LeafRange[] => rangesBeside(index, [0, size])

function rangesBeside(index: number, [from, end]: LeafRange): LeafRange[] {
  if (end - from === 1) return []
  const middle = from + halfOf(end - from)
  return index < middle
    ? [...rangesBeside(index, [from, middle]), [middle, end]]
    : [...rangesBeside(index, [middle, end]), [from, middle]]
}

type Tree = { size: number; root: Uint8Array }

/** Whether nodes show that a leaf stands at its place in a tree. */
export function inclusionHolds(
  { leaf, index }: { leaf: Uint8Array; index: number },
  tree: Tree,
  proof: readonly Uint8Array[],
): boolean {
  if (index >= tree.size) return false
  const ranges = inclusionRanges(index, tree.size)
  if (proof.length !== ranges.length) return false
  const root = proof.reduce(
    (hash, beside, at) =>
      (ranges[at] as LeafRange)[0] > index ? nodeHash(hash, beside) : nodeHash(beside, hash),
    leafHash(leaf),
  )
  return equal(root, tree.root)
}

/** Whether nodes show that one tree is where another began. */
export function consistencyHolds(old: Tree, tree: Tree, proof: readonly Uint8Array[]): boolean {
  if (old.size > tree.size) return false
  if (old.size === tree.size) return proof.length === 0 && equal(old.root, tree.root)
  if (old.size === 0) return proof.length === 0
  const ranges = consistencyRanges(old.size, tree.size)
  if (proof.length !== ranges.length) return false
  const known = new Map(ranges.map((range, at) => [nameOf(range), proof[at] as Uint8Array]))
  if (halfOf(old.size * 2) === old.size) known.set(nameOf([0, old.size]), old.root)
  return equal(rootFrom([0, old.size], known), old.root) && equal(rootFrom([0, tree.size], known), tree.root)
}

const nameOf = ([from, end]: LeafRange): string => `${from} ${end}`

/** The root of a part of the tree from roots that are known of its own parts. */
function rootFrom([from, end]: LeafRange, known: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const held = known.get(nameOf([from, end]))
  if (held !== undefined || end - from <= 1) return held ?? new Uint8Array()
  const middle = from + halfOf(end - from)
  return nodeHash(rootFrom([from, middle], known), rootFrom([middle, end], known))
}

/** Roots of the whole trees that a list falls into, the largest first: as many as its length has ones in base two. */
export class CompactRange {
  #size = 0
  #roots: Uint8Array[] = []

  /** Goes on from the roots that {@link roots} gave. */
  static from(size: number, roots: readonly Uint8Array[]): CompactRange {
    const range = new CompactRange()
    range.#size = size
    range.#roots = [...roots]
    return range
  }

  get roots(): readonly Uint8Array[] {
    return this.#roots
  }

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
