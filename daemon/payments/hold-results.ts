/** What a hub has proven of a hold for this node, kept and recorded. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import type { Chain } from '../chain/chain.ts'
import type { Store } from '../store/open.ts'
import {
  acceptLostEnds,
  keepPeerReceipt,
  markEnded,
  markHeld,
  markRefused,
  type PaymentRow,
  paymentOf,
} from '../store/payments.ts'
import type { Threads } from '../store/threads.ts'
import { isAccepted } from './lost-holds.ts'
import type { PricedAnswers } from './priced-tasks.ts'

/** A hub's receipt, with that of the payer's hub where that is another one. */
export type Signed = { receipt: Uint8Array; peerReceipt?: Uint8Array }

type ResultParts = { store: Store; threads: Threads; chain: Chain; answers: PricedAnswers }

/** What the receipt of an end says that this node got. */
export function movedBy(receipt: Uint8Array): number {
  const { kind, amount } = SettlementReceipt.decode(receipt).body
  return kind === settlementKinds.captured ? amount : 0
}

export class HoldResults {
  readonly #store: Store
  readonly #threads: Threads
  readonly #chain: Chain
  readonly #answers: PricedAnswers

  constructor({ store, threads, chain, answers }: ResultParts) {
    this.#store = store
    this.#threads = threads
    this.#chain = chain
    this.#answers = answers
  }

  /** The credits are held. */
  held(row: PaymentRow, signed: Signed): PaymentRow | undefined {
    return this.#store.transaction(() => {
      markHeld(this.#store, row.interaction, signed.receipt)
      this.#keepPeers(row, 'held', signed)
      this.#record(row, row.amount)
      const held = paymentOf(this.#store, row.interaction)
      if (held !== undefined) this.#answers.tellHeld(held)
      return held
    }, 'node.payment')
  }

  /** The hub has made no such payment, so there is nothing to end. */
  refused(row: PaymentRow, reason: string): PaymentRow | undefined {
    return this.#store.transaction(() => {
      markRefused(this.#store, row.interaction, reason)
      return paymentOf(this.#store, row.interaction)
    }, 'node.payment')
  }

  /** As an ended identity learns of it, which records nothing. */
  endedUnrecorded(row: PaymentRow, receipt: Uint8Array): void {
    const moved = movedBy(receipt)
    this.#store.transaction(() => markEnded(this.#store, row.interaction, { receipt, moved }), 'node.payment')
  }

  /** A copy of this node that is lost has ended it. */
  endedElsewhere(row: PaymentRow, receipt: Uint8Array): void {
    this.#store.transaction(() => {
      if (paymentOf(this.#store, row.interaction)?.state !== 'held') return
      this.#end(row, receipt)
    }, 'node.payment')
  }

  /** An order of this node has ended it. */
  ended(row: PaymentRow, signed: Signed): PaymentRow | undefined {
    const { receipt } = signed
    return this.#store.transaction(() => {
      this.#keepPeers(row, 'end', signed)
      const current = paymentOf(this.#store, row.interaction)
      // the same order may have been answered twice: a hold ends once
      if (current?.state !== 'ending') return current
      if (row.endReceipt === null) return this.#end(row, receipt)
      markEnded(this.#store, row.interaction, { receipt, moved: movedBy(receipt) })
      return paymentOf(this.#store, row.interaction)
    }, 'node.payment')
  }

  /** The hub has lost it: where a person went on with that hub, nothing is asked for it any more. */
  lost(row: PaymentRow): void {
    if (isAccepted(this.#store, row))
      this.#store.transaction(() => acceptLostEnds(this.#store, row.network), 'node.payment')
  }

  #keepPeers({ interaction }: PaymentRow, which: 'held' | 'end', { peerReceipt: receipt }: Signed): void {
    if (receipt !== undefined) keepPeerReceipt(this.#store, interaction, { which, receipt })
  }

  #end(row: PaymentRow, receipt: Uint8Array): PaymentRow | undefined {
    const moved = movedBy(receipt)
    markEnded(this.#store, row.interaction, { receipt, moved })
    this.#record(row, moved)
    const ended = paymentOf(this.#store, row.interaction)
    if (ended !== undefined) this.#answers.letGo(ended)
    return ended
  }

  #record(row: PaymentRow, amount: number): void {
    const interaction = this.#threads.byKey(row.interaction)
    this.#chain.append('svc.payment.settled', {
      interaction_id: interaction.id,
      capability: interaction.capability ?? '',
      transaction: cidText(row.payment),
      amount,
      network: row.network,
    })
  }
}
