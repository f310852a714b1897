/** Lists of interactions, and waiting for the other sides to move one of them on. */

import type { ReplyOf } from '../../protocol/contract/route.ts'
import { cursorAfter, type Page, sinceCursor } from '../../protocol/control/cursors.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { glimpsesOf } from '../store/glimpses.ts'
import { ARCHIVED, interactionsAt, markReadTo, NOT_ARCHIVED } from '../store/interactions.ts'
import {
  beginning,
  FILTER_WORDS_MAX,
  filterWordsOf,
  HAS_WORDS,
  holdsWord,
  indexMessages,
  phrase,
} from '../store/search.ts'
import type { Interaction } from '../store/threads.ts'
import { changedSince, cursorOf, moment, newsOf, refuseCursor } from './changes.ts'
import { summaryView } from './views.ts'

type Needs = Pick<
  Context,
  | 'store'
  | 'contacts'
  | 'peers'
  | 'attachments'
  | 'threads'
  | 'hub'
  | 'wakers'
  | 'events'
  | 'log'
  | 'now'
  | 'hubNow'
>

const LIST_LIMIT_DEFAULT = 20
const PULL_WAIT_MS = 5000
const TEXT_CHARACTERS_MAX = 20_000
const UNFINISHED = ['pending', 'open', 'end_proposed'] as const

type ListRequest = {
  side: 'sent' | 'received'
  pending?: boolean | undefined
  unfinished?: boolean | undefined
  ended?: boolean
  q?: string | undefined
  /** All of these, anywhere in a task. */
  words?: string | undefined
  /** Only what waits for a yes of this side. */
  needs?: boolean | undefined
  /** Only what was taken out of the lists. */
  archived?: boolean | undefined
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
    return {
      items: listed(ctx, interactionsAt(ctx.store, keys), cursor.message),
      new_cursor: sinceCursor(upTo),
    }
  }
  // what cannot be written now, as on a full disk, can still be searched as far as it is indexed
  if (given.q || given.words) ctx.store.attempt(() => indexMessages(ctx.store))
  const words = filterOf(ctx, given.words ?? '')
  const { sql, parameters } = pageQuestion(
    { ...given, filter: words },
    cursor && placeOf(ctx, cursor),
    limit + 1,
  )
  const keys = ctx.store.all<{ key: number }>(sql, ...parameters).map(row => row.key)
  const items = listed(ctx, interactionsAt(ctx.store, keys.slice(0, limit)))
  const last = keys.length > limit ? items.at(-1) : undefined
  return {
    items,
    ...present({ next_cursor: last === undefined ? undefined : cursorAfter(last) }),
    new_cursor: sinceCursor(moment(ctx)),
  }
}

/** A word of a filter, and the AIDs of the contacts whose name holds it. */
type FilterWord = { word: string; contacts: readonly string[] }

function filterOf(ctx: Needs, text: string): FilterWord[] {
  const words = filterWordsOf(text)
  if (words.length > FILTER_WORDS_MAX)
    refuse('bad_request', `words: expected at most ${FILTER_WORDS_MAX} words, got ${words.length}`)
  if (words.length === 0) return []
  const named = ctx.contacts.list().map(({ aid, petname }) => ({ aid, name: petname?.toLowerCase() ?? '' }))
  return words.map(word => ({
    word,
    contacts: named.flatMap(({ aid, name }) => (name.includes(word) ? aid : [])),
  }))
}

/** The row after which a list goes on, as it stood when it was listed. */
type RowPlace = { updatedAt: number; key: number }

function placeOf(ctx: Needs, { lastAt, interactionId }: Page): RowPlace {
  const { key } = ctx.threads.findById(interactionId) ?? refuseCursor()
  return { updatedAt: lastAt, key }
}

type PageRequest = ListRequest & { filter?: readonly FilterWord[] }

/**
 * How the store is asked for the keys of a page. Every state is asked for by itself, newest first, and the answers are merged: so
 * a few open tasks are found as quickly among a hundred thousand that ended.
 */
export function pageQuestion(given: PageRequest, after: RowPlace | undefined, rows: number) {
  const parameters: (string | number)[] = [given.side, rows]
  const conditions = ['side = ?1']
  if (after !== undefined) {
    parameters.push(after.updatedAt, after.key)
    conditions.push('(updated_at, key) < (?3, ?4)')
  }
  if (given.q) {
    parameters.push(phrase(given.q))
    conditions.push(HAS_WORDS.replace('?', `?${parameters.length}`))
  }
  for (const { word, contacts } of given.filter ?? []) {
    const at = parameters.push(beginning(word), word, JSON.stringify(contacts))
    conditions.push(holdsWord({ beginning: at - 2, part: at - 1, contacts: at }))
  }
  if (given.needs === true && given.side === 'sent') conditions.push(HAS_OPEN_PRICE)
  const isSearched = Boolean(given.q) || (given.filter ?? []).length > 0
  if (given.archived === true) conditions.push(ARCHIVED)
  else if (!isSearched) conditions.push(NOT_ARCHIVED)
  const parts = statesOf(given)?.map(state => `state = '${state}'`) ?? ['true']
  const asked = parts.map(
    part => `SELECT key, updated_at FROM interactions WHERE ${[...conditions, part].join(' AND ')}`,
  )
  return { sql: `${asked.join(' UNION ALL ')} ORDER BY updated_at DESC, key DESC LIMIT ?2`, parameters }
}

/** A price that waits for the yes of a person. */
const HAS_OPEN_PRICE = "key IN (SELECT interaction FROM quotes WHERE state = 'open')"

function statesOf({ pending, unfinished, ended, needs, side }: ListRequest): readonly string[] | undefined {
  if (pending === true || (needs === true && side === 'received')) return ['pending']
  if (unfinished === true) return UNFINISHED
  return ended === true ? ['ended'] : undefined
}

/** Tasks as lists have them, with what is news after a message. */
export function listed(ctx: Needs, interactions: readonly Interaction[], since = 0) {
  const glimpses = glimpsesOf(
    ctx.store,
    interactions.map(({ key }) => key),
  )
  return interactions.flatMap(interaction => {
    const seen = glimpses.get(interaction.key)
    if (seen === undefined) return []
    return {
      ...summaryView(ctx, interaction, seen),
      ...present({ news: newsOf(ctx, interaction, since) }),
    }
  })
}

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
