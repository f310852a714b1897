/** Payments that were authorized for tasks which nobody has seen yet: after a rotation a hub takes them under the new key only. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { decodePayload, encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { Authorization, transactionOf } from '../../protocol/proof/payment.ts'
import type { Chain } from '../chain/chain.ts'
import type { Identity } from '../identity/identity.ts'
import type { Store } from '../store/open.ts'
import { openPaymentsOut } from '../store/open-payments.ts'
import { type PaymentRow, replaceAuthorization } from '../store/payments.ts'
import type { Threads } from '../store/threads.ts'

type UnsentParts = { identity: Identity; store: Store; chain: Chain; threads: Threads }

export class UnsentPayments {
  readonly #parts: UnsentParts

  constructor(parts: UnsentParts) {
    this.#parts = parts
  }

  /** Signs them anew, with the same terms; runs inside a transaction. */
  resign(): void {
    for (const row of openPaymentsOut(this.#parts.store)) this.#resign(row)
  }

  #resign(row: PaymentRow): void {
    const { identity, store, chain, threads } = this.#parts
    const { body } = Authorization.decode(row.authorization)
    const interaction = threads.byKey(row.interaction)
    const message = threads.byNumber(row.interaction, 'out', 1)
    if (body.payerKelSeq === identity.log.seq || message === undefined) return
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind !== kinds.delegate) return
    const authorization = Authorization.sign(identity.seed, { ...body, payerKelSeq: identity.log.seq })
    const encoded = Authorization.encode(authorization)
    const payload = encodePayload(kinds.delegate, { ...decoded.payload, authorization: encoded })
    // what somebody may have seen stays as it is: its payee says what its hub made of it
    if (!threads.complete(message, payload)) return
    const payment = transactionOf(authorization)
    replaceAuthorization(store, row.interaction, { payment, authorization: encoded })
    chain.append('svc.payment.authorized', {
      interaction_id: interaction.id,
      authorization_id: cidText(payment),
      pay_to: body.payTo,
      amount: body.amount,
      network: body.network,
    })
  }
}
