/** A tree that a witness of transparency logs cosigned has to be where the chain that was read begins. */
import { expect, test } from 'vitest'
import { CompactRange } from '../../protocol/proof/merkle.ts'
import { requireCosigned } from './cosigned.ts'

const { signal } = new AbortController()
/** The hash of a record alone. */
const leaf = (n: number): Uint8Array => treeOf(n).root()
const by = [{ name: 'watch.example', atMs: 1 }]

function treeOf(...leaves: number[]): CompactRange {
  const tree = new CompactRange()
  for (const n of leaves) tree.append(new Uint8Array([n]))
  return tree
}

/** What is said of a tree of one record, or of as many as the chain has, or of more; the hub proves with these. */
const said = async (leaves: number[], proof: Uint8Array[] = []): Promise<string | undefined> => {
  const cosigned = { size: leaves.length, root: treeOf(...leaves).root(), by }
  const hub = { credits: { consistency: async () => proof } }
  return await requireCosigned(treeOf(1, 2), [cosigned], hub as never, signal).then(
    () => undefined,
    error => error.message,
  )
}

test('the tree of the whole chain is that of the chain, and no other', async () => {
  expect(await said([1, 2])).toBeUndefined()
  expect(await said([1, 3])).toMatch(/watch\.example cosigned another tree of 2 records$/)
})

test('a smaller tree is shown to be the beginning of the chain by the proof of the hub', async () => {
  expect(await said([1], [leaf(2)])).toBeUndefined()
  expect(await said([1])).toMatch(/watch\.example cosigned another tree of 1 records$/)
  expect(await said([3], [leaf(2)])).toMatch(/watch\.example cosigned another tree of 1 records$/)
})

test('a larger tree is missing', async () => {
  expect(await said([1, 2, 3])).toMatch(/watch\.example cosigned a tree of 3 records, and it is missing$/)
})
