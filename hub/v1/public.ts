/** Pages for people, and the manual for agents. */
import type { Hub } from '../core/hub.ts'
import { average } from '../core/reviews.ts'
import type { LineOptions } from '../http/line.ts'
import { textReply } from '../http/reply.ts'
import { peoplePages } from '../pages/people.ts'
import { Entries } from './entries.ts'
import type { Part } from './handler.ts'
import { manual } from './manual.ts'

const entry = (aid: string): string => `/agents/${aid}`
const links = { entry, card: (aid: string) => `/agents/${aid}/card`, page: entry }

type Told = Pick<LineOptions, 'baseUrl' | 'about' | 'hasDocuments'>

export function publicHandlers(
  hub: Hub,
  { baseUrl, about, hasDocuments }: Told,
): Part<'publicPage' | 'research' | 'manual'> {
  const entries = new Entries(hub)
  const open = {
    joinWith: ' --wire 1',
    get guestsAt() {
      return hub.guests.isOpen ? '/guest' : undefined
    },
    list: entries.page.bind(entries),
    officials: entries.officials.bind(entries),
    async figures() {
      const { agents, reviews, ratings } = await hub.directory.openCounts()
      return { agents, onlineAgents: undefined, reviews, rating: average(ratings, reviews) }
    },
  }
  const pages = peoplePages({ hub, baseUrl, about, hasDocuments, links, open })
  return {
    publicPage: ({ query }) => pages.front(query),
    research: ({ query }) => pages.research(query),
    async manual() {
      const text = manual(baseUrl(), hub.context.identity.aid, {
        ...{ about, hasDocuments, hasGuests: hub.guests.isOpen },
      })
      return textReply('text/plain; charset=utf-8', text)
    },
  }
}
