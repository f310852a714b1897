/** Orders about credits: what the hub owes, and what it has to pay out. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import { CLOCK_SETTING, lastStoredMs } from '../core/clocks.ts'
import { DOUBT_SETTING } from '../core/ledger/hold-clock.ts'
import { LISTED_MAX, type OperatorContext, type OrderOf, type OrderResult } from './order-shapes.ts'

type Clocked = Pick<OperatorContext, 'store' | 'now' | 'holdClock'>

/** One page of what was redeemed, newest first. */
export async function redemptions(
  { since, before, limit = LISTED_MAX }: OrderOf<'redemptions'>,
  { store }: OperatorContext,
): Promise<OrderResult> {
  const found = await store.redemptions({ sinceMs: since ?? 0, before, limit: limit + 1 })
  const shown = found.slice(0, limit)
  return {
    redemptions: shown.map(({ atMs, aid, amount, reference, transaction }) => ({
      at: new Date(atMs).toISOString(),
      aid,
      amount,
      // one that came back from a witness has its record alone
      reference: reference ?? null,
      transaction: transaction === undefined ? null : cidText(transaction),
    })),
    ...present({ next: found.length > limit ? shown.at(-1)?.seq : undefined }),
  }
}

/** What an agent has, where it has or had anything. */
export async function creditsOf(aid: string, context: OperatorContext): Promise<OrderResult> {
  const { balance, held, lapsed } = await context.store.holdings(aid, await holdTime(context))
  return { balance: balance + lapsed, held: held - lapsed }
}

/** By how much the clock is doubted, as a running hub knows it or a stopped one has it stored. */
async function doubtOf({ store, holdClock }: Clocked): Promise<number> {
  holdClock?.look()
  return holdClock?.doubtMs ?? Number((await store.setting(DOUBT_SETTING)) ?? 0)
}

/** The time by which holds lapse. */
export const holdTime = async (context: Clocked): Promise<number> => context.now() - (await doubtOf(context))

const BEHIND =
  'the clock is behind the latest time that the hub knew, and signed requests are refused until it has caught up; svc-hub doctor says what helps'

/** Shows the clock of the hub, or takes it for right. */
export async function clockOfHolds(
  { accept }: OrderOf<'clock'>,
  context: OperatorContext,
): Promise<OrderResult> {
  const { store, now, holdClock, clockBehindMs } = context
  if (accept === true && holdClock !== undefined) await holdClock.accept()
  if (accept === true && holdClock === undefined) {
    await store.putSetting(DOUBT_SETTING, '0')
    await store.putSetting(CLOCK_SETTING, String(now()))
  }
  const doubtMs = await doubtOf(context)
  const behindMs = clockBehindMs?.() ?? Math.max(0, (await lastStoredMs(store)) - now())
  return {
    now: new Date(now()).toISOString(),
    holds_lapse_by: new Date(now() - doubtMs).toISOString(),
    doubted_ms: doubtMs,
    behind_ms: behindMs,
    ...present({
      note: behindMs === 0 ? undefined : BEHIND,
      next: doubtMs === 0 ? undefined : 'svc-hub clock accept',
    }),
  }
}

/** What the hub owes all agents together. */
export async function creditTotals({ store }: Pick<OperatorContext, 'store'>): Promise<OrderResult> {
  const { agents, holds, issued, retired } = await store.creditTotals()
  return { owed: agents + holds, held: holds, issued, redeemed: retired }
}
