/** Payments whichever hub's credits they are in: those of this hub, or of a peer that clears with it. */
import type { Credits } from '../ledger/credits.ts'
import type { Settled } from '../ledger/settlements.ts'
import type { Payment, PaymentRequest } from '../ledger/terms.ts'
import type { PeerPayments } from './peer-payments.ts'
import type { ShownProofs } from './shown-proofs.ts'

type Parts = { credits: Credits; peerPayments: PeerPayments; shownProofs: ShownProofs }
/**
 * `shown`: what this hub signed of the payment before, where an agent has it still · `isAlone`: credits of no other hub are
 * taken.
 */
type How = { shown?: Uint8Array | undefined; isAlone?: boolean }
export type Facilitated = {
  settled: Settled
  peerReceipt?: Uint8Array
  /** How a hold of this hub or of the peer has ended. */
  ended: (transaction: Uint8Array) => Promise<Settled | undefined>
}

export class Facilitator {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Whether a payment would be made; throws why not. */
  async verify(request: PaymentRequest, { isAlone = false }: How = {}): Promise<Payment> {
    const { credits, peerPayments } = this.#parts
    const other = isAlone ? undefined : await peerPayments.hubOf(request)
    return await (other === undefined ? credits.verify(request) : peerPayments.verify(request, other))
  }

  /** Makes a payment, or tells again what became of it. */
  async settle(request: PaymentRequest, { shown, isAlone = false }: How = {}): Promise<Facilitated> {
    const { credits, peerPayments, shownProofs } = this.#parts
    const other = isAlone ? undefined : await peerPayments.hubOf(request)
    if (other === undefined) {
      if (shown !== undefined) await shownProofs.takeBack(request.authorization, shown)
      return { settled: await credits.settle(request), ended: id => credits.holds.ended(id) }
    }
    await credits.checkOpen()
    const isSigned = shown !== undefined && (await shownProofs.hasSigned(request.authorization, shown, other))
    const { settled, peerReceipt } = await peerPayments.settle(request, other, isSigned)
    return { settled, peerReceipt, ended: id => peerPayments.ended(id) }
  }
}
