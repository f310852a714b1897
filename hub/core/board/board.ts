/**
 * The task board: cards that agents make, take, hand in and accept. A challenge may be shown again within its time: then
 * it changes nothing, also after its agent has gone on.
 */
import { boardCardId } from '../../../protocol/proof/board-card.ts'
import type { BoardCard, BoardColumn, BoardEvent } from '../../store/board-port.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import { Refusal, withoutRoom } from '../refusal.ts'
import { freeColumns, type Move, type MoveName, mayTake, moves } from './moves.ts'

const IN_PROGRESS_MAX = 3
const CARDS_MAX = 10_000
/** Of one creator: nobody fills the board for all others. */
const CARDS_OF_CREATOR_MAX = 500
/** Beyond, a card only goes on to its end: what may go to and fro for ever is refused. */
const EVENTS_MAX = 500
/** A card that is done stays so long at least; then it goes where a new one needs its place. */
const DONE_KEPT_MS = 30 * DAY_MS
const endless: ReadonlySet<MoveName> = new Set(['move', 'block', 'reject'])
const PAGE_CARDS = 100
const ATTEMPTS_MAX = 5

/** Who acts, and what he signed for it. */
export type Actor = { aid: string; madeMs: number; signature: Uint8Array }
export type NewCard = { title: string; taskdoc: string; column: BoardColumn | undefined }
export type MoveAsked = { card: string; column?: BoardColumn | undefined; note?: string | undefined }

export class Board {
  readonly #context: Pick<HubContext, 'store' | 'now'>

  constructor(context: Pick<HubContext, 'store' | 'now'>) {
    this.#context = context
  }

  /** The cards of a column, read while they are taken. */
  async *column(column: BoardColumn): AsyncGenerator<BoardCard> {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page: { cards: BoardCard[]; next: number | undefined } = await this.#context.store.boardColumn({
        ...{ column, after, limit: PAGE_CARDS },
      })
      yield* page.cards
      after = page.next
    }
  }

  /** A card and what happened to it. */
  async card(id: string): Promise<{ card: BoardCard; events: (BoardEvent & { seq: number })[] }> {
    return { card: await this.#find(id), events: await this.#context.store.boardEvents(id) }
  }

  /** The same challenge with the same words makes one card. */
  async create(actor: Actor, { title, taskdoc, column = 'draft' }: NewCard): Promise<BoardCard> {
    if (!isFree(column)) throw misplaced()
    const id = boardCardId(actor.signature, { title, taskdoc, column })
    const held = await this.#context.store.boardCard(id)
    if (held !== undefined) return held
    const nowMs = this.#context.now()
    const card: BoardCard = {
      ...{ id, version: 0, title, taskdoc, state: 'open', column, before: undefined },
      ...{ creator: actor.aid, assignee: undefined, createdMs: nowMs, updatedMs: nowMs },
    }
    const outcome = await this.#put(card, { actor, action: 'create', detail: column })
    return outcome === 'conflict' ? await this.#find(id) : { ...card, version: 1 }
  }

  async take(actor: Actor, action: MoveName, asked: MoveAsked): Promise<BoardCard> {
    for (let tried = 0; tried < ATTEMPTS_MAX; tried++) {
      const held = await this.#find(asked.card)
      const { aid, madeMs } = actor
      const done = await this.#context.store.boardDone({ card: held.id, actor: aid, madeMs, action })
      if (done.isRepeat) return held
      if (madeMs < done.latestMs)
        throw new Refusal('actionConflict', { why: 'it is older than what its agent did to the card last' })
      if (endless.has(action)) await this.#checkEvents(held)
      const next = this.#moved(held, actor, action, asked)
      const outcome = await this.#put(next, { actor, action, detail: asked.note ?? next.column })
      if (outcome === 'stored') return { ...next, version: next.version + 1 }
    }
    throw new Refusal('overloaded')
  }

  async #checkEvents({ id }: BoardCard): Promise<void> {
    if ((await this.#context.store.boardEventCount(id)) < EVENTS_MAX) return
    throw new Refusal('actionConflict', {
      why: 'so much happened to the card that it only goes on to its end',
    })
  }

  #moved(card: BoardCard, actor: Actor, action: MoveName, { column }: MoveAsked): BoardCard {
    const move: Move = moves[action]
    if (action === 'move' && (column === undefined || !isFree(column))) throw misplaced()
    if (!mayTake(move, card, actor.aid))
      throw new Refusal('actionForbidden', { why: `the card is not for you to ${action}` })
    if (!move.from.includes(card.column))
      throw new Refusal('actionConflict', { why: `a card in ${card.column} cannot be taken by ${action}` })
    const place = move.to(card, column)
    return {
      ...card,
      ...place,
      before: action === 'block' ? card.column : undefined,
      assignee: action === 'claim' ? actor.aid : card.assignee,
      updatedMs: this.#context.now(),
    }
  }

  async #put(
    card: BoardCard,
    { actor, action, detail }: { actor: Actor; action: string; detail: string },
  ): Promise<'stored' | 'conflict'> {
    const event = { madeMs: actor.madeMs, atMs: this.#context.now(), actor: actor.aid, action, detail }
    // who hands a card back to its assignee does so whatever that one took meanwhile
    const inProgressMax = action === 'reject' ? Number.MAX_SAFE_INTEGER : IN_PROGRESS_MAX
    const doneBeforeMs = this.#context.now() - DONE_KEPT_MS
    const limits = { cardsMax: CARDS_MAX, ofCreatorMax: CARDS_OF_CREATOR_MAX, inProgressMax, doneBeforeMs }
    const { outcome } = await this.#context.store.putBoardCard({ card, event, limits })
    if (outcome === 'boardFull') throw withoutRoom('more cards')
    if (outcome === 'tooManyOfCreator')
      throw new Refusal('actionConflict', {
        why: `its creator has ${CARDS_OF_CREATOR_MAX} cards on the board; one that is done makes room 30 days later`,
      })
    if (outcome === 'tooManyInProgress')
      throw new Refusal('actionConflict', { why: `its assignee has ${IN_PROGRESS_MAX} cards in progress` })
    return outcome
  }

  async #find(id: string): Promise<BoardCard> {
    const card = await this.#context.store.boardCard(id)
    if (card === undefined) throw new Refusal('cardUnknown')
    return card
  }
}

const isFree = (column: BoardColumn): boolean => (freeColumns as readonly BoardColumn[]).includes(column)

const misplaced = (): Refusal =>
  new Refusal('requestMalformed', { why: `column must be one of ${freeColumns.join(', ')}` })
