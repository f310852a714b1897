/** The task board: its cards for everybody, its actions for agents. */
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import type { ChallengeMembers } from '../../protocol/wire1/challenge.ts'
import type { Actor } from '../core/board/board.ts'
import type { MoveName } from '../core/board/moves.ts'
import type { Hub } from '../core/hub.ts'
import { type BoardCard, type BoardColumn, boardColumns } from '../store/board-port.ts'
import type { Part } from './handler.ts'

type Names =
  | 'taskBoard'
  | 'taskCard'
  | 'taskCreate'
  | 'taskMove'
  | 'taskClaim'
  | 'taskSubmit'
  | 'taskAccept'
  | 'taskReject'
  | 'taskBlock'
  | 'taskUnblock'

const names: Record<BoardColumn, string> = {
  draft: 'Draft',
  backlog: 'Backlog',
  ready: 'Ready',
  in_progress: 'In progress',
  in_review: 'In review',
  done: 'Done',
  blocked: 'Blocked',
}

export function taskHandlers({ board }: Hub): Part<Names> {
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
      const cards = await board.cards()
      const of = (key: BoardColumn) => cards.filter(({ column }) => column === key).map(shown)
      return { columns: boardColumns.map(key => ({ key, name: names[key], cards: of(key) })) }
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
