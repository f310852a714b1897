/** Lists of interactions. */

import type { ReplyOf } from '../../protocol/contract/route.ts'
import { cursorAfter, type Page, sinceCursor } from '../../protocol/control/cursors.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { Events } from '../platform/events.ts'
import type { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import { glimpsesOf } from '../store/glimpses.ts'
import { ARCHIVED, interactionsAt, markReadTo, NOT_ARCHIVED } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import {
  beginning,
  FILTER_WORDS_MAX,
  filterWordsOf,
  HAS_WORDS,
  holdsWord,
  indexMessages,
  phrase,
} from '../store/search.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { type Changes, cursorOf, refuseCursor } from './changes.ts'
import type { InteractionViews } from './views.ts'

const LIST_LIMIT_DEFAULT = 20
const PULL_WAIT_MS = 5000
const TEXT_CHARACTERS_MAX = 20_000
const UNFINISHED = ['pending', 'open', 'end_proposed'] as const

export type ListRequest = {
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

/** A word of a filter, and the AIDs of the contacts whose name holds it. */
type FilterWord = { word: string; contacts: readonly string[] }

/** The row after which a list goes on, as it stood when it was listed. */
type RowPlace = { updatedAt: number; key: number }

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

type ListParts = {
  store: Store
  contacts: Contacts
  threads: Threads
  views: InteractionViews
  changes: Changes
}

export class Lists {
  readonly #store: Store
  readonly #contacts: Contacts
  readonly #threads: Threads
  readonly #views: InteractionViews
  readonly #changes: Changes

  constructor(parts: ListParts) {
    this.#store = parts.store
    this.#contacts = parts.contacts
    this.#threads = parts.threads
    this.#views = parts.views
    this.#changes = parts.changes
  }

  /** Newest first, or what changed since a moment, whatever its state is now. */
  of(given: ListRequest): Listing {
    const limit = given.limit ?? LIST_LIMIT_DEFAULT
    const cursor = given.cursor === undefined ? undefined : cursorOf(given.cursor)
    if (cursor?.kind === 'since') {
      const { keys, upTo } = this.#changes.since(given.side, cursor, limit)
      return {
        items: this.listed(interactionsAt(this.#store, keys), cursor.message),
        new_cursor: sinceCursor(upTo),
      }
    }
    // what cannot be written now, as on a full disk, can still be searched as far as it is indexed
    if (given.q || given.words) this.#store.attempt(() => indexMessages(this.#store))
    const words = this.#filterOf(given.words ?? '')
    const { sql, parameters } = pageQuestion(
      { ...given, filter: words },
      cursor && this.#placeOf(cursor),
      limit + 1,
    )
    const keys = this.#store.all<{ key: number }>(sql, ...parameters).map(row => row.key)
    const items = this.listed(interactionsAt(this.#store, keys.slice(0, limit)))
    const last = keys.length > limit ? items.at(-1) : undefined
    return {
      items,
      ...present({ next_cursor: last === undefined ? undefined : cursorAfter(last) }),
      new_cursor: sinceCursor(this.#changes.moment()),
    }
  }

  #filterOf(text: string): FilterWord[] {
    const words = filterWordsOf(text)
    if (words.length > FILTER_WORDS_MAX)
      refuse('bad_request', `words: expected at most ${FILTER_WORDS_MAX} words, got ${words.length}`)
    if (words.length === 0) return []
    const named = this.#contacts
      .list()
      .map(({ aid, petname }) => ({ aid, name: petname?.toLowerCase() ?? '' }))
    return words.map(word => ({
      word,
      contacts: named.flatMap(({ aid, name }) => (name.includes(word) ? aid : [])),
    }))
  }

  #placeOf({ lastAt, interactionId }: Page): RowPlace {
    const { key } = this.#threads.findById(interactionId) ?? refuseCursor()
    return { updatedAt: lastAt, key }
  }

  /** Tasks as lists have them, with what is news after a message. */
  listed(interactions: readonly Interaction[], since = 0) {
    const glimpses = glimpsesOf(
      this.#store,
      interactions.map(({ key }) => key),
    )
    return interactions.flatMap(interaction => {
      const seen = glimpses.get(interaction.key)
      if (seen === undefined) return []
      return {
        ...this.#views.summary(interaction, seen),
        ...present({ news: this.#changes.news(interaction, since) }),
      }
    })
  }

  /** Adds to each task the last words of the other side. */
  withTexts(listing: Listing): Listing {
    const last = (id: string) =>
      this.#store.get<{ text: string }>(
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
}

/** Empties the mailbox once before a listing; a hub that does not answer holds it up for a moment only. */
export async function pullMail(hub: CurrentHub, relay: Waker, events: Events): Promise<void> {
  if (hub.home === undefined || hub.state.state === 'online') return
  relay.wake()
  await events.next(event => event.type === 'hub' || event.type === 'message', PULL_WAIT_MS)
}

/** Everything that is there now has been read. */
export function markRead(store: Store, interaction: Interaction): void {
  const newest = store.get<{ key: number | null }>(
    'SELECT max(key) AS key FROM messages WHERE interaction = ?',
    interaction.key,
  )
  const last = newest?.key ?? 0
  if (last > interaction.readTo) markReadTo(store, interaction.key, last)
}
