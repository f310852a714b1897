/** Settlement receipts: what the hub signs about a payment, and how one is read again. */
import { present } from '../../../protocol/encoding/present.ts'
import {
  type Authorization,
  networkOf,
  type SettlementKind,
  SettlementReceipt,
} from '../../../protocol/proof/payment.ts'
import type { PostedTransfer } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import type { SupplyChain } from '../supply/chain.ts'

/** A settled payment: its receipt as it is kept, and the body of it. */
export type Settled = { bytes: Uint8Array; body: SettlementReceipt['body'] }

export type SettlementOutcome = Pick<
  SettlementReceipt['body'],
  'transaction' | 'kind' | 'payer' | 'payee' | 'amount'
> & {
  holdUntil?: number | undefined
  /** The other hub of a payment across two: the one that owes the amount, or that it is owed to. */
  peer?: string | undefined
  /** Whose credits they are, where they are not this hub's. */
  network?: string | undefined
}

export class Settlements {
  readonly #context: Pick<HubContext, 'identity' | 'now'>
  readonly #supply: SupplyChain

  constructor(context: Pick<HubContext, 'identity' | 'now'>, supply: SupplyChain) {
    this.#context = context
    this.#supply = supply
  }

  /** Signs what becomes of a payment at this moment. */
  sign(outcome: SettlementOutcome): Settled {
    const { identity, now } = this.#context
    const { holdUntil, peer, network = networkOf(identity.aid), ...given } = outcome
    const { seq, id } = this.#supply.head
    const receipt = SettlementReceipt.sign(identity.seed, {
      v: 1,
      ...given,
      network,
      settledAt: now(),
      hub: identity.aid,
      hubKelSeq: identity.seq,
      supplyHead: [seq, id],
      ...present({ holdUntil, peer }),
    })
    return { bytes: SettlementReceipt.encode(receipt), body: receipt.body }
  }
}

/** The kind of receipt that a payment of this authorization gets at once. */
export const kindOf = (body: Authorization['body']): SettlementKind => (body.holdUntil === undefined ? 0 : 1)

/** The receipt that was stored with a transfer; undefined for one that has none. */
export function settledOf({ receipt }: Pick<PostedTransfer, 'receipt'>): Settled | undefined {
  return receipt && { bytes: receipt, body: SettlementReceipt.decode(receipt).body }
}
