/** Judging what a hub signed about a payment, with its newest key history. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  networkOf,
  type SettlementKind,
  SettlementReceipt,
  settlementKinds,
} from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { settlementFault } from '../../protocol/proof/settlement.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { hubKeySeenAt, noteHubKeySeen } from '../store/hub-keys-seen.ts'
import { silentPayments } from '../store/open-payments.ts'
import { keepReceipts, markRefused, type PaymentRow } from '../store/payments.ts'
import { noteHead } from './seen-heads.ts'

type Noting = Parameters<typeof noteHead>[0]
type Expected = {
  authorization: Authorization
  kinds: readonly SettlementKind[]
  /** When this node first asked for the payment, where it did not sign it itself. */
  askedAtMs?: number
}

/** Remembers when a key state of a hub was first seen here. */
export function noteKeyState({ store, hubNow }: Noting, { aid, seq }: { aid: string; seq: number }): void {
  noteHubKeySeen(store, aid, seq, hubNow)
}

/** A key state that was never noted here is none that anything was asked for before. */
const keyStateSince = ({ store }: Noting, hub: string, seq: number): number =>
  hubKeySeenAt(store, hub, seq) ?? 0

/** Why a receipt does not prove its payment; a hub that rotated its key since is asked for its history first. */
export async function faultOf(
  ctx: Noting,
  hub: Pick<HubClient, 'identity' | 'refresh'>,
  encoded: Uint8Array,
  expected: Expected,
): Promise<string | undefined> {
  try {
    const receipt = SettlementReceipt.decode(encoded)
    noteKeyState(ctx, hub.identity.log)
    if (receipt.body.hubKelSeq > hub.identity.log.seq) await hub.refresh()
    noteKeyState(ctx, hub.identity.log)
    const { authorization, kinds, askedAtMs = authorization.body.notBefore } = expected
    const askedBefore = (seq: number) => askedAtMs < keyStateSince(ctx, hub.identity.log.aid, seq)
    const fault = settlementFault(receipt, { authorization, kinds, hub: hub.identity.log, askedBefore })
    if (fault === undefined) noteHead(ctx, hub.identity.aid, receipt.body.supplyHead)
    return fault
  } catch (error) {
    if (error instanceof Malformed) return wordsOf(error)
    throw error
  }
}

/** Why a receipt does not prove the hold of a payment, or its end. */
export function receiptFault(
  ctx: Noting,
  row: PaymentRow,
  hub: HubClient,
  receipt: Uint8Array,
  what: 'held' | 'ended',
): Promise<string | undefined> {
  const { held, captured, returned } = settlementKinds
  const authorization = Authorization.decode(row.authorization)
  const kinds = what === 'held' ? [held] : [captured, returned]
  return faultOf(ctx, hub, receipt, { authorization, kinds, askedAtMs: row.at })
}

type Asking = Pick<Context, 'store' | 'hubNow' | 'threads' | 'wakers'>

/** After this time an authorization that was not settled never will be. */
const TOLERANCE_MS = 4 * 60_000
const ROWS_MAX = 256
const SETTLE_SECONDS = 300

/** Asks the hub for the receipts of payments of which nothing was heard and which can no longer be made by asking. */
export async function askForReceipts(
  { store, hubNow, threads, wakers }: Asking,
  home: Pick<HubClient, 'credits' | 'identity'>,
  signal: AbortSignal,
): Promise<{ settled: string[]; lapsed: string[] }> {
  const settled: string[] = []
  const lapsed: string[] = []
  const before = hubNow() - AUTHORIZATION_LIFE_MAX_MS - TOLERANCE_MS
  const network = networkOf(home.identity.aid)
  for (const row of silentPayments(store, network, before, ROWS_MAX)) {
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

/** The quote that an authorization was made for, as far as a hub compares it. */
export function quoteOfRow(row: Pick<PaymentRow, 'authorization'>): Quote {
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
