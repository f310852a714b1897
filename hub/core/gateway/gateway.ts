/**
 * The gateway: anybody with credits buys one use of a capability, at the price on its provider's card, and gets a voucher
 * that the provider takes. Payment and voucher are one transaction. Attacker: a payer who wants two vouchers for a payment,
 * or the voucher of another.
 */
import { equal, utf8Length } from '../../../protocol/encoding/bytes.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { type CardOffers, cardOffers } from '../../../protocol/identity/card-offers.ts'
import { Authorization, networkOf } from '../../../protocol/proof/payment.ts'
import {
  BOUGHT_BYTES_MAX,
  VOUCHER_ID_BYTES,
  VOUCHER_LIFE_MS,
  Voucher,
  type VoucherBody,
} from '../../../protocol/proof/voucher.ts'
import { StoreAway, StoreFull, StoreLocked } from '../../store/port.ts'
import type { HubContext } from '../context.ts'
import type { Credits } from '../ledger/credits.ts'
import { PaymentRefused } from '../ledger/refused.ts'
import { type Settled, settledOf } from '../ledger/settlements.ts'
import { ASSET, misfit, SCHEME, type Terms, transactionIn } from '../ledger/terms.ts'
import type { OpenJoining } from '../membership/open-joining.ts'
import type { OpenMail } from '../open-mail/open-mail.ts'
import { Refusal } from '../refusal.ts'

type Parts = { openMail: OpenMail; credits: Credits; cards: Pick<OpenJoining, 'cardOf'> }
/** One use of what. */
export type Wanted = { provider: string; capability: string }
export type Offer = { terms: Terms; redeemAt: string }
export type Given = { versions: number[]; accepted: Terms; authorization: Uint8Array }
export type Bought = { settled: Settled; voucher: Uint8Array; body: VoucherBody; redeemAt: string }

export class Gateway {
  readonly #context: HubContext
  readonly #parts: Parts

  constructor(context: HubContext, parts: Parts) {
    this.#context = context
    this.#parts = parts
  }

  /** What a use costs and where its voucher is handed in; refuses what is not sold. */
  async offer({ provider, capability }: Wanted): Promise<Offer> {
    const found = await this.#parts.openMail.find(provider)
    if (found === undefined) throw new Refusal('unknownAgent')
    const { prices, redeemAt } = offersOf(await this.#parts.cards.cardOf(found.agent))
    const amount = prices.get(capability)
    if (amount === undefined || utf8Length(capability) > BOUGHT_BYTES_MAX)
      throw new Refusal('capabilityNotSold')
    if (redeemAt === undefined) throw new Refusal('redeemedNowhere')
    const network = networkOf(this.#context.identity.aid)
    const terms = { scheme: SCHEME, network, asset: ASSET, amount: String(amount), payTo: provider }
    return { terms: { ...terms, extra: undefined }, redeemAt }
  }

  /** Makes the payment and gives its voucher; a payment that is shown again gives the same, whatever became of the card. */
  async buy(wanted: Wanted, given: Given): Promise<Bought> {
    const transaction = transactionIn(given)
    const earlier = await this.#bought(transaction)
    if (earlier !== undefined) return await this.#again(wanted, given, earlier)
    const { terms, redeemAt } = await this.offer(wanted)
    if (Authorization.decode(given.authorization).body.refundOf !== undefined)
      throw misfit('what gives a payment back buys nothing')
    const bought = await this.#orUnknown(transaction, async () => {
      await this.#parts.credits.settle({ ...given, required: terms }, undefined, (settled, paid) => ({
        voucher: this.#sign(wanted, settled, paid),
        redeemAt,
      }))
      return await this.#bought(transaction)
    })
    // it was settled elsewhere, for something else
    if (bought === undefined) throw new PaymentRefused('duplicate_settlement')
    return await this.#again(wanted, given, bought)
  }

  /** The voucher goes to whoever paid for this very use: the transaction alone is known to others. */
  async #again({ provider, capability }: Wanted, { authorization }: Given, bought: Bought): Promise<Bought> {
    const paid = await this.#context.store.transfer(bought.body.transaction)
    if (paid?.authorization === undefined || !equal(paid.authorization, authorization))
      throw new PaymentRefused('invalid_signature')
    if (bought.body.provider !== provider || bought.body.capability !== capability)
      throw new PaymentRefused('duplicate_settlement')
    return bought
  }

  async #bought(transaction: Uint8Array): Promise<Bought | undefined> {
    const { store } = this.#context
    const kept = await store.voucher(transaction)
    const transfer = kept && (await store.transfer(transaction))
    const settled = transfer && settledOf(transfer)
    return kept && settled && { ...kept, settled, body: Voucher.decode(kept.voucher).body }
  }

  /** Whatever breaks once the payment is under way may have come after it was made: the payer is told which one it is. */
  async #orUnknown<T>(transaction: Uint8Array, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const isKnown = [PaymentRefused, Refusal, StoreAway, StoreFull, StoreLocked].some(
        kind => error instanceof kind,
      )
      if (isKnown) throw error
      const why = error instanceof Error ? error.message : String(error)
      this.#context.alert('a payment was perhaps made, and its voucher not given', { error: why })
      throw new Refusal('voucherMissing', { transaction })
    }
  }

  #sign({ provider, capability }: Wanted, { body }: Settled, { purpose }: Authorization['body']): Uint8Array {
    const { identity, random } = this.#context
    const { transaction, payer, amount, network, settledAt } = body
    const voucher = Voucher.sign(identity.seed, {
      v: 1,
      ...{ id: random(VOUCHER_ID_BYTES), transaction, payer, provider, capability, amount, network },
      ...present({ purpose }),
      issuedAt: settledAt,
      notAfter: settledAt + VOUCHER_LIFE_MS,
      hub: identity.aid,
      hubKelSeq: identity.seq,
    })
    return Voucher.encode(voucher)
  }
}

/** A card that was kept was judged before. */
const offersOf = (card: string | undefined): CardOffers => cardOffers(card && JSON.parse(card))
