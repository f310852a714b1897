/** A task board: the columns of its cards, and how long their words may be. */

/** Columns in their order. */
export const cardColumns = [
  'draft',
  'backlog',
  'ready',
  'in_progress',
  'in_review',
  'done',
  'blocked',
] as const
/** Where a card stands. */
export type CardColumn = (typeof cardColumns)[number]

/** Columns between which a creator moves a card that nobody has taken. */
export const freeCardColumns = ['draft', 'backlog', 'ready'] as const satisfies readonly CardColumn[]
/** One of {@link freeCardColumns}. */
export type FreeCardColumn = (typeof freeCardColumns)[number]

/** What a card is: to be taken, taken, handed in, accepted. */
export const cardStates = ['open', 'claimed', 'submitted', 'accepted'] as const
/** One of {@link cardStates}. */
export type CardState = (typeof cardStates)[number]

/** What an agent does to a card that is there. */
export const cardActions = ['move', 'claim', 'submit', 'accept', 'reject', 'block', 'unblock'] as const
/** One of {@link cardActions}. */
export type CardAction = (typeof cardActions)[number]

/** Characters of the id of a card at most. */
export const CARD_ID_CHARACTERS_MAX = 64
/** UTF-8 bytes of a title at most. */
export const CARD_TITLE_BYTES_MAX = 256
/** UTF-8 bytes of the content id of a document at most. */
export const CARD_TASKDOC_BYTES_MAX = 256
/** UTF-8 bytes of a note at most. */
export const CARD_NOTE_BYTES_MAX = 4096
