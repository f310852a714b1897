/** A tree that a witness of transparency logs cosigned has to be where the chain that was read begins. */
import { describe, expect, test } from 'vitest'
import { signedCheckpoint, supplyOrigin } from '../../protocol/proof/checkpoint.ts'
import { CompactRange } from '../../protocol/proof/merkle.ts'
import { cosigner } from '../testing/cosigner.ts'
import { HUB_SEED, Post } from '../testing/scripted-hub.ts'
import { askCosigned, cosignersOf, requireCosigned } from './cosigned.ts'

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

describe('the newest tree of each witness that was named', () => {
  const { aid } = new Post().log
  const origin = supplyOrigin(aid)
  const [one, two, three] = ['one.example', 'two.example', 'three.example'].map(cosigner) as [
    Witness,
    Witness,
    Witness,
  ]
  type Witness = ReturnType<typeof cosigner>
  const rootOf = (size: number) => leaf(size)
  const note = (size: number, ...lines: string[]) =>
    signedCheckpoint(HUB_SEED, origin, { size, root: rootOf(size) }) + lines.join('')
  const line = (by: Witness, size: number, seconds: number) =>
    by.lineOver(origin, { size, root: rootOf(size) }, seconds)

  /** What is found where the hub shows these notes, the newest of all under no name; and who was asked for. */
  async function found(named: Witness[], shown: Record<string, string>) {
    const asked: string[] = []
    const settings = { current: { cosigners: named.map(({ key }) => key) } } as never
    const checkpoint = async (_: AbortSignal, name = 'newest') => {
      asked.push(name)
      return shown[name]
    }
    const hub = { identity: { aid }, credits: { checkpoint } } as never
    return { asked, ...(await askCosigned(settings, hub, signal)) }
  }
  const tree = (size: number, ...by: [Witness, number][]) => ({
    size,
    root: rootOf(size),
    by: by.map(([{ name }, seconds]) => ({ name, atMs: seconds * 1000 })),
  })

  test('is asked of nobody where none was named', async () => {
    expect(cosignersOf({ current: {} } as never)).toEqual([])
    expect(await found([], {})).toEqual({ asked: [], trees: [], silent: [] })
  })

  test('is the newest of all where they signed it, and then nobody is asked for another', async () => {
    const shown = { newest: note(2, line(one, 2, 7), line(two, 2, 8)) }
    expect(await found([one, two], shown)).toEqual({
      asked: ['newest'],
      trees: [tree(2, [one, 7], [two, 8])],
      silent: [],
    })
  })

  test('is an older one where it signed that alone; who signed none that is shown is silent', async () => {
    const shown = { newest: note(2, line(one, 2, 7)), [two.name]: note(1, line(two, 1, 5)) }
    expect(await found([one, two, three], shown)).toEqual({
      asked: ['newest', two.name, three.name],
      trees: [tree(2, [one, 7]), tree(1, [two, 5])],
      silent: [three.name],
    })
  })

  test('is none where the checkpoint has no signature of theirs', async () => {
    expect(await found([one], { newest: note(2), [one.name]: note(2, line(two, 2, 7)) })).toEqual({
      asked: ['newest', one.name],
      trees: [],
      silent: [one.name],
    })
  })

  test('cannot be read where the hub shows no checkpoint of its chain', async () => {
    await expect(found([one], { newest: 'nothing' })).rejects.toThrow(
      /the checkpoint that the hub shows cannot be read/,
    )
  })
})
