/**
 * What a hub's settlement receipt proves (objects: payment): that it names the payment of this very authorization, under
 * the key state that the hub has now, or had when the reader asked for it.
 */
import { equal } from '../encoding/bytes.ts'
import { keyAt, type VerifiedKel } from '../identity/kel.ts'
import {
  type Authorization,
  type SettlementBody,
  type SettlementKind,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from './payment.ts'

/** Why a settlement receipt does not prove a payment, objects §18. */
export type SettlementFault =
  | 'hub'
  | 'key_state'
  | 'signature'
  | 'payment'
  | 'parties'
  | 'network'
  | 'kind'
  | 'amount'
  | 'hold'

type Expected = {
  authorization: Authorization
  /** The newest log that is known of the hub. */
  hub: VerifiedKel
  kinds: readonly SettlementKind[]
  /** The other hub of a payment across two, which the receipt must name. */
  peer?: string
  /** Whether this payment was asked for before the reader knew of the event that retired a key state of the hub. */
  askedBefore?: (retiredBy: number) => boolean
}

/** How long after its successor was made a key may still have signed. */
const RETIRED_GRACE_MS = 5 * 60_000

/** The first thing for which a receipt does not prove this payment; undefined when it does. */
export function settlementFault(receipt: SettlementReceipt, expected: Expected): SettlementFault | undefined {
  const { body } = receipt
  const { authorization, hub, kinds } = expected
  if (body.hub !== hub.aid || body.peer !== expected.peer) return 'hub'
  if (body.hubKelSeq !== hub.seq && !wasPresent(body, expected)) return 'key_state'
  const key = keyAt(hub, body.hubKelSeq)
  if (key === undefined || !SettlementReceipt.verify(key, receipt)) return 'signature'
  if (!equal(body.transaction, transactionOf(authorization))) return 'payment'
  if (!kinds.includes(body.kind)) return 'kind'
  return termsFault(body, authorization.body)
}

/** Whether the retired key that signed was the present one for whoever asked; a thief of it comes too late. */
function wasPresent({ hubKelSeq, settledAt }: SettlementBody, { hub, askedBefore }: Expected): boolean {
  const successor = hub.events[hubKelSeq + 1]
  if (successor === undefined || askedBefore === undefined) return false
  return settledAt < successor.body.ts + RETIRED_GRACE_MS && askedBefore(hubKelSeq + 1)
}

function termsFault(body: SettlementBody, paid: Authorization['body']): SettlementFault | undefined {
  if (body.payer !== paid.payer || body.payee !== paid.payTo) return 'parties'
  if (body.network !== paid.network) return 'network'
  const isPart = body.kind === settlementKinds.captured || body.kind === settlementKinds.returned
  if (isPart ? body.amount > paid.amount : body.amount !== paid.amount) return 'amount'
  return body.kind === settlementKinds.held && body.holdUntil !== paid.holdUntil ? 'hold' : undefined
}
