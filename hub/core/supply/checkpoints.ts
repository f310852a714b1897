/**
 * The supply chain as transparency logs are shown: the root of a tree over the ids of its records, in a note that the hub
 * signs (C2SP tlog-checkpoint). The tree follows the chain when it is asked for, a page at a time.
 */
import { setImmediate } from 'node:timers/promises'
import {
  type Checkpoint,
  checkpointText,
  signedCheckpoint,
  supplyOrigin,
} from '../../../protocol/proof/checkpoint.ts'
import { type Cosigner, cosignatureIn } from '../../../protocol/proof/cosignature.ts'
import { CompactRange, consistencyRanges, type LeafRange } from '../../../protocol/proof/merkle.ts'
import type { HubContext } from '../context.ts'
import type { SupplyChain } from './chain.ts'

/** Records that are hashed in one turn. */
const PAGE = 500

/** Where the newest cosignatures are kept: lines by the name of who signed. */
const COSIGNED = 'cosignatures'
type Cosigned = { size: number; lines: Record<string, string> }

/** A witness of transparency logs: where it takes checkpoints, and who it is. */
export type LogWitness = { url: string; cosigner: Cosigner }

/** A tree with the hub's own signature over it. */
export type SignedTree = { checkpoint: Checkpoint; keySeq: number; note: string }

export class Checkpoints {
  readonly #context: Pick<HubContext, 'identity' | 'store'>
  readonly #supply: Pick<SupplyChain, 'head'>
  readonly #range = new CompactRange()
  #made: SignedTree | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(context: Pick<HubContext, 'identity' | 'store'>, supply: Pick<SupplyChain, 'head'>) {
    this.#context = context
    this.#supply = supply
  }

  /** The signed note over all records that the chain has now, with the cosignatures that there are of it. */
  async note(): Promise<string> {
    const { checkpoint, note } = await this.signed()
    const { size, lines } = await this.#cosigned()
    return size === checkpoint.size ? note + Object.values(lines).join('') : note
  }

  /** The same without the cosignatures of others. */
  signed(): Promise<SignedTree> {
    const made = this.#last.then(() => this.#make())
    this.#last = made.catch(() => undefined)
    return made
  }

  /** What shows that the tree of an old size is where one of a later size began. */
  async consistency(old: number, size: number): Promise<Uint8Array[]> {
    const nodes: Uint8Array[] = []
    for (const range of consistencyRanges(old, size)) nodes.push(await this.#rootOf(range))
    return nodes
  }

  /** Keeps the cosignature in the answer of a witness; false where it has none of this tree. */
  async keepCosignature(answer: string, { checkpoint }: SignedTree, by: Cosigner): Promise<boolean> {
    const origin = supplyOrigin(this.#context.identity.aid)
    const line = cosignatureIn(answer, checkpointText(origin, checkpoint), by)
    if (line === undefined) return false
    const { size } = checkpoint
    const held = await this.#cosigned()
    const lines = held.size === size ? held.lines : {}
    const kept: Cosigned = { size, lines: { ...lines, [by.name]: line } }
    await this.#context.store.putSetting(COSIGNED, JSON.stringify(kept))
    return true
  }

  async #cosigned(): Promise<Cosigned> {
    const kept = await this.#context.store.setting(COSIGNED)
    return kept === undefined ? { size: 0, lines: {} } : (JSON.parse(kept) as Cosigned)
  }

  async #make(): Promise<SignedTree> {
    const { identity } = this.#context
    const size = this.#supply.head.seq + 1
    if (this.#made?.checkpoint.size === size && this.#made.keySeq === identity.seq) return this.#made
    await this.#follow(this.#range, [this.#range.size, size])
    const checkpoint = { size, root: this.#range.root() }
    const note = signedCheckpoint(identity.seed, supplyOrigin(identity.aid), checkpoint)
    this.#made = { checkpoint, keySeq: identity.seq, note }
    return this.#made
  }

  async #rootOf(leaves: LeafRange): Promise<Uint8Array> {
    const range = new CompactRange()
    await this.#follow(range, leaves)
    return range.root()
  }

  /** Appends records, a page in each turn of the event loop. */
  async #follow(range: CompactRange, [from, end]: LeafRange): Promise<void> {
    for (let at = from; at < end; ) {
      const records = await this.#context.store.supplyRecords(at, Math.min(PAGE, end - at))
      if (records.length === 0) throw new Error(`the supply chain has no record ${at}`)
      for (const { id } of records) range.append(id)
      at += records.length
      await setImmediate()
    }
  }
}
