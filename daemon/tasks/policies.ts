/** Who may give this node work: block list, the switch for delegations, contacts, strangers up to a limit. */
import type { Context } from '../context.ts'
import { count } from '../store/counters.ts'
import { forgetIncomingFiles } from '../store/messages.ts'
import type { Interaction } from '../store/threads.ts'
import { bytesUntaken, tasksUnderWay, tasksWithdrawn, wordsUntaken } from '../store/untaken.ts'

type Needs = Pick<Context, 'store' | 'contacts' | 'attachments' | 'settings' | 'now'>

export type Admission = 'open' | 'pending' | 'refused'

/** Counts tasks of strangers that found no room. */
export const STRANGERS_REFUSED = 'strangers_refused'

const DAY_MS = 86_400_000
const MIB = 1024 * 1024
/** Texts and files of tasks that nobody has taken: of one stranger, and of all of them. */
export const UNTAKEN_BYTES_MAX = { each: 8 * MIB, all: 256 * MIB } as const

/** Tasks that a stranger may send and withdraw in a day, for each one that it may have open. */
const WITHDRAWN_PER_OPEN = 10

/** What becomes of a task from `from` that brings so many bytes. */
export function admit(ctx: Needs, from: string, bytes: number): Admission {
  const config = ctx.settings.current
  if (ctx.contacts.isBlocked(from) || !config.accept_delegations) return 'refused'
  if (ctx.contacts.isContact(from)) return 'open'
  const dayAgo = ctx.now() - DAY_MS
  const isFull =
    tasksUnderWay(ctx.store, from, dayAgo) >= config.guest_messages ||
    tasksWithdrawn(ctx.store, from, dayAgo) >= config.guest_messages * WITHDRAWN_PER_OPEN ||
    wordsUntaken(ctx.store, from) >= config.guest_messages ||
    !hasRoom(ctx, from, bytes)
  if (!isFull) return 'pending'
  count(ctx.store, STRANGERS_REFUSED)
  return 'refused'
}

/** Whether the other side may add a message of so many bytes; a stranger's tasks that nobody took count together. */
export function mayAdd(ctx: Needs, { peer, side, state, capability }: Interaction, bytes: number): boolean {
  const isTaken = side === 'sent' || (state !== 'pending' && capability === null)
  if (isTaken || ctx.contacts.isContact(peer)) return true
  return wordsUntaken(ctx.store, peer) < ctx.settings.current.guest_messages && hasRoom(ctx, peer, bytes)
}

function hasRoom({ store }: Needs, peer: string, bytes: number): boolean {
  const { each, all } = UNTAKEN_BYTES_MAX
  return bytesUntaken(store, peer) + bytes <= each && bytesUntaken(store) + bytes <= all
}

/** A task that is not taken leaves none of its files here. */
export function dropFiles(ctx: Needs, interaction: Interaction): void {
  const { store, attachments } = ctx
  const cids = forgetIncomingFiles(store, interaction.key)
  store.afterCommit(() => attachments.removeUnnamed(store, cids))
}
