/** Why a payment is not made, in the words of x402 and with a sentence; and payments that cannot be made at all now. */
import { Refusal as AnyRefusal } from '../../../protocol/encoding/errors.ts'
import type { PostResult } from '../../store/ledger-port.ts'
import { Refusal } from '../refusal.ts'

/** `says` what is wrong, and what `next`; in the words of the printed table. */
export const paymentReasons = {
  malformed_payment: { says: 'the payment is malformed: {why}', next: 'correct the bytes' },
  invalid_x402_version: { says: 'only version 2 of x402 is spoken here', next: 'send version 2' },
  unsupported_scheme: { says: 'only the scheme svc-credit is served here', next: 'ask for svc-credit' },
  network_mismatch: {
    says: 'no payment is made on that network here: {why}',
    next: 'settle in a network of `/x402/supported`; where payments with a hub are stopped, later',
  },
  invalid_payload: {
    says: 'the payment does not fit its requirements: {why}',
    next: 'correct the terms, or ask the payer for another authorization',
  },
  duplicate_settlement: {
    says: 'this authorization was settled already',
    next: 'ask the hub that settled it; `/x402/verify` says no more than this',
  },
  unknown_payer: { says: 'the payer has no account here', next: 'the payer registers, or pays elsewhere' },
  expired: {
    says: 'the authorization is not valid now: {why}',
    next: 'ask the payer for another authorization',
  },
  invalid_signature: {
    says: "the signature does not hold under the signer's newest key",
    next: 'the signer signs anew with its newest key, and names that key',
  },
  insufficient_funds: {
    says: 'the payer has too few credits',
    next: 'send the same again once the payer has more',
  },
  hold_ended: { says: 'the hold has ended already', next: 'settle the authorization again for its end' },
  peer_limit: {
    says: 'the hub of the payer would owe this hub too much',
    next: 'send the same again later, or ask for credits of this hub',
  },
  settlement_pending: {
    says: 'the hub of the payer has not answered yet: {why}',
    next: 'send the same again; nothing is decided yet',
  },
} as const
export type PaymentReason = keyof typeof paymentReasons

/** A payment that is refused: an outcome, not a failure of the request. */
export class PaymentRefused extends AnyRefusal<PaymentReason> {
  override name = 'PaymentRefused'
  constructor(reason: PaymentReason, why = 'its form is wrong') {
    super(reason, paymentReasons[reason].says.replace('{why}', why))
  }
}

export const otherNetwork = () =>
  new PaymentRefused('network_mismatch', 'it has to be that of this hub or of a peer, in all terms')

/** What one hub owes the other is in doubt between them. */
export const crossingStopped = () =>
  new PaymentRefused(
    'network_mismatch',
    'payments with that hub are stopped until its operator and that of this hub agree',
  )

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
