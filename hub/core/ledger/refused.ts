/** Why a payment is not made, in the words of x402 and with a sentence; and payments that cannot be made at all now. */
import { Refusal as AnyRefusal } from '../../../protocol/encoding/errors.ts'
import type { PostResult } from '../../store/ledger-port.ts'
import { Refusal } from '../refusal.ts'

export const paymentReasons = {
  malformed_payment: 'the payment is malformed: {why}',
  invalid_x402_version: 'only version 2 of x402 is spoken here',
  unsupported_scheme: 'only the scheme svc-credit is served here',
  network_mismatch: 'this hub settles on its own network only',
  invalid_payload: 'the payment does not fit its requirements: {why}',
  duplicate_settlement: 'this authorization was settled already',
  unknown_payer: 'the payer has no account here',
  expired: 'the authorization is not valid now: {why}',
  invalid_signature: "the signature does not hold under the signer's newest key",
  insufficient_funds: 'the payer has too few credits',
  hold_ended: 'the hold has ended already',
  peer_limit: 'the hub of the payer would owe this hub too much',
  settlement_pending: 'the hub of the payer has not answered yet: {why}',
} as const
export type PaymentReason = keyof typeof paymentReasons

/** A payment that is refused: an outcome, not a failure of the request. */
export class PaymentRefused extends AnyRefusal<PaymentReason> {
  override name = 'PaymentRefused'
  constructor(reason: PaymentReason, why = 'its form is wrong') {
    super(reason, paymentReasons[reason].replace('{why}', why))
  }
}

/** A payment across two hubs of which the other one has not said what became of it. */
export class PaymentPending extends PaymentRefused {
  override name = 'PaymentPending'
  readonly transaction: Uint8Array
  constructor(transaction: Uint8Array, why: string) {
    super('settlement_pending', why)
    this.transaction = transaction
  }
}

export const isPaymentReason = (code: string): code is PaymentReason => Object.hasOwn(paymentReasons, code)

/** The supply chain stands still, so that nothing was posted that needs a record of it. */
export type Halted = { outcome: 'halted' }

/** Throws why a transfer was not posted. */
export function checkPosted({ outcome }: PostResult | Halted): void {
  switch (outcome) {
    case 'posted':
    case 'held':
      return
    case 'insufficient':
      throw new PaymentRefused('insufficient_funds')
    case 'overflow':
      throw new PaymentRefused('invalid_payload', 'there can be no more than 2^53 - 1 credits')
    case 'refundedOver':
      throw new PaymentRefused('invalid_payload', 'more would be given back than was paid')
    case 'halted':
      throw new Refusal('supplyHalted')
    default:
      throw new Refusal('overloaded')
  }
}
