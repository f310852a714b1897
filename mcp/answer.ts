/** One task that this node delegated: the last words of the other side, and what can be done with them. */
import { present } from '../protocol/encoding/present.ts'
import { actionCalls } from './actions.ts'
import { attachmentCall } from './attachment.ts'
import { RESULT_CHARACTERS_DEFAULT, RESULT_CHARACTERS_MAX } from './budget.ts'
import { callText } from './call.ts'
import { peerOf, ratingRow, receiptRow, sayReason } from './rows.ts'
import type { ToolContext } from './tool.ts'
import { shownTurns, type Thread } from './turns.ts'

/** Members of a result that {@link answerOf} makes. */
export const answerMembers = [
  'interaction_id',
  'peer',
  'peer_name',
  'state',
  'reason',
  'answer',
  'receipt',
  'review',
  'actions',
] as const

export type AnswerArguments = {
  from_turn?: number | undefined
  from_char?: number | undefined
  wait_s?: number | undefined
  max_chars?: number | undefined
}

/** Reads the answer, which is then read. */
export function readAnswer(id: string, args: AnswerArguments, context: ToolContext): Promise<Thread> {
  const { from_turn, from_char, wait_s } = args
  const body = {
    interaction_id: id,
    answer: true,
    text_files: true,
    mark_read: !context.readOnly,
    max_chars: RESULT_CHARACTERS_MAX,
    ...present({ from_turn, from_char, wait_s }),
  }
  return context.call('thread', body, {}, { signal: context.signal })
}

const answerTurns = (thread: Thread) =>
  thread.turns.filter(turn => !turn.mine && (turn.text !== '' || turn.attachments.length > 0))

export function answerOf(
  thread: Thread,
  args: AnswerArguments,
  context: ToolContext,
): Record<string, unknown> {
  const { interaction_id } = thread
  const head = {
    interaction_id,
    ...peerOf(thread),
    state: thread.state,
    ...present({ reason: sayReason(thread, context) }),
  }
  const receipt = receiptRow(thread.receipt, context)
  const review = ratingRow(thread, context)
  const budget = (args.max_chars ?? RESULT_CHARACTERS_DEFAULT) - HEAD_CHARACTERS
  const { turns, rest } = shownTurns(
    thread,
    answerTurns(thread),
    { budget, fromChar: args.from_char },
    context,
  )
  const further =
    rest !== undefined
      ? [callText('task_results', { interaction_id, ...rest })]
      : turns.length === 0 && !isOver(thread)
        ? [callText('task_results', { interaction_id, wait_s: 45 })]
        : []
  return {
    ...head,
    answer: turns,
    ...present({ receipt, review }),
    actions: actionCalls(thread, context, [
      ...further,
      ...attachmentCall('task_results', interaction_id, turns),
    ]),
  }
}

const HEAD_CHARACTERS = 700
const OVER: readonly string[] = ['ended', 'declined', 'cancelled', 'failed', 'expired']
const isOver = ({ state }: Pick<Thread, 'state'>): boolean => OVER.includes(state)
/** The other side wrote, or there is nothing more to wait for. */
export const isAnswered = (thread: Thread): boolean => answerTurns(thread).length > 0 || isOver(thread)
