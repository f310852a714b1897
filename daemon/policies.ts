/** Who may give this node work: block list, the switch for delegations, contacts, strangers up to a limit. */
import type { Context } from './context.ts'
import type { Interaction } from './threads.ts'

export type Admission = 'open' | 'pending' | 'refused'

/** What becomes of a task from `from`. */
export function admit(ctx: Context, from: string): Admission {
  const config = ctx.config()
  if (ctx.contacts.isBlocked(from) || !config.accept_delegations) return 'refused'
  if (ctx.contacts.isContact(from)) return 'open'
  return config.guest_messages > 0 ? 'pending' : 'refused'
}

/** Whether a stranger whose task waits for approval may add one more message. */
export function mayAddWhilePending(ctx: Context, interaction: Interaction): boolean {
  const held = ctx.store.get<{ n: number }>(
    "SELECT count(*) AS n FROM messages WHERE interaction = ? AND direction = 'in'",
    interaction.key,
  )
  return (held?.n ?? 0) < ctx.config().guest_messages
}
