/**
 * The supply chain as transparency logs are shown: the root of a tree over the ids of its records, in a note that the hub
 * signs (C2SP tlog-checkpoint). The tree follows the chain when it is asked for, a page at a time.
 */
import { signedCheckpoint, supplyOrigin } from '../../../protocol/proof/checkpoint.ts'
import { CompactRange } from '../../../protocol/proof/merkle.ts'
import type { HubContext } from '../context.ts'
import type { SupplyChain } from './chain.ts'

/** Records that are hashed in one turn. */
const PAGE = 500

export class Checkpoints {
  readonly #context: Pick<HubContext, 'identity' | 'store'>
  readonly #supply: Pick<SupplyChain, 'head'>
  readonly #range = new CompactRange()
  #note: { size: number; keySeq: number; text: string } | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(context: Pick<HubContext, 'identity' | 'store'>, supply: Pick<SupplyChain, 'head'>) {
    this.#context = context
    this.#supply = supply
  }

  /** The signed note over all records that the chain has now. */
  note(): Promise<string> {
    const made = this.#last.then(() => this.#make())
    this.#last = made.catch(() => undefined)
    return made
  }

  async #make(): Promise<string> {
    const { identity } = this.#context
    const size = this.#supply.head.seq + 1
    if (this.#note?.size === size && this.#note.keySeq === identity.seq) return this.#note.text
    await this.#follow(size)
    const checkpoint = { size, root: this.#range.root() }
    const text = signedCheckpoint(identity.seed, supplyOrigin(identity.aid), checkpoint)
    this.#note = { size, keySeq: identity.seq, text }
    return text
  }

  async #follow(size: number): Promise<void> {
    while (this.#range.size < size) {
      const from = this.#range.size
      const records = await this.#context.store.supplyRecords(from, Math.min(PAGE, size - from))
      if (records.length === 0) throw new Error(`the supply chain has no record ${from}`)
      for (const { id } of records) this.#range.append(id)
    }
  }
}
