/** Asking the hub what became of messages that it has, and doing what follows from it. */
import { STATUS_ITEMS_MAX } from '../../protocol/contract/limits.ts'
import type { Fate } from '../carrier/carrier.ts'
import type { Context } from '../context.ts'
import { describe, LOST_BY_PEER, LOST_BY_REQUESTER, refusedByRecipient } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import {
  askAgainAt,
  endDoubt,
  entriesToAskAbout,
  isTaskOnItsWay,
  type OutboxEntry,
  OVERTOOK,
} from '../store/outbox.ts'
import type { Verdict } from '../store/seen.ts'
import { noteDelivered } from '../tasks/delivery.ts'
import { isRequester } from '../tasks/standing.ts'
import { noteUnanswered } from './numbers.ts'
import { endIfOverdue, finish, fraction, isExpired, sendAnew, sendLost } from './steps.ts'

type Needs = Pick<
  Context,
  | 'store'
  | 'peers'
  | 'capabilities'
  | 'threads'
  | 'timings'
  | 'events'
  | 'log'
  | 'now'
  | 'hubNow'
  | 'random'
  | 'wakers'
  | 'carriers'
>

const STATUS_FIRST_MS = 10_000
const STATUS_LAST_MS = 120_000

/** 10 to 120 s apart and jittered, so that a hub cannot pair a pickup with the question about it. */
export function statusPause(ctx: Pick<Context, 'random'>, asked: number): number {
  const span = Math.min(STATUS_FIRST_MS * 2 ** asked, STATUS_LAST_MS - STATUS_FIRST_MS)
  return Math.ceil(STATUS_FIRST_MS + span * fraction(ctx))
}

/** Asks about messages of one recipient and one credential; undefined when it is time for none. */
export function askWhatIsDue(ctx: Needs, hub: HubClient): Promise<void> | undefined {
  const entries = entriesToAskAbout(ctx.store, ctx.now(), STATUS_ITEMS_MAX)
  return entries.length === 0 ? undefined : askAbout(ctx, hub, entries)
}

async function askAbout(ctx: Needs, hub: HubClient, asked: OutboxEntry[]): Promise<void> {
  // lost with the power, the question comes once more
  ctx.store.unflushed(() => {
    for (const { message, attempts } of asked)
      askAgainAt(ctx.store, message, ctx.now() + statusPause(ctx, attempts))
  }, 'node.ask')
  try {
    const fates = await ctx.carriers.over(hub).fatesOf(asked)
    ctx.store.transaction(() => {
      for (const [i, entry] of asked.entries()) {
        const fate = fates[i]
        if (fate !== undefined) takeFate(ctx, entry, fate)
      }
    }, 'node.confirm')
  } catch (error) {
    ctx.log.debug({ reason: describe(error) }, 'status query failed')
    for (const entry of asked) endIfOverdue(ctx, entry)
  }
}

function takeFate(ctx: Needs, entry: OutboxEntry, fate: Fate): void {
  if (fate.is === 'judged') takeVerdict(ctx, entry, fate.verdict)
  else if (fate.is === 'unproven') sendAnew(ctx, entry, { why: fate.why })
  // What has expired is given to nobody any more, whatever the hub still calls it.
  else if (fate.is === 'sent_in_vain' || isExpired(ctx, entry)) sendAnew(ctx, entry)
  else if (fate.is === 'unknown') sendLost(ctx, entry)
  else if (!endIfOverdue(ctx, entry)) holdsIt(ctx, entry)
}

function holdsIt({ store, wakers }: Needs, { message, doubted }: OutboxEntry): void {
  if (doubted === 0) return
  endDoubt(store, message)
  store.afterCommit(() => wakers.outbox.wake())
}

function takeVerdict(ctx: Needs, entry: OutboxEntry, verdict: Verdict): void {
  if (verdict === 'stored') noteDelivered(ctx, entry.message)
  else if (verdict !== 'malformed') finish(ctx, entry, 'failed', reasonOfVerdict(verdict))
  else if (isTaskOnItsWay(ctx.store, entry.message)) sendAnew(ctx, entry, { why: OVERTOOK, waitsFor: 'task' })
  else finishUnusable(ctx, entry)
}

const reasonOfVerdict = (verdict: Verdict): string =>
  (refusedByRecipient as Partial<Record<Verdict, string>>)[verdict] ?? `refused: ${verdict}`

/** The recipient does not know what it belongs to, or what it is. */
function finishUnusable(ctx: Needs, entry: OutboxEntry): void {
  noteUnanswered(ctx, ctx.threads.message(entry.message))
  finish(ctx, entry, 'failed', whyLost(ctx, entry) ?? refusedByRecipient.malformed)
}

function whyLost({ threads }: Needs, { interaction }: OutboxEntry): string | undefined {
  const task = interaction === null ? undefined : threads.byKey(interaction)
  if (task === undefined || task.lostByPeerAt === null) return undefined
  return isRequester(task) ? LOST_BY_PEER : LOST_BY_REQUESTER
}
