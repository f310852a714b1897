/** Signed A2A cards: listing, card, key set, catalog (hub API §4.3). What is served was verified when it came in. */
import { shownJson, shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  type AgentCard,
  CARD_MEDIA_TYPE,
  cardKeys,
  cardTerms,
  cardText,
  keptCard,
  namesHub,
} from '../../protocol/identity/card.ts'
import { AI_CATALOG_TYPE } from '../../protocol/wire3/routes/public.ts'
import type { Agent } from '../core/agents.ts'
import type { Hub } from '../core/hub.ts'
import { afterAid, cursorOf } from '../core/listing.ts'
import { Refusal } from '../core/refusal.ts'
import { jsonText, textReply } from '../http/reply.ts'
import type { AgentRow } from '../store/port.ts'
import { entryOf, limitOf } from './directory.ts'
import type { Part } from './handler.ts'

const CATALOG_MAX = 100

type Names = 'a2aAgents' | 'a2aCard' | 'cardKeys' | 'aiCatalog'

export function cardHandlers(hub: Hub, baseUrl: () => string): Part<Names> {
  const registered = async (aid: string | undefined): Promise<Agent> => {
    const agent = await hub.agents.findShown(aid ?? '')
    if (agent === undefined) throw new Refusal('unknownAgent')
    return agent
  }
  /** The card of an agent; one that was signed for a previous address of this hub waits until it is signed anew. */
  const cardOf = (row: AgentRow): AgentCard | undefined => {
    if (row.card === undefined) return undefined
    const card = keptCard(row.card)
    return namesHub(card, row.aid, baseUrl()) ? card : undefined
  }
  return {
    async a2aAgents({ query }) {
      const terms = [
        ...(query.skill === undefined ? [] : [`skill:${query.skill}`]),
        ...(query.tag === undefined ? [] : [`tag:${query.tag}`]),
      ]
      const { rows, next } = await hub.directory.list(afterAid(query.cursor), limitOf(query.limit), {
        text: query.q,
        terms,
      })
      const entries = rows.flatMap(row => {
        const card = cardOf(row)
        if (card !== undefined) return [{ ...entryOf(hub, row), card }]
        return terms.length === 0 ? [entryOf(hub, row)] : []
      })
      return next === undefined ? { agents: entries } : { agents: entries, next: cursorOf(next) }
    },
    async a2aCard({ params }) {
      const card = cardOf((await registered(params['aid'])).row)
      if (card === undefined)
        throw new Refusal('resourceUnknown', {
          why: 'the agent has no card here',
          step: 'look for it in /agents/{aid}',
        })
      return textReply('application/json', shownJson(cardText(card)))
    },
    async cardKeys({ params }) {
      return cardKeys((await registered(params['aid'])).log)
    },
    async aiCatalog({ query }) {
      const { rows, next } = await hub.directory.list(afterAid(query.cursor), CATALOG_MAX, {
        onlyPublic: true,
      })
      const entries = rows.flatMap(row => {
        const card = cardOf(row)
        if (card === undefined) return []
        const { aid } = row
        return {
          identifier: `did:svc:${aid}`,
          displayName: shownLine(card.name),
          mediaType: CARD_MEDIA_TYPE,
          url: `${baseUrl()}/a2a/v1/agents/${aid}/card`,
          tags: cardTerms(card).tags.map(shownLine),
        }
      })
      const host = { displayName: baseUrl(), identifier: `did:svc:${hub.context.identity.aid}` }
      return textReply(
        AI_CATALOG_TYPE,
        jsonText({
          specVersion: '1.0',
          host,
          entries,
          ...present({ next: next && cursorOf(next) }),
        }),
      )
    },
  }
}
