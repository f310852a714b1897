/**
 * The task board of a hub of wire 1. An order is signed once, and kept before it leaves. Where its answer is lost, the same
 * challenge is shown again, which changes nothing at a hub that has done it; once it holds no more, the card is looked for
 * by its id. So no second card is made.
 */
import {
  CARD_NOTE_BYTES_MAX,
  CARD_TASKDOC_BYTES_MAX,
  CARD_TITLE_BYTES_MAX,
  type CardAction,
  type CardColumn,
} from '../../../protocol/contract/board.ts'
import { ForeignAnswer, Refused } from '../../../protocol/contract/client.ts'
import type { ReplyOf, RequestOf, RouteRow } from '../../../protocol/contract/route.ts'
import { fromBase64 } from '../../../protocol/encoding/bytes.ts'
import { plainLine, plainText } from '../../../protocol/encoding/plain-text.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { boardCardId } from '../../../protocol/proof/board-card.ts'
import { sleep } from '../../../protocol/timers.ts'
import { wire1Routes as routes } from '../../../protocol/wire1/routes.ts'
import {
  type BoardFault,
  BoardRefused,
  type Card,
  type CardEvent,
  type CardHistory,
  type CardOrder,
  type NewCard,
  OrderUnanswered,
  type TaskBoard,
} from '../board.ts'
import type { KeptOrder } from '../board-orders.ts'
import { isUnreached } from '../failures.ts'
import { type HubInputs, HubStopped, NodeStopping } from '../hub.ts'
import type { GivenCall, Unsigned, Wire1Calls } from './calls.ts'

/** An order is sent so often, with these pauses between. */
const PAUSES_MS = [300, 1000]
/** How long one answer is waited for: somebody waits for all of them. */
const ANSWER_MS = 6000
/** A challenge holds for five minutes; one that is shown again still has to get there. */
const SHOWN_AGAIN_MS = 4 * 60_000
/** Orders of one moment are dated ahead by less. */
const CLOCK_BACK_MS = 60_000
const ACTION_CHARACTERS_MAX = 64

const actionRows = {
  move: routes.taskMove,
  claim: routes.taskClaim,
  submit: routes.taskSubmit,
  accept: routes.taskAccept,
  reject: routes.taskReject,
  block: routes.taskBlock,
  unblock: routes.taskUnblock,
} as const satisfies Record<CardAction, RouteRow>
/** Where each action leaves a card; a move leaves it where it says. */
const left = {
  claim: ['in_progress'],
  submit: ['in_review'],
  accept: ['done'],
  reject: ['in_progress'],
  block: ['blocked'],
  unblock: ['ready', 'in_progress', 'in_review'],
} as const satisfies Record<Exclude<CardAction, 'move'>, readonly CardColumn[]>
type ActionRow = (typeof actionRows)[CardAction] | typeof routes.taskCreate
type ShownCard = ReplyOf<typeof routes.taskCreate>['card']
type CreateRequest = RequestOf<typeof routes.taskCreate>
type ShownEvent = ReplyOf<typeof routes.taskCard>['events'][number]

/** By status, which is all that this wire says. */
const faults: Readonly<Record<number, BoardFault>> = { 400: 'malformed', 403: 'forbidden', 409: 'conflict' }

/** `isUnsure`: it left before, and no answer says what came of it. `hasLeft`: it may have come to the hub. */
type Order = { row: ActionRow; kept: KeptOrder; isUnsure: boolean; hasLeft: boolean }
type Inputs = Required<Pick<HubInputs, 'identity' | 'timers' | 'now' | 'orders'>>

export class Wire1Board implements TaskBoard {
  readonly #url: string
  readonly #calls: Wire1Calls
  readonly #inputs: Inputs
  #lastMs = 0

  constructor(url: string, calls: Wire1Calls, inputs: Inputs) {
    this.#url = url
    this.#calls = calls
    this.#inputs = inputs
  }

  async cards(signal: AbortSignal): Promise<Card[]> {
    try {
      const { columns } = await this.#calls.plain(routes.taskBoard, { signal })
      return columns.flatMap(({ cards }) => cards.map(cardOf))
    } catch (error) {
      throw isMissing(error) ? new BoardRefused('no_board', 'the hub has no task board') : error
    }
  }

  async card(id: string, signal: AbortSignal): Promise<CardHistory> {
    let reply: ReplyOf<typeof routes.taskCard>
    try {
      reply = await this.#calls.plain(routes.taskCard, { params: { id }, signal })
    } catch (error) {
      throw isMissing(error) ? await this.#missing(error, signal) : error
    }
    requireCard(id, reply.card)
    return { card: cardOf(reply.card), events: reply.events.map(eventOf) }
  }

  async create({ title, taskdoc, column }: NewCard): Promise<Card> {
    const body = { title, taskdoc_cid: taskdoc ?? '', ...present({ column }) }
    const card = await this.#order(routes.taskCreate, body, () => true)
    if (card.creator_aid !== this.#inputs.identity.aid) throw foreign()
    return cardOf(card)
  }

  async act(action: CardAction, { card: id, column, note }: CardOrder): Promise<Card> {
    const body = { card_id: id, ...present({ column, note }) }
    const card = await this.#order(actionRows[action], body, ({ column: place }) =>
      action === 'move' ? place === column : (left[action] as readonly CardColumn[]).includes(place),
    )
    requireCard(id, card)
    return cardOf(card)
  }

  /** `isDone`: whether a card is where the order leaves it. */
  async #order(row: ActionRow, body: object, isDone: (card: ShownCard) => boolean): Promise<ShownCard> {
    const named = { hub: this.#url, name: JSON.stringify([row.action, body]) }
    const ordered = () => this.#calls.onceMoreInTime(() => this.#shown(this.#sign(row, body, named)))
    try {
      const kept = this.#inputs.orders.take(named)
      if (kept === undefined) return await ordered()
      const lost: Order = { row, kept, isUnsure: true, hasLeft: true }
      return await this.#onceMore(lost, { ordered, isDone })
    } catch (error) {
      if (isMissing(error)) throw await this.#missing(error, this.#inputs.timers.deadline(ANSWER_MS))
      throw isTold(error) ? refusedAs(error) : error
    }
  }

  /**
   * Shows again what had no answer, or looks for what it made where it holds no more. Where it was done before, and the card
   * has gone on since, the same words are another order; a hub that takes neither has done the first.
   */
  async #onceMore(
    lost: Order,
    { ordered, isDone }: { ordered: () => Promise<ShownCard>; isDone: (card: ShownCard) => boolean },
  ): Promise<ShownCard> {
    let card: ShownCard | undefined
    try {
      card = await (this.#holds(lost) ? this.#shown(lost) : this.#lookedFor(lost))
    } catch (error) {
      if (codeOf(error) === 'conflict') return await ordered()
      throw error
    }
    if (card !== undefined && isDone(card)) return card
    try {
      return await ordered()
    } catch (error) {
      if (codeOf(error) === 'conflict' && card !== undefined) return card
      throw error
    }
  }

  /** Whether the hub still takes the challenge of an order. */
  #holds({ kept }: Order): boolean {
    const ageMs = this.#inputs.now() - kept.atMs
    return kept.kelSeq === this.#inputs.identity.log.seq && ageMs >= 0 && ageMs < SHOWN_AGAIN_MS
  }

  /** At a time of its own: a hub takes two equal orders of one time for one. A clock that was set back is followed. */
  #sign(row: ActionRow, body: object, named: { hub: string; name: string }): Order {
    const { identity, orders } = this.#inputs
    const { timeMs } = this.#calls
    this.#lastMs = this.#lastMs - timeMs > CLOCK_BACK_MS ? timeMs : Math.max(this.#lastMs + 1, timeMs)
    const request = this.#calls.challenged(row, body as Unsigned<ActionRow>, this.#lastMs)
    const kept = orders.keep(named, { request, kelSeq: identity.log.seq })
    return { row, kept, isUnsure: false, hasLeft: false }
  }

  /** Shows an order until it is answered; one whose end nobody knows stays kept. */
  async #shown(order: Order): Promise<ShownCard> {
    try {
      const card = await this.#answered(order)
      this.#inputs.orders.drop(order.kept)
      return card
    } catch (error) {
      if (isAnswer(error)) return await this.#refused(order, error)
      if (order.hasLeft) this.#inputs.orders.rest(order.kept)
      else this.#inputs.orders.drop(order.kept)
      const isUnanswered = order.isUnsure && mayStillBeTold(error)
      throw isUnanswered ? new OrderUnanswered(this.#url, { cause: error }) : error
    }
  }

  async #answered(order: Order, tried = 0): Promise<ShownCard> {
    try {
      return await this.#send(order)
    } catch (error) {
      if (isAnswer(error)) throw error
      order.hasLeft ||= !isUnreached(error)
      order.isUnsure ||= !isTold(error) && !isUnreached(error)
      const pause = mayStillBeTold(error) ? PAUSES_MS[tried] : undefined
      if (pause === undefined) throw error
      await sleep(this.#inputs.timers, pause)
    }
    return await this.#answered(order, tried + 1)
  }

  /** What may have been done before it was refused is not signed anew, but looked for. */
  async #refused(order: Order, error: Refused): Promise<ShownCard> {
    if (!order.isUnsure) {
      this.#inputs.orders.drop(order.kept)
      throw error
    }
    const card = await this.#lookedFor(order).catch(() => undefined)
    if (card === undefined) throw refusedAs(error)
    return card
  }

  async #send({ row, kept }: Order): Promise<ShownCard> {
    const given = { body: kept.request, signal: this.#inputs.timers.deadline(ANSWER_MS) }
    return (await this.#calls.plain(row, given as unknown as GivenCall<ActionRow>)).card
  }

  /** The card that an order made, whose id says so; nothing where it made none, or was for a card that is there. */
  async #lookedFor({ row, kept }: Order): Promise<ShownCard | undefined> {
    const { orders, timers } = this.#inputs
    try {
      const card = row === routes.taskCreate ? await this.#madeBy(kept.request as CreateRequest) : undefined
      orders.drop(kept)
      return card
    } catch (error) {
      orders.rest(kept)
      if (!isMissing(error))
        throw mayStillBeTold(error) ? new OrderUnanswered(this.#url, { cause: error }) : error
      const told = await this.#missing(error, timers.deadline(ANSWER_MS))
      if (!(told instanceof BoardRefused && told.code === 'unknown_card')) throw told
      orders.drop(kept)
      return undefined
    }
  }

  async #madeBy({
    sig,
    title,
    taskdoc_cid: taskdoc = '',
    column = 'draft',
  }: CreateRequest): Promise<ShownCard> {
    const id = boardCardId(fromBase64(sig), { title, taskdoc, column })
    const signal = this.#inputs.timers.deadline(ANSWER_MS)
    const { card } = await this.#calls.plain(routes.taskCard, { params: { id }, signal })
    requireCard(id, card)
    return card
  }

  /** A hub without a board answers so of everything on it. */
  async #missing(error: unknown, signal: AbortSignal): Promise<unknown> {
    try {
      await this.cards(signal)
    } catch (other) {
      if (other instanceof BoardRefused) return other
    }
    return error instanceof Refused ? new BoardRefused('unknown_card', error.message) : error
  }
}

/** Whether the hub said that it did not do it. */
const isAnswer = (error: unknown): error is Refused => isTold(error) && error.status < 500
const isTold = (error: unknown): error is Refused => error instanceof Refused
const mayStillBeTold = (error: unknown): boolean =>
  !isTold(error) && !isMissing(error) && !(error instanceof HubStopped) && !(error instanceof NodeStopping)

const isMissing = (error: unknown): error is Refused | ForeignAnswer =>
  (error instanceof Refused || error instanceof ForeignAnswer) && error.status === 404

function refusedAs(error: Refused): Refused | BoardRefused {
  const fault = faults[error.status]
  return fault === undefined ? error : new BoardRefused(fault, error.message)
}

const codeOf = (error: unknown): BoardFault | undefined => {
  const told = isTold(error) ? refusedAs(error) : error
  return told instanceof BoardRefused ? told.code : undefined
}

const foreign = () => new ForeignAnswer(200, 'the hub told something of another card')

function requireCard(id: string, card: ShownCard): void {
  if (card.id !== id) throw foreign()
}

const cardOf = (card: ShownCard): Card => ({
  ...{ id: card.id, state: card.state, column: card.column },
  title: plainLine(card.title, CARD_TITLE_BYTES_MAX),
  taskdoc: plainLine(card.taskdoc_cid, CARD_TASKDOC_BYTES_MAX),
  creator: card.creator_aid,
  assignee: card.assignee_aid,
  createdAtMs: card.created_at,
  updatedAtMs: card.updated_at,
})

const eventOf = ({ seq, ts, actor_aid: actor, action, detail }: ShownEvent): CardEvent => ({
  ...{ seq, atMs: ts, actor, action: plainLine(action, ACTION_CHARACTERS_MAX) },
  detail: plainText(detail).slice(0, CARD_NOTE_BYTES_MAX).toWellFormed(),
})
