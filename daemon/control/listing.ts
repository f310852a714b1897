/** Lists of interactions, and waiting for the other sides to move one of them on. */

import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import { markReadTo } from '../store/interactions.ts'
import { HAS_WORDS, indexMessages, phrase } from '../store/search.ts'
import type { Interaction } from '../store/threads.ts'
import { changedSince, cursorOf, moment, newsOf, pageCursor, sinceCursor } from './changes.ts'
import { summaryView } from './views.ts'

type Needs = Pick<
  Context,
  'store' | 'contacts' | 'peers' | 'attachments' | 'threads' | 'hub' | 'wakers' | 'events' | 'log' | 'now'
>

const LIST_LIMIT_DEFAULT = 20
const PULL_WAIT_MS = 5000
const TEXT_CHARACTERS_MAX = 20_000
const UNFINISHED = "('pending', 'open', 'end_proposed')"

type ListRequest = {
  side: 'sent' | 'received'
  pending?: boolean | undefined
  unfinished?: boolean | undefined
  ended?: boolean
  q?: string | undefined
  limit?: number | undefined
  cursor?: string | undefined
}
export type Listing = NonNullable<ReplyOf<Operations['results']>>

/** Newest first, or what changed since a moment, whatever its state is now. */
export function listOf(ctx: Needs, given: ListRequest): Listing {
  const limit = given.limit ?? LIST_LIMIT_DEFAULT
  const cursor = given.cursor === undefined ? undefined : cursorOf(given.cursor)
  if (cursor?.kind === 'since') {
    const { keys, upTo } = changedSince(ctx, given.side, cursor, limit)
    return { items: summaries(ctx, keys, cursor.message), new_cursor: sinceCursor(upTo) }
  }
  const conditions = ['side = ?']
  const parameters: (string | number)[] = [given.side]
  if (given.pending === true) conditions.push("state = 'pending'")
  if (given.unfinished === true) conditions.push(`state IN ${UNFINISHED}`)
  if (given.ended === true) conditions.push("state = 'ended'")
  if (given.q !== undefined && given.q !== '') {
    // what cannot be written now, as on a full disk, can still be searched as far as it is indexed
    ctx.store.attempt(() => indexMessages(ctx.store))
    conditions.push(HAS_WORDS)
    parameters.push(phrase(given.q))
  }
  if (cursor !== undefined) {
    conditions.push('(updated_at, key) < (?, ?)')
    parameters.push(cursor.updatedAt, cursor.key)
  }
  const rows = ctx.store.all<{ key: number; updated_at: number }>(
    `SELECT key, updated_at FROM interactions WHERE ${conditions.join(' AND ')} ORDER BY updated_at DESC, key DESC LIMIT ?`,
    ...parameters,
    limit + 1,
  )
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    items: summaries(
      ctx,
      page.map(row => row.key),
    ),
    ...present({ next_cursor: last === undefined ? undefined : pageCursor(last.updated_at, last.key) }),
    new_cursor: sinceCursor(moment(ctx)),
  }
}

/** A task as lists have it, with what is news after a message. */
export const listedView = (ctx: Needs, interaction: Interaction, since = 0) => ({
  ...summaryView(ctx, interaction),
  ...present({ news: newsOf(ctx, interaction, since) }),
})

const summaries = (ctx: Needs, keys: readonly number[], since?: number) =>
  keys.map(key => listedView(ctx, ctx.threads.byKey(key), since))

/** Empties the mailbox once before a listing; a hub that does not answer holds it up for a moment only. */
export async function pullMail(ctx: Needs): Promise<void> {
  if (ctx.hub.home === undefined || ctx.hub.state.state === 'online') return
  ctx.wakers.relay.wake()
  await ctx.events.next(event => event.type === 'hub' || event.type === 'message', PULL_WAIT_MS)
}

/**
 * The list at once when it holds news: a change since its cursor or, without one, something unread. Else once the other
 * side of one of its tasks has done something, or the time asked for is over.
 */
export async function waitingList(
  ctx: Needs,
  given: ListRequest,
  waitSeconds: number | undefined,
  signal: AbortSignal,
): Promise<Listing> {
  const first = listOf(ctx, given)
  const cursor = given.cursor === undefined ? undefined : cursorOf(given.cursor)
  if (!waitSeconds || cursor?.kind === 'page') return first
  const isNews = cursor === undefined ? first.items.some(item => item.unread > 0) : first.items.length > 0
  if (isNews) return first
  const since = cursor ?? moment(ctx)
  const until = ctx.now() + waitSeconds * 1000
  for (;;) {
    const left = until - ctx.now()
    if (left > 0 && !signal.aborted)
      await ctx.events.next(event => event.type === 'inbox' || event.type === 'message', left, signal)
    const isOver = until <= ctx.now() || signal.aborted
    if (isOver || changedSince(ctx, given.side, since, 1).keys.length > 0) return listOf(ctx, given)
  }
}

/** Adds to each task the last words of the other side. */
export function withTexts(ctx: Needs, listing: Listing): Listing {
  const last = (id: string) =>
    ctx.store.get<{ text: string }>(
      `SELECT m.text FROM messages AS m JOIN interactions AS i ON i.key = m.interaction
       WHERE i.id = ? AND m.direction = 'in' AND m.text <> '' ORDER BY m.key DESC LIMIT 1`,
      id,
    )?.text
  const items = listing.items.map(item => ({
    ...item,
    ...present({ text: last(item.interaction_id)?.slice(0, TEXT_CHARACTERS_MAX) }),
  }))
  return { ...listing, items }
}

export async function waitFor(
  ctx: Needs,
  id: string,
  seconds: number,
  signal: AbortSignal,
  reached: (interaction: Interaction) => boolean,
): Promise<void> {
  const until = ctx.now() + seconds * 1000
  for (;;) {
    const interaction = ctx.threads.findById(id)
    const left = until - ctx.now()
    if (interaction === undefined || reached(interaction) || left <= 0 || signal.aborted) return
    await ctx.events.next(event => event.data['interaction_id'] === id, left, signal)
  }
}

/** Everything that is there now has been read. */
export function markRead(ctx: Needs, interaction: Interaction): void {
  const newest = ctx.store.get<{ key: number | null }>(
    'SELECT max(key) AS key FROM messages WHERE interaction = ?',
    interaction.key,
  )
  const last = newest?.key ?? 0
  if (last > interaction.readTo) markReadTo(ctx.store, interaction.key, last)
}
