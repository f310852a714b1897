/** The task board: its cards for everybody, its actions for agents. */
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import type { ChallengeMembers } from '../../protocol/wire1/challenge.ts'
import { taskRoutes } from '../../protocol/wire1/routes/tasks.ts'
import type { Actor, Board } from '../core/board/board.ts'
import type { MoveName } from '../core/board/moves.ts'
import type { Hub } from '../core/hub.ts'
import { jsonText } from '../http/reply.ts'
import { streamedJson } from '../http/rows.ts'
import { type BoardCard, type BoardColumn, boardColumns } from '../store/board-port.ts'
import type { Part } from './handler.ts'

type Names = keyof typeof taskRoutes

const names: Record<BoardColumn, string> = {
  draft: 'Draft',
  backlog: 'Backlog',
  ready: 'Ready',
  in_progress: 'In progress',
  in_review: 'In review',
  done: 'Done',
  blocked: 'Blocked',
}

function taskHandlers({ board }: Hub): Part<Names> {
  const taking =
    (action: MoveName) =>
    async ({
      body,
    }: {
      body: ChallengeMembers & { card_id: string; column?: BoardColumn; note?: string | undefined }
    }) => ({
      card: shown(
        await board.take(actorOf(body), action, { card: body.card_id, column: body.column, note: body.note }),
      ),
    })
  return {
    async taskBoard() {
      return streamedJson(columnsOf(board))
    },
    async taskCard({ params }) {
      const { card, events } = await board.card(params['id'] ?? '')
      return {
        card: shown(card),
        events: events.map(({ seq, atMs, actor, action, detail }) => ({
          ...{ seq, card_id: card.id, ts: atMs, actor_aid: actor, action, detail },
        })),
      }
    },
    async taskCreate({ body }) {
      const { title, taskdoc_cid: taskdoc, column } = body
      return { card: shown(await board.create(actorOf(body), { title, taskdoc, column })) }
    },
    taskMove: taking('move'),
    taskClaim: taking('claim'),
    taskSubmit: taking('submit'),
    taskAccept: taking('accept'),
    taskReject: taking('reject'),
    taskBlock: taking('block'),
    taskUnblock: taking('unblock'),
  }
}

/** The whole board, a card at a time: anybody may ask for it and not read on. */
async function* columnsOf(board: Board): AsyncGenerator<string> {
  let separator = '{"columns":['
  for (const key of boardColumns) {
    yield `${separator}${jsonText({ key, name: names[key] }).slice(0, -1)},"cards":[`
    separator = ','
    let between = ''
    for await (const card of board.column(key)) {
      yield `${between}${jsonText(shown(card))}`
      between = ','
    }
    yield ']}'
  }
  yield ']}'
}

const actorOf = ({ aid, ts, sig }: ChallengeMembers): Actor => ({
  aid,
  madeMs: ts,
  signature: fromBase64(sig),
})

const shown = ({
  id,
  title,
  taskdoc,
  state,
  column,
  creator,
  assignee,
  createdMs,
  updatedMs,
}: BoardCard) => ({
  ...{ id, title, taskdoc_cid: taskdoc, state, column, creator_aid: creator },
  ...(assignee !== undefined && { assignee_aid: assignee }),
  ...{ created_at: createdMs, updated_at: updatedMs },
})

/** The routes of the board, and what answers them. */
export type BoardModule = { rows: typeof taskRoutes; handlers: (hub: Hub) => Part<Names> }
export const module: BoardModule | undefined = { rows: taskRoutes, handlers: taskHandlers }
