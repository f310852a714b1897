/**
 * The hub's supply chain (hub API §6, objects: supply): one record after the other, each signed on top of the one
 * before. One is under way at a time, so that none is signed on a head that another takes.
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
import { type Built, epochOfNothing } from './epochs.ts'
import { chainHeld } from './held.ts'

/** Proofs of an epoch are kept for so many days. */
export const PROOF_DAYS = 14
const PIECES_AT_ONCE = 16

type ChainContext = Pick<HubContext, 'identity' | 'store' | 'now'>

export class SupplyChain {
  readonly #context: ChainContext
  #head: SupplyHead
  #last: Promise<unknown> = Promise.resolve()

  private constructor(context: ChainContext, head: SupplyHead) {
    this.#context = context
    this.#head = head
  }

  /** The chain of a store; a new one begins with an epoch of nothing for the day before. */
  static async open(context: ChainContext): Promise<SupplyChain> {
    const held = await context.store.supplyHead()
    const none = { seq: -1, id: GENESIS }
    const chain = new SupplyChain(context, held ?? none)
    if (held === undefined) {
      const day = Math.floor(context.now() / DAY_MS) - 1
      await chain.appendEpoch(async () => epochOfNothing(day))
    }
    return chain
  }

  /** The newest record. */
  get head(): SupplyHead {
    return this.#head
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
    return this.#alone(async () => {
      if (await this.#isHeld()) return { outcome: 'halted' }
      const record = this.#sign(type, creditPayload(change))
      const result = await post(record)
      if (result.outcome === 'posted') this.#head = { seq: record.seq, id: record.id }
      return result
    })
  }

  /** Adds the epoch that `build` makes while no other record is under way; nothing where it makes none. */
  appendEpoch(build: (head: SupplyHead) => Promise<Built | undefined>): Promise<void> {
    return this.#alone(async () => {
      if (await this.#isHeld()) return
      const built = await build(this.#head)
      if (built === undefined) return
      const { epoch, pieces } = built
      const { day, accounts } = epoch
      const { store } = this.#context
      // side by side, so that many go in one transaction; what is sent meanwhile goes with them
      for (let at = 0; at < pieces.length; at += PIECES_AT_ONCE)
        await Promise.all(
          pieces.slice(at, at + PIECES_AT_ONCE).map(piece => store.addProofPiece({ day, ...piece })),
        )
      const record = this.#sign(supplyEpoch, epochPayload(epoch))
      const added = await store.appendEpoch(record, { day, accounts }, day - PROOF_DAYS + 1)
      if (!added) throw new Error('the supply chain went on without its writer')
      this.#head = { seq: record.seq, id: record.id }
    })
  }

  /** Whether a witness has seen more than is here, or something else. */
  async #isHeld(): Promise<boolean> {
    return (await chainHeld(this.#context.store, this.#head)) !== undefined
  }

  #sign(eventType: string, payload: CborValue): NewSupplyRecord {
    const { identity, now } = this.#context
    const previous = this.#head.id
    const { record, bytes } = signRecord(identity.seed, {
      signer: identity.aid,
      keyStateSeq: identity.seq,
      seq: this.#head.seq + 1,
      previous,
      eventType,
      payload,
      ts: Math.floor(now() / HOUR_MS) * HOUR_MS,
    })
    return { seq: record.seq, id: record.id, record: bytes, previous }
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}
