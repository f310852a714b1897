/**
 * What a hub owes, as a tree of sums (objects: liabilities): a leaf for each account that is owed something, each node
 * over both hashes and both sums. An account's path shows that its balance is counted in the published total.
 */
import { hmacSha256, sha256 } from '#crypto'
import { CREDITS_MAX } from '../contract/limits.ts'
import { labelled } from '../crypto/hash.ts'
import { compare, concat, equal, u64be } from '../encoding/bytes.ts'
import { aidBytes } from '../identity/aid.ts'

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)
const SALT_LABEL = 'svc-liab-salt/v1'

/** Hash and sum of what lies below. */
export type SumNode = { h: Uint8Array; sum: number }
/** A node beside the way from a leaf to the root, and on which side of it. */
export type PathStep = SumNode & { side: 'left' | 'right' }

/** The salt of an account on a day (UTC days since 1970): known to the hub and, from its proof, to the account. */
export function liabilitySalt(secret: Uint8Array, aid: string, day: number): Uint8Array {
  return hmacSha256(secret, labelled(SALT_LABEL, aidBytes(aid), u64be(day)))
}

/** H(aid ‖ salt): names an account to its owner alone, and gives the leaves their order. */
export const liabilityKey = (aid: string, salt: Uint8Array): Uint8Array => sha256(concat(aidBytes(aid), salt))

/** H(00 ‖ key ‖ u64(sum)), objects §19; `key` is a {@link liabilityKey}, `sum` in credits. */
export const leafOf = (key: Uint8Array, sum: number): SumNode => ({
  h: sha256(concat(LEAF, key, u64be(sum))),
  sum,
})

/** The node above two; undefined when their sum is more than there can be. */
export function joined(left: SumNode, right: SumNode): SumNode | undefined {
  const sum = left.sum + right.sum
  if (sum > CREDITS_MAX) return undefined
  return { h: sha256(concat(NODE, left.h, u64be(left.sum), right.h, u64be(right.sum))), sum }
}

/** Levels of a tree of so many leaves above the lowest. */
export const depthOf = (leaves: number): number => Math.max(0, widthsOf(leaves).length - 1)

/** The root of a tree without leaves. */
export const EMPTY_ROOT: SumNode = { h: sha256(LEAF), sum: 0 }

/** Each level of the tree, the leaves first; a last odd node moves up as it is. `accounts` in any order. */
export function sumLevels(accounts: readonly { key: Uint8Array; sum: number }[]): SumNode[][] {
  const leaves = [...accounts].sort((a, b) => compare(a.key, b.key)).map(({ key, sum }) => leafOf(key, sum))
  const levels = [leaves]
  for (let level = leaves; level.length > 1; ) {
    level = above(level)
    levels.push(level)
  }
  return levels
}

function above(level: readonly SumNode[]): SumNode[] {
  const next: SumNode[] = []
  for (let at = 0; at < level.length; at += 2) {
    const left = level[at] as SumNode
    const right = level[at + 1]
    const node = right === undefined ? left : joined(left, right)
    if (node === undefined) throw new RangeError('the accounts sum up to more credits than there can be')
    next.push(node)
  }
  return next
}

/** The nodes beside the way from a leaf to the root. */
export function pathFrom(levels: readonly (readonly SumNode[])[], position: number): PathStep[] {
  const steps: PathStep[] = []
  let at = position
  for (const level of levels.slice(0, -1)) {
    const isRight = at % 2 === 1
    const beside = level[isRight ? at - 1 : at + 1]
    if (beside !== undefined) steps.push({ ...beside, side: isRight ? 'left' : 'right' })
    at = Math.floor(at / 2)
  }
  return steps
}

/** What an epoch says of its tree. */
export type SumRoot = { root: Uint8Array; rootSum: number; depth: number; accounts: number }
/** The first check that fails: depth, sums in range, sides that a leaf can have, the root (objects §19). */
export type PathFault = 'depth' | 'sum' | 'sides' | 'root'

/** Why a path does not show that `leaf` is counted in the root; undefined when it does. */
export function pathFault(leaf: SumNode, path: readonly PathStep[], of: SumRoot): PathFault | undefined {
  if (of.depth !== depthOf(of.accounts) || path.length > of.depth) return 'depth'
  if (!isSum(leaf.sum) || !isSum(of.rootSum)) return 'sum'
  if (!sidesFit(path, of.accounts)) return 'sides'
  let node = leaf
  for (const step of path) {
    if (!isSum(step.sum)) return 'sum'
    const next = step.side === 'left' ? joined(step, node) : joined(node, step)
    if (next === undefined) return 'sum'
    node = next
  }
  return equal(node.h, of.root) && node.sum === of.rootSum ? undefined : 'root'
}

const isSum = (sum: number): boolean => Number.isSafeInteger(sum) && sum >= 0

/**
 * Whether a tree of so many leaves has a leaf whose way to the root has exactly these sides. From where a node is the
 * last of its level all above it are, and their sides are known: so there is one candidate for each level.
 */
function sidesFit(path: readonly PathStep[], accounts: number): boolean {
  const widths = widthsOf(accounts)
  return widths.some((width, level) => {
    let position = width - 1
    for (let below = level - 1; below >= 0; below--)
      position = 2 * position + (path[below]?.side === 'left' ? 1 : 0)
    return position < accounts && hasSides(position, widths, path)
  })
}

/** Nodes on each level, from the leaves to the root. */
export function widthsOf(accounts: number): number[] {
  const widths = accounts > 0 ? [accounts] : []
  for (let width = accounts; width > 1; ) {
    width = Math.ceil(width / 2)
    widths.push(width)
  }
  return widths
}

function hasSides(position: number, widths: readonly number[], path: readonly PathStep[]): boolean {
  let at = position
  let taken = 0
  for (const width of widths.slice(0, -1)) {
    const isRight = at % 2 === 1
    if (isRight || at + 1 < width) {
      if (path[taken]?.side !== (isRight ? 'left' : 'right')) return false
      taken += 1
    }
    at = Math.floor(at / 2)
  }
  return taken === path.length
}
