/**
 * The supply chain as transparency logs are shown: the root of a tree over the ids of its records, in a note that the hub
 * signs (C2SP tlog-checkpoint). The tree follows the chain when it is asked for, a page at a time.
 */
import {
  type Checkpoint,
  checkpointText,
  signedCheckpoint,
  supplyOrigin,
} from '../../../protocol/proof/checkpoint.ts'
import { type Cosigner, cosignatureIn } from '../../../protocol/proof/cosignature.ts'
import { consistencyRanges, inclusionRanges, type LeafRange } from '../../../protocol/proof/merkle.ts'
import type { HubContext } from '../context.ts'
import type { SupplyChain } from './chain.ts'
import { ChainTree } from './tree.ts'

/** Where the newest cosignature of each witness is kept, by its name. */
const COSIGNED = 'cosignatures'
/** More than an operator names; those that signed last stay. */
const COSIGNERS_MAX = 64
/** Sizes that witnesses have cosigned, as far as they told, by their names. */
const HELD_SIZES = 'cosigned sizes'
type Cosigned = Record<string, { size: number; line: string }>
/** What an earlier release kept: those over one size alone. */
type CosignedOnce = { size: number; lines: Record<string, string> }
/** Which note is asked for: the newest of all, the newest that somebody cosigned, or one witness. */
export type NoteAsked = { newest?: boolean; cosigner?: string | undefined }

/** A witness of transparency logs: where it takes checkpoints, and who it is. */
export type LogWitness = { url: string; cosigner: Cosigner }

/** A tree with the hub's own signature over it. */
export type SignedTree = { checkpoint: Checkpoint; keySeq: number; note: string }

export class Checkpoints {
  readonly #context: Pick<HubContext, 'identity' | 'store'>
  readonly #supply: Pick<SupplyChain, 'head'>
  readonly #tree: ChainTree
  #made: SignedTree | undefined
  readonly #earlier = new Map<number, { keySeq: number; note: string }>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(context: Pick<HubContext, 'identity' | 'store'>, supply: Pick<SupplyChain, 'head'>) {
    this.#context = context
    this.#supply = supply
    this.#tree = new ChainTree(context.store)
  }

  /**
   * The newest signed note that a witness has cosigned, with the lines of all who signed that tree: what others have seen
   * too. The newest of all where there is none, or where it is asked for.
   */
  async note({ newest = false, cosigner }: NoteAsked = {}): Promise<string> {
    const { checkpoint, note } = await this.signed()
    const all = Object.entries(await this.#cosigned()).filter(([, { size }]) => size <= checkpoint.size)
    const named = all.filter(([name]) => name === cosigner)
    const sizes = (named.length > 0 ? named : all).map(([, { size }]) => size)
    const size = newest || sizes.length === 0 ? checkpoint.size : Math.max(...sizes)
    const lines = all.flatMap(([, one]) => (one.size === size ? [one.line] : [])).join('')
    return (size === checkpoint.size ? note : await this.#noteAt(size)) + lines
  }

  /** The note over an earlier tree, under the present key. */
  async #noteAt(size: number): Promise<string> {
    const { identity } = this.#context
    const made = this.#earlier.get(size)
    if (made?.keySeq === identity.seq) return made.note
    const checkpoint = { size, root: await this.#tree.rootOf([0, size]) }
    const note = signedCheckpoint(identity.seed, supplyOrigin(identity.aid), checkpoint)
    if (this.#earlier.size >= COSIGNERS_MAX) this.#earlier.clear()
    this.#earlier.set(size, { keySeq: identity.seq, note })
    return note
  }

  /** The same without the cosignatures of others. */
  signed(): Promise<SignedTree> {
    const made = this.#last.then(() => this.#make())
    this.#last = made.catch(() => undefined)
    return made
  }

  /** What shows that the tree of an old size is where one of a later size began. */
  consistency(old: number, size: number): Promise<Uint8Array[]> {
    return this.#rootsOf(consistencyRanges(old, size))
  }

  /** What shows that a record stands at its place in the tree of a size. */
  inclusion(seq: number, size: number): Promise<Uint8Array[]> {
    return this.#rootsOf(inclusionRanges(seq, size))
  }

  async #rootsOf(ranges: readonly LeafRange[]): Promise<Uint8Array[]> {
    await this.signed()
    const nodes: Uint8Array[] = []
    for (const range of ranges) nodes.push(await this.#tree.rootOf(range))
    return nodes
  }

  /** The size that a witness is known to hold; 0 where nothing is known of it. */
  async heldSize(name: string): Promise<number> {
    return (await this.#heldSizes())[name] ?? 0
  }

  async keepHeldSize(name: string, size: number): Promise<void> {
    const sizes = await this.#heldSizes()
    if (sizes[name] === size) return
    await this.#context.store.putSetting(HELD_SIZES, JSON.stringify({ ...sizes, [name]: size }))
  }

  async #heldSizes(): Promise<Record<string, number>> {
    return JSON.parse((await this.#context.store.setting(HELD_SIZES)) ?? '{}') as Record<string, number>
  }

  /** Number of records now. */
  get size(): number {
    return this.#supply.head.seq + 1
  }

  /** Keeps the cosignature in the answer of a witness; false where it has none of this tree. */
  async keepCosignature(answer: string, { checkpoint }: SignedTree, by: Cosigner): Promise<boolean> {
    const origin = supplyOrigin(this.#context.identity.aid)
    const line = cosignatureIn(answer, checkpointText(origin, checkpoint), by)
    if (line === undefined) return false
    const { size } = checkpoint
    const held = { ...(await this.#cosigned()), [by.name]: { size, line } }
    const newest = Object.entries(held).sort(([, a], [, b]) => b.size - a.size)
    const kept = Object.fromEntries(newest.slice(0, COSIGNERS_MAX))
    await this.#context.store.putSetting(COSIGNED, JSON.stringify(kept))
    return true
  }

  async #cosigned(): Promise<Cosigned> {
    const kept = JSON.parse((await this.#context.store.setting(COSIGNED)) ?? '{}') as Cosigned | CosignedOnce
    return isOnce(kept)
      ? Object.fromEntries(
          Object.entries(kept.lines).map(([name, line]) => [name, { size: kept.size, line }]),
        )
      : kept
  }

  async #make(): Promise<SignedTree> {
    const { identity } = this.#context
    const { size } = this
    if (this.#made?.checkpoint.size === size && this.#made.keySeq === identity.seq) return this.#made
    const checkpoint = { size, root: await this.#tree.grow(size) }
    const note = signedCheckpoint(identity.seed, supplyOrigin(identity.aid), checkpoint)
    this.#made = { checkpoint, keySeq: identity.seq, note }
    return this.#made
  }
}

const isOnce = (kept: Cosigned | CosignedOnce): kept is CosignedOnce => typeof kept['size'] === 'number'
