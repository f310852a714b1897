/** The tree of what a hub owes: every account finds itself in the total, and no change of a path or an epoch passes. */
import { describe, expect, test } from 'vitest'
import { CREDITS_MAX } from '../contract/limits.ts'
import { fromHex, toHex } from '../encoding/bytes.ts'
import { fixture } from '../testing/agents.ts'
import {
  depthOf,
  EMPTY_ROOT,
  joined,
  leafOf,
  liabilityKey,
  liabilitySalt,
  type PathStep,
  pathFault,
  pathFrom,
  type SumNode,
  type SumRoot,
  sumLevels,
} from './liability.ts'

const keyOf = (n: number): Uint8Array => new Uint8Array(32).fill(n + 1)
const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33]

type Tree = { levels: SumNode[][]; of: SumRoot; leaves: SumNode[] }

function treeOf(accounts: number, sum = (n: number) => n + 1): Tree {
  const given = Array.from({ length: accounts }, (_, n) => ({ key: keyOf(n), sum: sum(n) }))
  const levels = sumLevels(given)
  const root = levels.at(-1)?.[0] as SumNode
  const of = { root: root.h, rootSum: root.sum, depth: depthOf(accounts), accounts }
  return { levels, of, leaves: levels[0] as SumNode[] }
}

describe.each(SIZES)('a tree of %i leaves', accounts => {
  const { levels, of, leaves } = treeOf(accounts)
  const paths = leaves.map((leaf, position) => ({ leaf, path: pathFrom(levels, position) }))

  test('shows each of its leaves in the total', () => {
    expect(of.rootSum).toBe((accounts * (accounts + 1)) / 2)
    for (const { leaf, path } of paths) expect(pathFault(leaf, path, of)).toBeUndefined()
  })

  test('shows no leaf with another sum, and none with another way', () => {
    for (const { leaf, path } of paths) {
      expect(pathFault({ ...leaf, sum: leaf.sum + 1 }, path, of)).toBeDefined()
      for (const [at, step] of path.entries()) {
        const changed = (next: PathStep): PathStep[] => path.with(at, next)
        expect(pathFault(leaf, changed({ ...step, sum: step.sum + 1 }), of)).toBeDefined()
        expect(pathFault(leaf, changed({ ...step, sum: -1 }), of)).toBe('sum')
        const side = step.side === 'left' ? 'right' : 'left'
        expect(pathFault(leaf, changed({ ...step, side }), of)).toBeDefined()
        expect(pathFault(leaf, path.toSpliced(at, 1), of)).toBeDefined()
      }
    }
  })

  test('takes no inner node for a leaf', () => {
    for (const [height, level] of levels.entries()) {
      for (const [position, node] of level.entries()) {
        const isLeaf = leaves.some(leaf => toHex(leaf.h) === toHex(node.h))
        const path = pathFrom(levels.slice(height), position)
        if (!isLeaf && path.length < of.depth) expect(pathFault(node, path, of)).toBeDefined()
      }
    }
  })

  test('takes no longer way than its depth, and no depth that is not its own', () => {
    const { leaf, path } = paths[0] as { leaf: SumNode; path: PathStep[] }
    const more: PathStep[] = [...path, { h: keyOf(9), sum: 0, side: 'right' }]
    expect(pathFault(leaf, more, of)).toBe('depth')
    for (const depth of [of.depth - 1, of.depth + 1])
      expect(pathFault(leaf, path, { ...of, depth })).toBe('depth')
  })
})

describe('the number of accounts that an epoch names', () => {
  test('is held to the sides: a path of another tree is refused, whatever it claims', () => {
    for (const accounts of [2, 3, 5, 9, 17]) {
      const { levels, leaves } = treeOf(accounts)
      const path = pathFrom(levels, 0)
      const root = levels.at(-1)?.[0] as SumNode
      const claimed = 2 ** (path.length + 1) + 1
      const of = { root: root.h, rootSum: root.sum, depth: depthOf(claimed), accounts: claimed }
      expect(pathFault(leaves[0] as SumNode, path, of)).toBe('sides')
    }
  })

  test('may be huge without costing more than a few steps a level', () => {
    const path: PathStep[] = Array.from({ length: 52 }, () => ({ h: keyOf(1), sum: 0, side: 'left' }))
    const of = { root: keyOf(2), rootSum: 1, depth: depthOf(2 ** 52 + 1), accounts: 2 ** 52 + 1 }
    expect(pathFault(leafOf(keyOf(3), 1), path, of)).toBeDefined()
  })

  test('is none where there is no leaf', () => {
    const of = { root: keyOf(2), rootSum: 0, depth: 0, accounts: 0 }
    expect(pathFault(leafOf(keyOf(3), 0), [], of)).toBe('sides')
  })
})

describe('sums', () => {
  test('bind both sides: one total shown to two owners with other siblings does not hold', () => {
    const left = leafOf(keyOf(0), 10)
    const right = leafOf(keyOf(1), 7)
    const root = joined(left, right) as SumNode
    const of = { root: root.h, rootSum: 10, depth: 1, accounts: 2 }
    expect(pathFault(left, [{ ...right, sum: 0, side: 'right' }], of)).toBe('root')
    expect(pathFault(right, [{ ...left, sum: 3, side: 'left' }], of)).toBe('root')
  })

  test('never go beyond what there can be', () => {
    const most = leafOf(keyOf(0), CREDITS_MAX)
    const one = leafOf(keyOf(1), 1)
    expect(joined(most, one)).toBeUndefined()
    expect(() => treeOf(2, () => CREDITS_MAX)).toThrow('more credits than there can be')
    const of = { root: keyOf(2), rootSum: 0, depth: 1, accounts: 2 }
    expect(pathFault(most, [{ ...one, side: 'right' }], of)).toBe('sum')
    expect(pathFault({ ...one, sum: 0.5 }, [{ ...one, side: 'right' }], of)).toBe('sum')
  })
})

describe('the place of an account', () => {
  const aid = `A${'Q'.repeat(43)}`
  test('differs from day to day and from secret to secret', () => {
    const secrets = [new Uint8Array(32), new Uint8Array(32).fill(1)]
    const keys = secrets.flatMap(secret =>
      [1, 2].map(day => toHex(liabilityKey(aid, liabilitySalt(secret, aid, day)))),
    )
    expect(new Set(keys).size).toBe(4)
  })
})

describe('recorded trees', () => {
  type Step = { h: string; sum: number; side: 'left' | 'right' }
  type Proof = { aid: string; amount: number; salt: string; path: Step[] }
  const { secret, emptyRoot, trees, invalid } = fixture<{
    secret: string
    emptyRoot: string
    trees: {
      day: number
      accounts: number
      depth: number
      root: string
      root_sum: number
      proofs: Proof[]
    }[]
    invalid: (Proof & {
      reason: string
      fault: string
      accounts: number
      depth: number
      root: string
      root_sum: number
    })[]
  }>('payment/liabilities.json')

  test.each(trees)('of $accounts accounts', ({ day, accounts, depth, root, root_sum, proofs }) => {
    for (const { aid, amount, salt, path } of proofs) {
      expect(toHex(liabilitySalt(fromHex(secret), aid, day))).toBe(salt)
      const leaf = leafOf(liabilityKey(aid, fromHex(salt)), amount)
      const steps = path.map(({ h, sum, side }) => ({ h: fromHex(h), sum, side }))
      const of = { root: fromHex(root), rootSum: root_sum, depth, accounts }
      expect(pathFault(leaf, steps, of)).toBeUndefined()
    }
  })

  test.each(invalid)('show no account with $reason', given => {
    const { aid, amount, salt, path, fault, root, root_sum: rootSum, depth, accounts } = given
    const leaf = leafOf(liabilityKey(aid, fromHex(salt)), amount)
    const steps = path.map(step => ({ ...step, h: fromHex(step.h) }))
    expect(pathFault(leaf, steps, { root: fromHex(root), rootSum, depth, accounts })).toBe(fault)
  })

  test('of no account', () => {
    expect(toHex(EMPTY_ROOT.h)).toBe(emptyRoot)
  })
})
