/** The task board as this node shows it: so much of it at once, and with its own names of people. */
import { cardColumns } from '../../protocol/contract/board.ts'
import type { OperationInput, OperationReply } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Card, CardEvent, CardHistory } from '../hubs/board.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'

const CARDS_DEFAULT = 20
const EVENTS_MAX = 100

export type CardView = OperationReply<'boardClaim'>

/** Cards as this node shows them, with its own names of people. */
export class CardViews {
  readonly #own: string
  readonly #contacts: Pick<Contacts, 'petnameOf'>

  constructor(own: string, contacts: Pick<Contacts, 'petnameOf'>) {
    this.#own = own
    this.#contacts = contacts
  }

  card(card: Card): CardView {
    const { creator, assignee } = card
    return {
      card_id: card.id,
      title: card.title,
      ...present({ taskdoc_cid: card.taskdoc || undefined }),
      ...{ column: card.column, state: card.state },
      ...{ creator, creator_name: this.#contacts.petnameOf(creator) },
      ...(assignee !== undefined && { assignee, assignee_name: this.#contacts.petnameOf(assignee) }),
      roles: this.roles(card),
      ...{ created_at: card.createdAtMs, updated_at: card.updatedAtMs },
    }
  }

  event({ seq, atMs, actor, action, detail }: CardEvent): OperationReply<'boardCard'>['events'][number] {
    const actor_name = this.#contacts.petnameOf(actor)
    return { seq, at: atMs, actor, actor_name, mine: actor === this.#own, action, detail }
  }

  roles({ creator, assignee }: Card): CardView['roles'] {
    const roles = [
      ['creator', creator],
      ['assignee', assignee],
    ] as const
    return roles.filter(([, aid]) => aid === this.#own).map(([role]) => role)
  }

  /** Who made a card and who has it. */
  people({ creator, assignee }: Card): string {
    const taken = assignee === undefined ? 'nobody yet' : this.#nameOf(assignee)
    return `made by ${this.#nameOf(creator)}, taken by ${taken}`
  }

  #nameOf = (aid: string): string => (aid === this.#own ? 'you' : (this.#contacts.petnameOf(aid) ?? aid))
}

/** A card with the newest of what happened to it. */
export function historyOf({ card, events }: CardHistory, views: CardViews): OperationReply<'boardCard'> {
  const earlier = Math.max(0, events.length - EVENTS_MAX)
  return {
    ...views.card(card),
    events: events.slice(earlier).map(event => views.event(event)),
    ...present({ earlier_events: earlier || undefined }),
  }
}

type Asked = OperationInput<'board'>
type ColumnView = OperationReply<'board'>['columns'][number]

/** Each column with its newest cards, or one of them from a cursor on. */
export function columnsOf(cards: readonly Card[], given: Asked, views: CardViews): ColumnView[] {
  const { column: only, mine, limit = CARDS_DEFAULT, cursor } = given
  const shown = mine === true ? cards.filter(card => views.roles(card).length > 0) : cards
  return cardColumns
    .filter(column => only === undefined || column === only)
    .map(column => {
      const all = shown.filter(card => card.column === column).sort(newestFirst)
      return { column, total: all.length, ...pageOf(all, limit, cursor, views) }
    })
}

type Place = Pick<Card, 'updatedAtMs' | 'id'>

function newestFirst(a: Place, b: Place): number {
  if (a.updatedAtMs !== b.updatedAtMs) return b.updatedAtMs - a.updatedAtMs
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1
}

const cursorAfter = ({ updatedAtMs, id }: Place): string => `${updatedAtMs}.${id}`

function placeOf(cursor: string): Place {
  const [, ms, id] = /^(\d{1,16})\.([\x21-\x7e]+)$/.exec(cursor) ?? []
  if (ms === undefined || id === undefined)
    return refuse('bad_request', 'cursor: expected the next_cursor of the reply before')
  return { updatedAtMs: Number(ms), id }
}

function pageOf(all: readonly Card[], limit: number, cursor: string | undefined, views: CardViews) {
  const after = cursor === undefined ? undefined : placeOf(cursor)
  const rest = after === undefined ? all : all.filter(card => newestFirst(card, after) > 0)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  const next = last !== undefined && rest.length > page.length ? cursorAfter(last) : undefined
  return { cards: page.map(card => views.card(card)), ...present({ next_cursor: next }) }
}
