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
import { interactionsAt, markReadTo } from '../store/interactions.ts'
import {
  type FilterWord,
  keysOfPage,
  lastWordsOf,
  newestMessageOf,
  type PageRequest,
  type RowPlace,
} from '../store/lists.ts'
import type { Store } from '../store/open.ts'
import { FILTER_WORDS_MAX, filterWordsOf, indexMessages } from '../store/search.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { type Changes, cursorOf, refuseCursor } from './changes.ts'
import type { InteractionViews } from './views.ts'

const LIST_LIMIT_DEFAULT = 20
const PULL_WAIT_MS = 5000
const TEXT_CHARACTERS_MAX = 20_000

export type ListRequest = Omit<PageRequest, 'filter'> & {
  /** All of these, anywhere in a task. */
  words?: string | undefined
  limit?: number | undefined
  cursor?: string | undefined
}
export type Listing = NonNullable<ReplyOf<Operations['results']>>

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
    const keys = keysOfPage(
      this.#store,
      { ...given, filter: words },
      cursor && this.#placeOf(cursor),
      limit + 1,
    )
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
    const items = listing.items.map(item => ({
      ...item,
      ...present({ text: lastWordsOf(this.#store, item.interaction_id)?.slice(0, TEXT_CHARACTERS_MAX) }),
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
  const last = newestMessageOf(store, interaction.key)
  if (last > interaction.readTo) markReadTo(store, interaction.key, last)
}
