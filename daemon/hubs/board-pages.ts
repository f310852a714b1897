/** So much of a task board as is shown at once: of each column its newest cards, from a cursor on where there is one. */
import { type CardColumn, cardColumns } from '../../protocol/contract/board.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Card } from './board.ts'

const CARDS_DEFAULT = 20

/** A card before which another page begins. */
export type Place = Pick<Card, 'updatedAtMs' | 'id'>
export type CardPage = { column: CardColumn; total: number; cards: Card[]; next?: Place }

export type PageAsked = {
  column?: CardColumn | undefined
  limit?: number | undefined
  after?: Place | undefined
  /** Whose cards alone are meant: made or taken. */
  of?: string | undefined
}

export function cardPages(cards: readonly Card[], { column: only, limit, after, of }: PageAsked): CardPage[] {
  const meant = of === undefined ? cards : cards.filter(card => rolesOf(card, of).length > 0)
  return cardColumns
    .filter(column => only === undefined || column === only)
    .map(column => {
      const all = meant.filter(card => card.column === column).sort(newestFirst)
      const rest = after === undefined ? all : all.filter(card => newestFirst(card, after) > 0)
      const page = rest.slice(0, limit ?? CARDS_DEFAULT)
      const next = rest.length > page.length ? page.at(-1) : undefined
      return { column, total: all.length, cards: page, ...present({ next }) }
    })
}

/** What an agent is to a card. */
export function rolesOf({ creator, assignee }: Card, aid: string): ('creator' | 'assignee')[] {
  const roles = [
    ['creator', creator],
    ['assignee', assignee],
  ] as const
  return roles.filter(([, one]) => one === aid).map(([role]) => role)
}

function newestFirst(a: Place, b: Place): number {
  if (a.updatedAtMs !== b.updatedAtMs) return b.updatedAtMs - a.updatedAtMs
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1
}
