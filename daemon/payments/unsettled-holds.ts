/**
 * Ends of holds of which the provider said nothing: its task was withdrawn or declined, or its answer came without the
 * hub's word. The hub is asked for its receipt. Its ledger alone ends nothing: where it shows an end that the hub does not
 * sign for, the hold stays open with that as its reason.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { Authorization, type SettlementKind, settlementKinds } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import type { AccountEntry, HoldSaid, HubAccount, HubClient } from '../hubs/hub.ts'
import { openHolds } from '../store/open-payments.ts'
import { noteProblem, type PaymentProblem, type PaymentRow } from '../store/payments.ts'
import { noteEnd, noteTaken } from './proven.ts'
import { faultOf, quoteOfRow } from './receipts.ts'

type Needs = Pick<Context, 'store' | 'chain' | 'threads' | 'hubNow' | 'events' | 'log'>
type Asked = Pick<HubClient, 'credits' | 'identity' | 'refresh'>
export type Ended = { returned: string[]; taken: string[] }

const ROWS_MAX = 256
const ENTRIES_MAX = 500
/** A hub counts a hold whose time is over as given back before it posts that, within the hour. */
const NEAR_LAPSE_MS = 5 * 60_000
const LAPSE_POSTED_MS = 2 * 3_600_000
/** After this time an authorization that was not settled never will be. */
const TOLERANCE_MS = 4 * 60_000

/** Notes the ends that the hub has signed; ids of their tasks. */
export async function askHowHoldsEnded(ctx: Needs, home: Asked, signal: AbortSignal): Promise<Ended> {
  const ended: Ended = { returned: [], taken: [] }
  const open = openHolds(ctx.store, ctx.hubNow(), ROWS_MAX)
  if (open.length === 0) return ended
  const before = await home.credits.account(ENTRIES_MAX, signal)
  const mayAsk = (row: PaymentRow) =>
    row.network === before.network && (isListed(row, before) || isPast(ctx, row))
  const unsigned: PaymentRow[] = []
  for (const row of open.filter(mayAsk)) {
    const said = await home.credits.endOf(row.authorization, quoteOfRow(row), signal)
    const moved = await take(ctx, home, row, said)
    if (moved === 'unsigned') unsigned.push(row)
    if (typeof moved !== 'number') continue
    const { id } = ctx.threads.byKey(row.interaction)
    if (moved === 0) ended.returned.push(id)
    else ended.taken.push(id)
  }
  if (unsigned.length === 0) return ended
  const after = await home.credits.account(ENTRIES_MAX, signal)
  for (const row of unsigned) noteUnsigned(ctx, row, { before, after })
  return ended
}

/** What the payee took of a hold that has ended, as the hub has signed; undefined where what it signed does not hold. */
async function take(
  ctx: Needs,
  home: Asked,
  row: PaymentRow,
  said: HoldSaid,
): Promise<number | 'unsigned' | undefined> {
  if ('refused' in said) {
    // it signed that it holds this, and says that it does not
    if (row.heldReceipt !== null) notePlain(ctx, row, 'hold_lost')
    return undefined
  }
  const { held, captured, returned } = settlementKinds
  // while nothing has ended, the provider's fault stays shown
  if (row.state === 'authorized' && (said.end !== undefined || row.problem !== 'false_receipt')) {
    if (!(await holds(ctx, home, row, { receipt: said.receipt, kinds: [held] }))) return undefined
    noteTaken(ctx, row, said.receipt)
  }
  if (said.end === undefined) return 'unsigned'
  const isProven = await holds(ctx, home, row, { receipt: said.end, kinds: [captured, returned] })
  return isProven ? noteEnd(ctx, row, said.end) : undefined
}

async function holds(
  ctx: Needs,
  home: Asked,
  row: PaymentRow,
  { receipt, kinds }: { receipt: Uint8Array; kinds: readonly SettlementKind[] },
): Promise<boolean> {
  const authorization = Authorization.decode(row.authorization)
  const fault = await faultOf(ctx, home, receipt, { authorization, kinds })
  if (fault === undefined) return true
  ctx.log.error({ fault }, 'the receipt of the hub does not hold')
  notePlain(ctx, row, 'bad_receipt')
  return false
}

const isListed = ({ payment }: PaymentRow, { entries }: HubAccount): boolean =>
  entries.some(({ transaction }) => transaction === cidText(payment))

/** Whether asking can no longer make the payment. */
const isPast = ({ hubNow }: Needs, { authorization }: PaymentRow): boolean =>
  hubNow() > Authorization.decode(authorization).body.notAfter + TOLERANCE_MS

/** The task is over, and the hub holds the credits still; or its ledger says that it does not, and it has signed nothing. */
function noteUnsigned(
  ctx: Needs,
  row: PaymentRow,
  { before, after }: { before: HubAccount; after: HubAccount },
): void {
  const isOfRow = (entry: AccountEntry) => entry.transaction === cidText(row.payment)
  const isBack = after.entries.some(entry => isOfRow(entry) && entry.delta > 0)
  const isGone = isListed(row, before) && after.held === 0 && !mayLapse(row.holdUntil, ctx.hubNow())
  if (isBack || isGone) notePlain(ctx, row, 'unproven')
  else if ((row.problem === null || row.problem === 'hold_lost') && isListed(row, before))
    notePlain(ctx, row, 'still_held')
}

function notePlain(
  { store, threads, events, hubNow }: Needs,
  row: PaymentRow,
  problem: PaymentProblem,
): void {
  if (row.problem === problem) return
  store.transaction(() => {
    noteProblem(store, row.interaction, { problem, nextAt: hubNow() })
    const { id: interaction_id, peer } = threads.byKey(row.interaction)
    store.afterCommit(() => events.emit('message', { interaction_id, peer }))
  }, 'node.payment')
}

/** How many payments wait for such an end. */
export const countUnsettledHolds = ({ store, hubNow }: Pick<Needs, 'store' | 'hubNow'>): number =>
  openHolds(store, hubNow(), ROWS_MAX).length

/** Whether a hold may have lapsed without an entry that says so. */
export function mayLapse(holdUntil: number | null, nowMs: number): boolean {
  const pastMs = nowMs - (holdUntil ?? nowMs)
  return pastMs > -NEAR_LAPSE_MS && pastMs < LAPSE_POSTED_MS
}
