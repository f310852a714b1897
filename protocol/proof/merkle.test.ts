import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fromHex, toHex } from '../encoding/bytes.ts'
import { fixture } from '../testing/agents.ts'
import {
  CompactRange,
  consistencyHolds,
  consistencyRanges,
  inclusionHolds,
  inclusionRanges,
  type LeafRange,
} from './merkle.ts'

/** Leaves and roots that implementations of RFC 6962 test themselves against. */
const leaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

test.each(roots.map((root, size) => [size, root]))('the root of the first %i leaves', (size, root) => {
  const range = new CompactRange()
  for (const leaf of leaves.slice(0, size)) range.append(fromHex(leaf))
  expect([range.size, toHex(range.root())]).toEqual([size, root])
})

test('a leaf that looks like two nodes is none', () => {
  const [two, forged] = [new CompactRange(), new CompactRange()]
  for (const leaf of ['00', '10']) two.append(fromHex(leaf))
  const nodes = ['00', '10'].map(leaf => {
    const one = new CompactRange()
    one.append(fromHex(leaf))
    return one.root()
  })
  forged.append(Buffer.concat([Uint8Array.of(1), ...nodes]))
  expect(toHex(forged.root())).not.toBe(toHex(two.root()))
})

test('the nodes between two sizes show that the smaller tree is where the larger one began', () => {
  const hash = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const given = Array.from({ length: 33 }, (_, at) => Uint8Array.of(at))
  const rootOf = (from: number, end: number): Buffer => {
    if (end - from === 1) return hash(Uint8Array.of(0), given[from] as Uint8Array)
    const half = from + 2 ** Math.ceil(Math.log2(end - from) - 1)
    return hash(Uint8Array.of(1), rootOf(from, half), rootOf(half, end))
  }
  /** RFC 6962 §2.1.2 read upwards: both roots from the nodes, with the old tree's own where it is whole. */
  const roots = (
    old: number,
    from: number,
    end: number,
    isWhole: boolean,
    nodes: Buffer[],
  ): [Buffer, Buffer] => {
    if (old === end - from) {
      const root = isWhole ? rootOf(from, end) : (nodes.shift() as Buffer)
      return [root, root]
    }
    const half = 2 ** Math.ceil(Math.log2(end - from) - 1)
    if (old <= half) {
      const [before, after] = roots(old, from, from + half, isWhole, nodes)
      return [before, hash(Uint8Array.of(1), after, nodes.shift() as Buffer)]
    }
    const [before, after] = roots(old - half, from + half, end, false, nodes)
    const left = nodes.shift() as Buffer
    return [hash(Uint8Array.of(1), left, before), hash(Uint8Array.of(1), left, after)]
  }
  for (let size = 1; size <= given.length; size++)
    for (let old = 1; old < size; old++) {
      const nodes = consistencyRanges(old, size).map(([from, end]) => rootOf(from, end))
      expect(nodes.length).toBeLessThanOrEqual(63)
      const [before, after] = roots(old, 0, size, true, nodes)
      expect([before, after, nodes]).toEqual([rootOf(0, old), rootOf(0, size), []])
    }
  expect([consistencyRanges(0, 5), consistencyRanges(5, 5)]).toEqual([[], []])
})

describe('proofs of a tree', () => {
  const ids = Array.from({ length: 20 }, (_, at) => Uint8Array.of(at, 7))
  const treeOf = (size: number) => {
    const range = new CompactRange()
    for (const leaf of ids.slice(0, size)) range.append(leaf)
    return { size, root: range.root() }
  }
  const nodeOf = ([from, end]: LeafRange) => {
    const range = new CompactRange()
    for (const leaf of ids.slice(from, end)) range.append(leaf)
    return range.root()
  }
  const sizes = ids.map((_, at) => at + 1)

  test('of inclusion hold for each leaf of each size, at its place alone', () => {
    for (const size of sizes)
      for (let index = 0; index < size; index++) {
        const proof = inclusionRanges(index, size).map(nodeOf)
        const leaf = ids[index] as Uint8Array
        expect(inclusionHolds({ leaf, index }, treeOf(size), proof)).toBe(true)
        expect(inclusionHolds({ leaf: Uint8Array.of(9), index }, treeOf(size), proof)).toBe(false)
        if (size > 1) expect(inclusionHolds({ leaf, index }, treeOf(size), proof.slice(1))).toBe(false)
        const other = (index + 1) % size
        if (other !== index) expect(inclusionHolds({ leaf, index: other }, treeOf(size), proof)).toBe(false)
      }
    expect(inclusionHolds({ leaf: ids[0] as Uint8Array, index: 3 }, treeOf(3), [])).toBe(false)
  })

  test('of consistency hold between any two sizes, and for no other tree', () => {
    const other = { ...treeOf(1), root: Uint8Array.of(...treeOf(1).root).fill(3) }
    for (const size of sizes)
      for (let old = 1; old <= size; old++) {
        const proof = consistencyRanges(old, size).map(nodeOf)
        expect(consistencyHolds(treeOf(old), treeOf(size), proof)).toBe(true)
        expect(consistencyHolds({ size: old, root: other.root }, treeOf(size), proof)).toBe(false)
        expect(consistencyHolds(treeOf(old), { size, root: other.root }, proof)).toBe(false)
        expect(consistencyHolds(treeOf(old), treeOf(size), [...proof, other.root])).toBe(false)
        for (const at of proof.keys())
          expect(consistencyHolds(treeOf(old), treeOf(size), proof.with(at, other.root))).toBe(false)
      }
    expect(consistencyHolds(treeOf(4), treeOf(3), [])).toBe(false)
  })

  test('go on from the roots of a tree that was kept', () => {
    const range = new CompactRange()
    for (const leaf of ids.slice(0, 11)) range.append(leaf)
    const again = CompactRange.from(range.size, range.roots)
    for (const leaf of ids.slice(11)) again.append(leaf)
    expect([again.size, toHex(again.root())]).toEqual([20, toHex(treeOf(20).root)])
  })
})

describe('recorded trees', () => {
  type Inclusion = { index: number; size: number; proof: string[] }
  type Consistency = { old: number; size: number; proof: string[] }
  const vectors = fixture<{
    leaves: string[]
    roots: string[]
    inclusion: { valid: Inclusion[]; invalid: (Inclusion & { reason: string; leaf: string; root: string })[] }
    consistency: {
      valid: Consistency[]
      invalid: (Consistency & { reason: string; old_root: string; root: string })[]
    }
  }>('payment/merkle.json')
  const hexes = (list: readonly string[]) => list.map(hex => fromHex(hex))
  const hashes = hexes(vectors.leaves)
  const rootOf = ([from, end]: LeafRange): string => {
    const range = new CompactRange()
    for (const leaf of hashes.slice(from, end)) range.append(leaf)
    return toHex(range.root())
  }
  const at = (list: readonly string[], n: number): Uint8Array => fromHex(list[n] as string)

  test(`have the ${vectors.roots.length} roots that are given`, () => {
    expect(vectors.roots).toEqual([...vectors.roots.keys()].map(size => rootOf([0, size])))
  })

  test(`have ${vectors.inclusion.valid.length} proofs of inclusion, which are the ones made here`, () => {
    for (const { index, size, proof } of vectors.inclusion.valid) {
      expect(inclusionRanges(index, size).map(rootOf)).toEqual(proof)
      const tree = { size, root: at(vectors.roots, size) }
      expect(inclusionHolds({ leaf: at(vectors.leaves, index), index }, tree, hexes(proof))).toBe(true)
    }
  })

  test(`have ${vectors.consistency.valid.length} proofs of consistency, which are the ones made here`, () => {
    for (const { old, size, proof } of vectors.consistency.valid) {
      expect(consistencyRanges(old, size).map(rootOf)).toEqual(proof)
      const treeOf = (length: number) => ({ size: length, root: at(vectors.roots, length) })
      expect(consistencyHolds(treeOf(old), treeOf(size), hexes(proof))).toBe(true)
    }
  })

  test.each(vectors.inclusion.invalid)('have no leaf with $reason', ({ leaf, index, size, root, proof }) => {
    const tree = { size, root: fromHex(root) }
    expect(inclusionHolds({ leaf: fromHex(leaf), index }, tree, hexes(proof))).toBe(false)
  })

  test.each(vectors.consistency.invalid)('do not go on with $reason', ({ old, size, proof, ...roots }) => {
    const [before, after] = [fromHex(roots.old_root), fromHex(roots.root)]
    expect(consistencyHolds({ size: old, root: before }, { size, root: after }, hexes(proof))).toBe(false)
  })
})
