/** Receipts of hubs that came with answers: what they prove is recorded, and one that proves nothing is dropped. */
import type { Logger } from 'pino'
import { Authorization, type SettlementKind, settlementKinds } from '../../protocol/proof/payment.ts'
import type { Store } from '../store/open.ts'
import { unjudgedPayments } from '../store/open-payments.ts'
import { dropReceipts, type PaymentRow } from '../store/payments.ts'
import type { Accounts } from './accounts.ts'
import type { PaymentNews } from './news.ts'
import type { ProvenPayments } from './proven.ts'
import type { Receipts } from './receipts.ts'

const AT_ONCE_MAX = 64

type JudgedParts = {
  store: Store
  accounts: Accounts
  receipts: Receipts
  proven: ProvenPayments
  news: PaymentNews
}

export class JudgedReceipts {
  readonly #store: Store
  readonly #accounts: Accounts
  readonly #receipts: Receipts
  readonly #proven: ProvenPayments
  readonly #news: PaymentNews
  readonly #log: Logger

  constructor({ store, accounts, receipts, proven, news }: JudgedParts, log: Logger) {
    this.#store = store
    this.#accounts = accounts
    this.#receipts = receipts
    this.#proven = proven
    this.#news = news
    this.#log = log
  }

  /** Payments whose receipts nobody has judged, by the network of their hub. */
  waiting(): Map<string, PaymentRow[]> {
    return Map.groupBy(unjudgedPayments(this.#store, AT_ONCE_MAX), ({ network }) => network)
  }

  /** Judges the receipts of one payment, and records what they prove. */
  async judge(row: PaymentRow): Promise<void> {
    const { held, paid, captured, returned } = settlementKinds
    const { heldReceipt, endReceipt } = row
    if (row.state === 'authorized' && heldReceipt !== null) {
      const proven = await this.#proves(row, heldReceipt, [held, paid])
      if (proven === false) this.#drop(row, 'held')
      if (proven === true) this.#proven.noteTaken(row, heldReceipt)
    }
    if (endReceipt === null) return
    const proven = await this.#proves(row, endReceipt, [captured, returned])
    if (proven === false) this.#drop(row, 'end')
    if (proven === true) this.#proven.noteEnd(row, endReceipt)
  }

  /** Undefined where its hub is not reached, so that nobody can say. */
  async #proves(
    row: PaymentRow,
    receipt: Uint8Array,
    kinds: readonly SettlementKind[],
  ): Promise<boolean | undefined> {
    const hub = await this.#accounts.accountOf(row.network)
    if (hub === undefined) return undefined
    const authorization = Authorization.decode(row.authorization)
    const fault = await this.#receipts.faultOf(hub, receipt, { authorization, kinds })
    if (fault !== undefined)
      this.#log.error({ fault }, 'what the provider sent as a receipt of the payment does not hold')
    return fault === undefined
  }

  #drop({ interaction }: PaymentRow, which: 'held' | 'end'): void {
    this.#store.transaction(() => {
      dropReceipts(this.#store, interaction, which)
      this.#news.changed(interaction)
    }, 'node.payment')
  }
}
