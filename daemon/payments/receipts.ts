/** Judging what a hub signed about a payment, with its newest key history. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { type Authorization, type SettlementKind, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { settlementFault } from '../../protocol/proof/settlement.ts'
import type { HubClient } from '../hubs/hub.ts'

type Expected = { authorization: Authorization; kinds: readonly SettlementKind[] }

/** Why a receipt does not prove its payment; a hub that rotated its key since is asked for its history first. */
export async function faultOf(
  hub: Pick<HubClient, 'identity' | 'refresh'>,
  encoded: Uint8Array,
  expected: Expected,
): Promise<string | undefined> {
  try {
    const receipt = SettlementReceipt.decode(encoded)
    if (receipt.body.hubKelSeq > hub.identity.log.seq) await hub.refresh()
    return settlementFault(receipt, { ...expected, hub: hub.identity.log })
  } catch (error) {
    if (error instanceof Malformed) return wordsOf(error)
    throw error
  }
}
