/** Who may give this node work: block list, the switch for delegations, contacts, strangers up to a limit. */
import type { Context } from '../context.ts'
import type { Interaction } from '../store/threads.ts'

export type Admission = 'open' | 'pending' | 'refused'

const DAY_MS = 86_400_000

/** What becomes of a task from `from`. */
export function admit(ctx: Context, from: string): Admission {
  const config = ctx.settings.current
  if (ctx.contacts.isBlocked(from) || !config.accept_delegations) return 'refused'
  if (ctx.contacts.isContact(from)) return 'open'
  const isFull =
    tasksOf(ctx, from) >= config.guest_messages || waitingWords(ctx, from) >= config.guest_messages
  return isFull ? 'refused' : 'pending'
}

/** Whether a stranger whose task waits for approval may add one more message; all its waiting tasks count together. */
export function mayAddWhilePending(ctx: Context, { peer }: Interaction): boolean {
  return waitingWords(ctx, peer) < ctx.settings.current.guest_messages
}

/** Tasks of a stranger that are under way, and its calls of a day: those are answered without anybody's approval. */
function tasksOf(ctx: Context, from: string): number {
  const row = ctx.store.get<{ n: number }>(
    `SELECT count(*) AS n FROM interactions WHERE peer = ? AND side = 'received' AND
       (state IN ('pending', 'open', 'end_proposed') OR (capability IS NOT NULL AND started_at > ?))`,
    from,
    ctx.now() - DAY_MS,
  )
  return row?.n ?? 0
}

function waitingWords(ctx: Context, from: string): number {
  const row = ctx.store.get<{ n: number }>(
    `SELECT count(*) AS n FROM interactions AS i JOIN messages AS m ON m.interaction = i.key
     WHERE i.peer = ? AND i.side = 'received' AND i.state = 'pending' AND m.direction = 'in'`,
    from,
  )
  return row?.n ?? 0
}
