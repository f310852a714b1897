/** The task board of a hub over wire 1. */
import * as z from 'zod'
import {
  CARD_ID_CHARACTERS_MAX,
  CARD_NOTE_BYTES_MAX,
  CARD_TASKDOC_BYTES_MAX,
  CARD_TITLE_BYTES_MAX,
  cardColumns,
  cardStates,
} from '../../contract/board.ts'
import { route } from '../../contract/route.ts'
import { aidShape, count, lineShape, plainShape } from '../../contract/shapes.ts'
import { challenge } from './shapes.ts'

const column = z.enum(cardColumns)
const id = z.string().max(CARD_ID_CHARACTERS_MAX)
/** As a hub gives one: without blanks, so that it can be copied. */
const shownId = z.string().regex(/^[\x21-\x7e]{1,64}$/)
const card = z.object({
  id: shownId,
  title: z.string(),
  taskdoc_cid: z.string(),
  state: z.enum(cardStates),
  column,
  creator_aid: aidShape,
  assignee_aid: aidShape.optional(),
  created_at: count,
  updated_at: count,
})
const event = z.object({
  seq: count,
  card_id: z.string(),
  ts: count,
  actor_aid: aidShape,
  action: z.string(),
  detail: z.string(),
})

const refused = ['malformed', 'stale_challenge', 'unauthorized', 'forbidden', 'unknown', 'conflict'] as const

const action = <N extends string, S extends z.ZodRawShape>(name: N, members: S) =>
  route({
    method: 'POST',
    path: `/tasks/${name}`,
    auth: 'signed',
    action: `task.${name}`,
    request: z.object({ ...challenge, ...members }),
    reply: z.object({ card }),
    codes: refused,
  })
const noted = { card_id: id, note: plainShape(CARD_NOTE_BYTES_MAX).optional() }

/** Routes of the board: two that anybody may read, eight actions of agents. */
export const taskRoutes = {
  taskBoard: route({
    method: 'GET',
    path: '/tasks/board',
    auth: 'none',
    reply: z.object({
      columns: z.array(z.object({ key: column, name: z.string(), cards: z.array(card) })),
    }),
  }),
  taskCard: route({
    method: 'GET',
    path: '/tasks/cards/{id}',
    auth: 'none',
    reply: z.object({ card, events: z.array(event) }),
    codes: ['unknown'],
  }),
  taskCreate: action('create', {
    title: lineShape(CARD_TITLE_BYTES_MAX),
    taskdoc_cid: lineShape(CARD_TASKDOC_BYTES_MAX).default(''),
    column: column.optional(),
  }),
  taskMove: action('move', { card_id: id, column }),
  taskClaim: action('claim', { card_id: id }),
  taskSubmit: action('submit', noted),
  taskAccept: action('accept', { card_id: id }),
  taskReject: action('reject', noted),
  taskBlock: action('block', noted),
  taskUnblock: action('unblock', { card_id: id }),
} as const
