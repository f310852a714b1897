/**
 * The hub's supply chain (hub API §6, objects: supply): one record after the other, each signed on top of the one
 * before. One is under way at a time, in all processes, so that none is signed on a head that another takes.
 */
import type { CborValue } from '../../../protocol/encoding/cbor.ts'
import { GENESIS, signRecord } from '../../../protocol/proof/evidence.ts'
import {
  type CreditChange,
  creditIssued,
  creditPayload,
  creditRetired,
  epochPayload,
  supplyEpoch,
} from '../../../protocol/proof/supply.ts'
import type { NewSupplyRecord, SupplyHead } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS, HOUR_MS } from '../limits.ts'
import type { Memory } from '../ports/memory.ts'
import type { Advanced, ChainHead } from '../ports/supply-heads.ts'
import { type Built, epochOfNothing } from './epochs.ts'
import { chainHeld } from './held.ts'

/** Proofs of an epoch are kept for so many days. */
export const PROOF_DAYS = 14
const PIECES_AT_ONCE = 16

type ChainContext = Pick<HubContext, 'identity' | 'store' | 'now'> & {
  memory: Pick<Memory, 'supply'>
}

export class SupplyChain {
  readonly #context: ChainContext
  readonly #head: ChainHead

  private constructor(context: ChainContext, head: ChainHead) {
    this.#context = context
    this.#head = head
  }

  /** The chain of a store; a new one begins with an epoch of nothing for the day before. */
  static async open(context: ChainContext): Promise<SupplyChain> {
    const head = await context.memory.supply.open({ seq: -1, id: GENESIS })
    const chain = new SupplyChain(context, head)
    if (head.known.seq < 0) {
      const day = Math.floor(context.now() / DAY_MS) - 1
      await chain.appendEpoch(async () => epochOfNothing(day))
    }
    return chain
  }

  /** The newest record. */
  get head(): SupplyHead {
    return this.#head.known
  }

  /**
   * Posts what must go with a record, which is signed for it and stored in the same transaction; `halted` while the chain
   * may not go on.
   */
  withChange<T extends { outcome: string }>(
    kind: 'issued' | 'retired',
    change: CreditChange,
    post: (record: NewSupplyRecord) => Promise<T>,
  ): Promise<T | { outcome: 'halted' }> {
    const type = kind === 'issued' ? creditIssued : creditRetired
    return this.#head.advance(async (head): Promise<Advanced<T | { outcome: 'halted' }>> => {
      if (await this.#isHeld(head)) return { answer: { outcome: 'halted' }, head }
      const record = this.#sign(head, type, creditPayload(change))
      const answer = await post(record)
      return { answer, head: answer.outcome === 'posted' ? headOf(record) : head }
    })
  }

  /** Adds the epoch that `build` makes while no other record is under way; nothing where it makes none. */
  appendEpoch(build: (head: SupplyHead) => Promise<Built | undefined>): Promise<void> {
    return this.#head.advance(async head => {
      const stays = { answer: undefined, head }
      if (await this.#isHeld(head)) return stays
      const built = await build(head)
      if (built === undefined) return stays
      const { epoch, pieces } = built
      const { day, accounts } = epoch
      const { store } = this.#context
      // side by side, so that many go in one transaction; what is sent meanwhile goes with them
      for (let at = 0; at < pieces.length; at += PIECES_AT_ONCE)
        await Promise.all(
          pieces.slice(at, at + PIECES_AT_ONCE).map(piece => store.addProofPiece({ day, ...piece })),
        )
      const record = this.#sign(head, supplyEpoch, epochPayload(epoch))
      const added = await store.appendEpoch(record, { day, accounts }, day - PROOF_DAYS + 1)
      if (!added) throw new Error('the supply chain went on without its writer')
      return { answer: undefined, head: headOf(record) }
    })
  }

  /** Whether a witness has seen more than is here, or something else. */
  async #isHeld(head: SupplyHead): Promise<boolean> {
    return (await chainHeld(this.#context.store, head)) !== undefined
  }

  #sign(head: SupplyHead, eventType: string, payload: CborValue): NewSupplyRecord {
    const { identity, now } = this.#context
    const previous = head.id
    const { record, bytes } = signRecord(identity.seed, {
      signer: identity.aid,
      keyStateSeq: identity.seq,
      seq: head.seq + 1,
      previous,
      eventType,
      payload,
      ts: Math.floor(now() / HOUR_MS) * HOUR_MS,
    })
    return { seq: record.seq, id: record.id, record: bytes, previous }
  }
}

const headOf = ({ seq, id }: NewSupplyRecord): SupplyHead => ({ seq, id })
