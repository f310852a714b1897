/** The task board as this node shows it: so much of it at once, and with its own names of people. */
import type { OperationInput, OperationReply } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Card, CardEvent, CardHistory } from '../hubs/board.ts'
import { cardPages, type Place, rolesOf } from '../hubs/board-pages.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'

const EVENTS_MAX = 100

export type CardView = OperationReply<'boardClaim'>

/** Cards as this node shows them, with its own names of people. */
export class CardViews {
  readonly own: string
  readonly #contacts: Pick<Contacts, 'petnameOf'>

  constructor(own: string, contacts: Pick<Contacts, 'petnameOf'>) {
    this.own = own
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
      roles: rolesOf(card, this.own),
      ...{ created_at: card.createdAtMs, updated_at: card.updatedAtMs },
    }
  }

  event({ seq, atMs, actor, action, detail }: CardEvent): OperationReply<'boardCard'>['events'][number] {
    const actor_name = this.#contacts.petnameOf(actor)
    return { seq, at: atMs, actor, actor_name, mine: actor === this.own, action, detail }
  }

  /** Who made a card and who has it. */
  people({ creator, assignee }: Card): string {
    const taken = assignee === undefined ? 'nobody yet' : this.#nameOf(assignee)
    return `made by ${this.#nameOf(creator)}, taken by ${taken}`
  }

  #nameOf = (aid: string): string => (aid === this.own ? 'you' : (this.#contacts.petnameOf(aid) ?? aid))
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
  const { column, limit, mine, cursor } = given
  const after = cursor === undefined ? undefined : placeOf(cursor)
  const of = mine === true ? views.own : undefined
  return cardPages(cards, { column, limit, after, of }).map(({ next, ...page }) => ({
    ...page,
    cards: page.cards.map(card => views.card(card)),
    ...present({ next_cursor: next && cursorAfter(next) }),
  }))
}

const cursorAfter = ({ updatedAtMs, id }: Place): string => `${updatedAtMs}.${id}`

function placeOf(cursor: string): Place {
  const [, ms, id] = /^(\d{1,16})\.([\x21-\x7e]+)$/.exec(cursor) ?? []
  if (ms === undefined || id === undefined)
    return refuse('bad_request', 'cursor: expected the next_cursor of the reply before')
  return { updatedAtMs: Number(ms), id }
}
