/** Cards of the task board, and what happened to each. */

export const boardColumns = [
  'draft',
  'backlog',
  'ready',
  'in_progress',
  'in_review',
  'done',
  'blocked',
] as const
export type BoardColumn = (typeof boardColumns)[number]
/** What a card is: to be taken, taken, handed in, accepted. */
export const cardStates = ['open', 'claimed', 'submitted', 'accepted'] as const
export type CardState = (typeof cardStates)[number]

export type BoardCard = {
  id: string
  /** Rises with every write; a write names the version that it read. 0 before the first. */
  version: number
  title: string
  /** Content id of the document that describes the task; empty where there is none. */
  taskdoc: string
  state: CardState
  column: BoardColumn
  /** Where a blocked card goes back to. */
  before: BoardColumn | undefined
  creator: string
  assignee: string | undefined
  createdMs: number
  updatedMs: number
}

/** `madeMs`: the time that its actor signed. */
export type BoardEvent = { madeMs: number; atMs: number; actor: string; action: string; detail: string }

export type PutBoardCard = {
  card: BoardCard
  event: BoardEvent
  /**
   * So many cards there are at most, so many of one creator, and so many in work of one assignee. Where there is no room
   * for a new one, the card goes that was done first, if that was before `doneBeforeMs`.
   */
  limits: { cardsMax: number; ofCreatorMax: number; inProgressMax: number; doneBeforeMs: number }
}
export type PutBoardResult = {
  outcome: 'stored' | 'conflict' | 'boardFull' | 'tooManyOfCreator' | 'tooManyInProgress'
}

export interface BoardStore {
  boardCard(id: string): Promise<BoardCard | undefined>
  /** All cards, in the order in which they were made. */
  boardCards(): Promise<BoardCard[]>
  /** Cards of a column behind a place, in the order in which they were made; `next` where there may be more. */
  boardColumn(query: {
    column: BoardColumn
    after: number
    limit: number
  }): Promise<{ cards: BoardCard[]; next: number | undefined }>
  /** How much happened to a card. */
  boardEventCount(card: string): Promise<number>
  /** What happened to a card, in order. */
  boardEvents(card: string): Promise<(BoardEvent & { seq: number })[]>
  /** The latest time that an agent signed for a card, 0 where it did nothing to it, and whether it did this very thing. */
  boardDone(
    of: { card: string } & Pick<BoardEvent, 'actor' | 'madeMs' | 'action'>,
  ): Promise<{ latestMs: number; isRepeat: boolean }>
  /** Writes a card with what happened, if nobody wrote it since it was read. */
  putBoardCard(change: PutBoardCard): Promise<PutBoardResult>
}
