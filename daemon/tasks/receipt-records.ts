/** What the chain of this node has of receipts, and what they show of the chains of others. Inside a transaction of the caller. */
import { cidText } from '../../protocol/crypto/hash.ts'
import type { HeldHead } from '../../protocol/proof/held-head.ts'
import { Receipt } from '../../protocol/proof/receipt.ts'
import type { Chain } from '../chain/chain.ts'
import { noteHead } from '../peers/heads.ts'
import { noteReceiptRecord } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'

export class ReceiptRecords {
  readonly #store: Store
  readonly #chain: Chain
  readonly #now: () => number

  constructor(store: Store, chain: Chain, now: () => number) {
    this.#store = store
    this.#chain = chain
    this.#now = now
  }

  /** The provider signed a receipt. */
  made({ id, key, delegator }: Interaction, resultCid: Uint8Array): void {
    const seq = this.#chain.append('svc.interaction.receipt', {
      interaction_id: id,
      requester_aid: delegator,
      result_cid: cidText(resultCid),
    })
    noteReceiptRecord(this.#store, key, seq)
  }

  /** The requester judged a receipt. `verified`: it signs it too. */
  judged({ id, key }: Interaction, receipt: Receipt, verified: boolean): void {
    const seq = this.#chain.append('svc.result.accepted', {
      interaction_id: id,
      result_cid: cidText(receipt.body.resultCid),
      receipt_bytes: Receipt.encode(receipt),
      receipt_verified: verified,
    })
    noteReceiptRecord(this.#store, key, seq)
  }

  /** The head of its chain that the other side signed with a receipt. */
  noteHead(held: HeldHead): void {
    noteHead({ store: this.#store, chain: this.#chain, now: this.#now }, held)
  }
}
