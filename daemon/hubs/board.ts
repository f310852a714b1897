/** What a hub does that has a task board: cards that agents make, take, hand in and accept. */
import type { CardAction, CardColumn, CardState, FreeCardColumn } from '../../protocol/contract/board.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { HubUnreachable } from './hub.ts'

/** A card as the hub shows it, its words made harmless; nothing of it is signed. */
export type Card = {
  id: string
  title: string
  /** Content id of the document that describes the task; empty where there is none. */
  taskdoc: string
  state: CardState
  column: CardColumn
  creator: string
  assignee: string | undefined
  createdAtMs: number
  updatedAtMs: number
}

/** `detail`: the note of its actor, or the column. */
export type CardEvent = { seq: number; atMs: number; actor: string; action: string; detail: string }
export type CardHistory = { card: Card; events: CardEvent[] }

export type NewCard = { title: string; taskdoc?: string; column?: FreeCardColumn }
/** `column` goes with `move`; a note with `submit`, `reject` and `block`. */
export type CardOrder = { card: string; column?: FreeCardColumn; note?: string }

export interface TaskBoard {
  /** Every card, in the order of the columns. */
  cards(signal: AbortSignal): Promise<Card[]>
  card(id: string, signal: AbortSignal): Promise<CardHistory>
  /** Makes one card, also where an answer is lost and the same is ordered again soon. */
  create(card: NewCard): Promise<Card>
  act(action: CardAction, order: CardOrder): Promise<Card>
}

/** An order left, and no answer says what came of it; the same one may be given again. */
export class OrderUnanswered extends HubUnreachable {
  override name = 'OrderUnanswered'
}

/** `no_board`: the hub has none. */
export type BoardFault = 'no_board' | 'unknown_card' | 'forbidden' | 'conflict' | 'malformed'

/** The hub did not do it; the message is its own words. */
export class BoardRefused extends Refusal<BoardFault> {
  override name = 'BoardRefused'
}
