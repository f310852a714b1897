/** Operations that list tasks. */
import { present } from '../../protocol/encoding/present.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { Store } from '../store/open.ts'
import type { TaskOperations } from './handlers.ts'
import type { Lists } from './listing.ts'
import { searchHistory } from './searching.ts'
import type { TaskFinder } from './task-finder.ts'
import type { Waiting } from './waiting.ts'

type ListOperations = Pick<TaskOperations, 'inbox' | 'interactions' | 'results'>
type ListParts = {
  tasks: TaskFinder
  lists: Lists
  waiting: Waiting
  /** Empties the mailbox once. */
  pull: () => Promise<void>
}

export function listOperations({ tasks, lists, waiting, pull }: ListParts): ListOperations {
  return {
    async inbox(given, signal) {
      if (given.pull === true) await pull()
      return waiting.list({ ...given, side: 'received' }, given.wait_s, signal)
    },
    async interactions({ interaction_ids: ids }) {
      return { items: lists.listed([...new Set(ids)].flatMap(id => tasks.find(id) ?? [])) }
    },
    async results(query, signal) {
      const given = {
        side: 'sent' as const,
        ended: query.ended === 'true',
        needs: query.needs === 'true',
        archived: query.archived === 'true',
        ...present({ words: query.words }),
        ...present({ limit: query.limit === undefined ? undefined : Number(query.limit) }),
        ...present({ cursor: query.cursor }),
      }
      const listing = await waiting.list(given, Number(query.wait_s ?? 0), signal)
      return query.texts === 'true' ? lists.withTexts(listing) : listing
    },
  }
}

export const searchOperations = (store: Store, contacts: Contacts): Pick<TaskOperations, 'search'> => ({
  async search(given) {
    return searchHistory(store, contacts, given)
  },
})
