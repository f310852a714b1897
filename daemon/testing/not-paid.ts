/** Why a ledger in memory makes no payment, as a hub says it. */
const REASON_WORDS: Readonly<Record<string, string>> = {
  invalid_signature: "the signature does not hold under the signer's newest key",
  insufficient_funds: 'the payer has too few credits',
  hold_ended: 'the hold has ended already',
  settlement_pending: 'the other hub has not answered yet',
  peer_limit: 'the hub of the payer would owe this hub too much',
}

export class NotPaid extends Error {
  readonly reason: string
  constructor(reason: string, says = REASON_WORDS[reason] ?? reason.replaceAll('_', ' ')) {
    super(says)
    this.reason = reason
  }
}
