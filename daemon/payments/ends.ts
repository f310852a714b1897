/**
 * Ends of holds of which the provider said nothing: its task was withdrawn or declined, or its answer came without the
 * hub's word. No receipt of such an end reaches its payer, so its own ledger at the hub is asked.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import type { Context } from '../context.ts'
import type { AccountEntry, HubAccount, HubClient } from '../hubs/hub.ts'
import { openHolds } from '../store/open-payments.ts'
import { endByLedger, noteProblem, type PaymentRow } from '../store/payments.ts'

type Needs = Pick<Context, 'store' | 'chain' | 'threads' | 'hubNow' | 'events'>
export type Ended = { returned: string[]; taken: string[] }

const ROWS_MAX = 256
const ENTRIES_MAX = 500
/** A hub counts a hold whose time is over as given back before it posts that, within the hour. */
const NEAR_LAPSE_MS = 5 * 60_000
const LAPSE_POSTED_MS = 2 * 3_600_000

/** Notes the ends that the ledger shows; ids of their tasks. */
export async function askForEnds(
  ctx: Needs,
  home: Pick<HubClient, 'credits' | 'identity'>,
  signal: AbortSignal,
): Promise<Ended> {
  const ended: Ended = { returned: [], taken: [] }
  const open = openHolds(ctx.store, ctx.hubNow(), ROWS_MAX)
  if (open.length === 0) return ended
  const before = await home.credits.account(ENTRIES_MAX, signal)
  const after = await home.credits.account(ENTRIES_MAX, signal)
  for (const row of open.filter(({ network }) => network === before.network)) {
    const moved = movedOf(row, before, after, ctx.hubNow())
    if (moved === undefined && before.entries.some(({ transaction }) => transaction === cidText(row.payment)))
      noteStillHeld(ctx, row)
    if (moved === undefined || !note(ctx, row, moved)) continue
    const { id } = ctx.threads.byKey(row.interaction)
    if (moved === 0) ended.returned.push(id)
    else ended.taken.push(id)
  }
  return ended
}

/** Its task is over, and the hub holds the credits still: its payee has not given them back, or the hub has not said so. */
function noteStillHeld({ store, hubNow }: Needs, { interaction, problem }: PaymentRow): void {
  if (problem === null) noteProblem(store, interaction, { problem: 'still_held', nextAt: hubNow() })
}

/** How many payments wait for such an end. */
export const countOpenEnds = ({ store, hubNow }: Pick<Needs, 'store' | 'hubNow'>): number =>
  openHolds(store, hubNow(), ROWS_MAX).length

/**
 * What its payee took of a hold that has ended; undefined where it may still be open. All of it leaves no entry with its
 * payer: then the hold was there, and after that nothing was held any more.
 */
function movedOf(
  { payment, amount, holdUntil }: PaymentRow,
  before: HubAccount,
  { held, entries }: HubAccount,
  nowMs: number,
): number | undefined {
  const transaction = cidText(payment)
  const isOf = (entry: AccountEntry) => entry.transaction === transaction
  const back = entries.find(entry => isOf(entry) && entry.delta > 0)
  if (back !== undefined) return Math.max(0, amount - back.delta)
  return held === 0 && !mayLapse(holdUntil, nowMs) && before.entries.some(isOf) ? amount : undefined
}

/** Whether a hold may have lapsed without an entry that says so. */
export function mayLapse(holdUntil: number | null, nowMs: number): boolean {
  const pastMs = nowMs - (holdUntil ?? nowMs)
  return pastMs > -NEAR_LAPSE_MS && pastMs < LAPSE_POSTED_MS
}

function note({ store, chain, threads, events }: Needs, row: PaymentRow, moved: number): boolean {
  return store.transaction(() => {
    if (!endByLedger(store, row.interaction, moved)) return false
    const { id: interaction_id, peer } = threads.byKey(row.interaction)
    chain.append('svc.payment.settled', {
      interaction_id,
      transaction: cidText(row.payment),
      amount: moved,
      network: row.network,
      verified: false,
    })
    store.afterCommit(() => events.emit('message', { interaction_id, peer }))
    return true
  }, 'node.payment')
}
