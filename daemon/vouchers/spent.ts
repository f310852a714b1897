/** Vouchers that were taken: the chain says which, also after a restart. */

import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { VoucherBody } from '../../protocol/proof/voucher.ts'
import type { Chain } from '../chain/chain.ts'
import type { Store } from '../store/open.ts'

export const REDEEMED = 'svc.voucher.redeemed'
/** The newest of them are read at a start; an older one is over by far. */
export const REPLAYED_MAX = 100_000

export class SpentVouchers {
  readonly #chain: Chain
  readonly #store: Pick<Store, 'afterCommit'>
  readonly #spent = new Set<string>()

  constructor(chain: Chain, store: Pick<Store, 'afterCommit'>) {
    this.#chain = chain
    this.#store = store
    for (let before: number | undefined; this.#spent.size < 2 * REPLAYED_MAX; ) {
      const page = chain.read({
        eventType: REDEEMED,
        limit: PAGE,
        ...present({ before }),
      })
      for (const { payload } of page) this.#note(payload as Redeemed)
      before = page.length < PAGE ? undefined : Number(page[0]?.['seq'])
      if (before === undefined) break
    }
  }

  /** Whether this voucher, or another one for the same payment, was taken. */
  has({ id, transaction }: VoucherBody): boolean {
    return this.#spent.has(toBase64url(id)) || this.#spent.has(cidText(transaction))
  }

  /** Takes it for good; part of the transaction of the caller. */
  take({ id, transaction, payer, capability, amount, network }: VoucherBody): void {
    const redeemed = {
      ...{ voucher_id: toBase64url(id), auth_id: cidText(transaction) },
      ...{ payer, capability, amount, network },
    }
    this.#chain.append(REDEEMED, redeemed)
    // one whose record could not be kept is good still
    this.#store.afterCommit(() => this.#note(redeemed))
  }

  #note({ voucher_id, auth_id }: Redeemed): void {
    this.#spent.add(voucher_id)
    this.#spent.add(auth_id)
  }
}

type Redeemed = { voucher_id: string; auth_id: string }
const PAGE = 1000
