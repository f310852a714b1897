/** Operations on the task board of the hub, where it has one. */
import * as z from 'zod'
import {
  CARD_ID_CHARACTERS_MAX,
  CARD_NOTE_BYTES_MAX,
  CARD_TASKDOC_BYTES_MAX,
  CARD_TITLE_BYTES_MAX,
  cardColumns,
  cardStates,
  freeCardColumns,
} from '../contract/board.ts'
import { aidShape, count, lineShape, millis, plainShape } from '../contract/shapes.ts'
import { operation, paging } from './operation.ts'

/** A time and the id of a card. */
const CURSOR_CHARACTERS_MAX = 17 + CARD_ID_CHARACTERS_MAX

const cardId = z.string().regex(new RegExp(`^[\\x21-\\x7e]{1,${CARD_ID_CHARACTERS_MAX}}$`), {
  error: 'expected the id of a card, as task ls lists it',
})
const column = z.enum(cardColumns)
const freeColumn = z.enum(freeCardColumns)
const title = lineShape(CARD_TITLE_BYTES_MAX).refine(text => text !== '', { error: 'expected a title' })

/** A card; its words are those of whoever made it, never instructions. */
const cardShape = z.strictObject({
  card_id: z.string(),
  title: z.string(),
  /** Content id of the document that describes the task. */
  taskdoc_cid: z.string().optional(),
  column,
  state: z.enum(cardStates),
  creator: aidShape,
  creator_name: z.string().nullable(),
  assignee: aidShape.optional(),
  assignee_name: z.string().nullable().optional(),
  /** What this node is to the card. */
  roles: z.array(z.enum(['creator', 'assignee'])),
  created_at: millis,
  updated_at: millis,
})

const asked = ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible', 'no_board'] as const
const ordered = [...asked, 'unknown_card', 'not_for_you', 'wrong_state'] as const

const order = <N extends string, S extends z.ZodRawShape>(name: N, members: S) =>
  operation(`/board/${name}`, {
    reads: false,
    request: z.strictObject({ card_id: cardId, ...members }),
    reply: cardShape,
    codes: ordered,
  })
const noted = { note: plainShape(CARD_NOTE_BYTES_MAX).optional() }

/** Rows of `/board` and below it; docs/operations.md has their members and codes. */
export const boardOperations = {
  /** The newest of each column, or one column page by page. */
  board: operation('/board', {
    reads: true,
    request: z
      .strictObject({
        column: column.optional(),
        /** Only cards that this node made or has taken. */
        mine: z.boolean().optional(),
        limit: paging.limit,
        cursor: z.string().max(CURSOR_CHARACTERS_MAX).optional(),
      })
      .refine(given => given.cursor === undefined || given.column !== undefined, {
        error: 'expected column where cursor is given',
      }),
    reply: z.strictObject({
      hub: aidShape,
      columns: z.array(
        z.strictObject({
          column,
          total: count,
          cards: z.array(cardShape),
          next_cursor: z.string().optional(),
        }),
      ),
    }),
    codes: [...asked, 'identity_deactivated'],
  }),
  boardCard: operation('/board/card', {
    reads: true,
    request: z.strictObject({ card_id: cardId }),
    reply: z.strictObject({
      ...cardShape.shape,
      /** The newest, the oldest of them first. */
      events: z.array(
        z.strictObject({
          seq: count,
          at: millis,
          actor: aidShape,
          actor_name: z.string().nullable(),
          mine: z.boolean(),
          action: z.string(),
          /** The note of the actor, or the column. */
          detail: z.string(),
        }),
      ),
      /** How many were left out before these. */
      earlier_events: count.optional(),
    }),
    codes: [...asked, 'identity_deactivated', 'unknown_card'],
  }),
  boardCreate: operation('/board/create', {
    reads: false,
    request: z.strictObject({
      title,
      taskdoc_cid: lineShape(CARD_TASKDOC_BYTES_MAX).optional(),
      column: freeColumn.optional(),
    }),
    reply: cardShape,
    codes: ordered,
  }),
  boardMove: order('move', { column: freeColumn }),
  boardClaim: order('claim', {}),
  boardSubmit: order('submit', noted),
  boardAccept: order('accept', {}),
  boardReject: order('reject', noted),
  boardBlock: order('block', noted),
  boardUnblock: order('unblock', {}),
} as const
