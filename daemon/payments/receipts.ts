/** Judging what a hub signed about a payment, with its newest key history. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  type SettlementKind,
  SettlementReceipt,
} from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { settlementFault } from '../../protocol/proof/settlement.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { keepReceipts, markRefused, type PaymentRow, silentPayments } from '../store/payments.ts'
import { noteHead } from './seen-heads.ts'

type Noting = Parameters<typeof noteHead>[0]
type Expected = { authorization: Authorization; kinds: readonly SettlementKind[] }

/** Why a receipt does not prove its payment; a hub that rotated its key since is asked for its history first. */
export async function faultOf(
  ctx: Noting,
  hub: Pick<HubClient, 'identity' | 'refresh'>,
  encoded: Uint8Array,
  expected: Expected,
): Promise<string | undefined> {
  try {
    const receipt = SettlementReceipt.decode(encoded)
    if (receipt.body.hubKelSeq > hub.identity.log.seq) await hub.refresh()
    const fault = settlementFault(receipt, { ...expected, hub: hub.identity.log })
    if (fault === undefined) noteHead(ctx, hub.identity.aid, receipt.body.supplyHead)
    return fault
  } catch (error) {
    if (error instanceof Malformed) return wordsOf(error)
    throw error
  }
}

type Asking = Pick<Context, 'store' | 'hubNow' | 'threads' | 'wakers'>

/** After this time an authorization that was not settled never will be. */
const TOLERANCE_MS = 4 * 60_000
const ROWS_MAX = 256
const SETTLE_SECONDS = 300

/** Asks the hub for the receipts of payments of which nothing was heard and which can no longer be made by asking. */
export async function askForReceipts(
  { store, hubNow, threads, wakers }: Asking,
  home: Pick<HubClient, 'credits'>,
  signal: AbortSignal,
): Promise<{ settled: string[]; lapsed: string[] }> {
  const settled: string[] = []
  const lapsed: string[] = []
  const before = hubNow() - AUTHORIZATION_LIFE_MAX_MS - TOLERANCE_MS
  for (const row of silentPayments(store, before, ROWS_MAX)) {
    const { id } = threads.byKey(row.interaction)
    const answer = await home.credits.settle(row.authorization, quoteOfRow(row), signal)
    if ('receipt' in answer) {
      keepReceipts(store, row.interaction, { held: answer.receipt, end: null })
      settled.push(id)
    } else {
      markRefused(store, row.interaction, row.reason ?? 'nobody used the authorization in its time')
      lapsed.push(id)
    }
  }
  if (settled.length > 0) wakers.spending.wake()
  return { settled, lapsed }
}

function quoteOfRow(row: PaymentRow): Quote {
  const { body } = Authorization.decode(row.authorization)
  const holdSeconds = body.holdUntil === undefined ? undefined : (body.holdUntil - body.notAfter) / 1000
  return {
    provider: body.payTo,
    what: '',
    amount: body.amount,
    network: body.network,
    holdSeconds,
    settleSeconds: SETTLE_SECONDS,
  }
}
