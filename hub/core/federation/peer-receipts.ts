/** What peers sign of payments in their credits: believed as far as it proves this very payment, owed to this hub. */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { Authorization, type SettlementKind, SettlementReceipt } from '../../../protocol/proof/payment.ts'
import { settlementFault } from '../../../protocol/proof/settlement.ts'
import type { HubContext } from '../context.ts'
import type { Settled } from '../ledger/settlements.ts'
import { Doubtful } from './doubtful.ts'
import type { Federation } from './federation.ts'
import type { Peer } from './peers.ts'

export class PeerReceipts {
  readonly #context: HubContext
  readonly #federation: Pick<Federation, 'under'>

  constructor(context: HubContext, federation: Pick<Federation, 'under'>) {
    this.#context = context
    this.#federation = federation
  }

  /** The receipt, read; throws {@link Doubtful} with the part that does not hold. */
  async read(
    peer: Peer,
    bytes: Uint8Array,
    expected: { authorization: Uint8Array; kinds: readonly SettlementKind[] },
  ): Promise<Settled> {
    const receipt = decoded(bytes)
    const { log } = await this.#federation.under(peer, receipt.body.hubKelSeq)
    const authorization = Authorization.decode(expected.authorization)
    const fault = settlementFault(receipt, {
      authorization,
      kinds: expected.kinds,
      hub: log,
      peer: this.#context.identity.aid,
      askedBefore: retiredBy =>
        authorization.body.notBefore < (log.events[retiredBy]?.body.ts ?? Number.POSITIVE_INFINITY),
    })
    if (fault !== undefined) throw new Doubtful(fault)
    return { bytes, body: receipt.body }
  }
}

function decoded(bytes: Uint8Array): SettlementReceipt {
  try {
    return SettlementReceipt.decode(bytes)
  } catch (error) {
    if (error instanceof Malformed) throw new Doubtful(error.message)
    throw error
  }
}
