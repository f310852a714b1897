/** Lists of interactions, and waiting for something to change in them. */

import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { markReadTo } from '../store/interactions.ts'
import type { Interaction } from '../store/threads.ts'
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

/** Newest first; the cursor names the last row of the page before. */
export function listOf(ctx: Needs, given: ListRequest): Listing {
  const limit = given.limit ?? LIST_LIMIT_DEFAULT
  const conditions = ['side = ?']
  const parameters: (string | number)[] = [given.side]
  if (given.pending === true) conditions.push("state = 'pending'")
  if (given.unfinished === true) conditions.push(`state IN ${UNFINISHED}`)
  if (given.ended === true) conditions.push("state = 'ended'")
  if (given.q !== undefined && given.q !== '') {
    conditions.push(
      'key IN (SELECT m.interaction FROM messages_text AS t JOIN messages AS m ON m.key = t.rowid WHERE messages_text MATCH ?)',
    )
    parameters.push(`"${given.q.replaceAll('"', '""')}"`)
  }
  if (given.cursor !== undefined) {
    conditions.push('(updated_at, key) < (?, ?)')
    parameters.push(...placeOf(given.cursor))
  }
  const keys = ctx.store.all<{ key: number }>(
    `SELECT key FROM interactions WHERE ${conditions.join(' AND ')} ORDER BY updated_at DESC, key DESC LIMIT ?`,
    ...parameters,
    limit + 1,
  )
  const page = keys.slice(0, limit).map(row => ctx.threads.byKey(row.key))
  const last = page.at(-1)
  return {
    items: page.map(interaction => summaryView(ctx, interaction)),
    ...present({
      next_cursor: keys.length > limit && last !== undefined ? `${last.updatedAt}.${last.key}` : undefined,
    }),
  }
}

/** Where a page ended; a cursor that no reply gave would silently list from the start. */
function placeOf(cursor: string): [updatedAt: number, key: number] {
  const [, updatedAt, key] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? []
  if (updatedAt === undefined || key === undefined)
    return refuse('bad_request', 'cursor: expected the next_cursor of the reply before')
  return [Number(updatedAt), Number(key)]
}

/** Empties the mailbox once before a listing; a hub that does not answer holds it up for a moment only. */
export async function pullMail(ctx: Needs): Promise<void> {
  if (ctx.hub.home === undefined || ctx.hub.state.state === 'online') return
  ctx.wakers.relay.wake()
  await ctx.events.next(event => event.type === 'hub' || event.type === 'message', PULL_WAIT_MS)
}

/** The list at once when it holds something unread, else when it has changed or the time asked for is over. */
export async function waitingList(
  ctx: Needs,
  list: () => Listing,
  waitSeconds: number | undefined,
  signal: AbortSignal,
): Promise<Listing> {
  const first = list()
  if (!waitSeconds || first.items.some(item => item.unread > 0)) return first
  const before = JSON.stringify(first.items)
  const until = ctx.now() + waitSeconds * 1000
  for (;;) {
    const left = until - ctx.now()
    if (left > 0 && !signal.aborted)
      await ctx.events.next(event => event.type === 'inbox' || event.type === 'message', left, signal)
    const listed = list()
    const isOver = until <= ctx.now() || signal.aborted
    if (isOver || JSON.stringify(listed.items) !== before) return listed
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
