/**
 * The RFC 6962 tree over the ids of the supply chain, in memory: its root as it grows, and the roots of its parts, of which
 * the whole tiles are remembered, so that a proof reads few records.
 */
import { CompactRange, halfOf, type LeafRange, nodeHash } from '../../../protocol/proof/merkle.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import type { HubContext } from '../context.ts'

/** Records that are hashed in one turn of the event loop. */
const PAGE = 500
/** Leaves of a part whose root is remembered. */
const TILE = 256

export class ChainTree {
  readonly #store: Pick<HubContext['store'], 'supplyRecords'>
  readonly #whole = new CompactRange()
  #tile = new CompactRange()
  /** Roots of full tiles, in their order, and of the full parts above them, by their place and length. */
  readonly #tiles: Uint8Array[] = []
  readonly #above = new Map<string, Uint8Array>()

  constructor(store: Pick<HubContext['store'], 'supplyRecords'>) {
    this.#store = store
  }

  /** The root over so many records, no fewer than before; calls follow each other. */
  async grow(size: number): Promise<Uint8Array> {
    await this.#read([this.#whole.size, size], id => {
      this.#whole.append(id)
      this.#tile.append(id)
      if (this.#tile.size < TILE) return
      this.#tiles.push(this.#tile.root())
      this.#tile = new CompactRange()
    })
    return this.#whole.root()
  }

  /** The root of a part of the tree as proofs cut it: its length is a power of two, or it ends where a tree ended. */
  async rootOf([from, end]: LeafRange): Promise<Uint8Array> {
    const length = end - from
    const known = length === TILE ? this.#tiles[from / TILE] : this.#above.get(`${from} ${length}`)
    if (known !== undefined) return known
    if (length <= TILE) return await this.#rootOfLeaves([from, end])
    const middle = from + halfOf(length)
    const root = nodeHash(await this.rootOf([from, middle]), await this.rootOf([middle, end]))
    if (halfOf(length) * 2 === length) this.#above.set(`${from} ${length}`, root)
    return root
  }

  async #rootOfLeaves(leaves: LeafRange): Promise<Uint8Array> {
    const range = new CompactRange()
    await this.#read(leaves, id => range.append(id))
    return range.root()
  }

  async #read([from, end]: LeafRange, take: (id: Uint8Array) => void): Promise<void> {
    for (let at = from; at < end; ) {
      const records = await this.#store.supplyRecords(at, Math.min(PAGE, end - at))
      if (records.length === 0) throw new Error(`the supply chain has no record ${at}`)
      for (const { id } of records) take(id)
      at += records.length
      await nextTurn()
    }
  }
}
