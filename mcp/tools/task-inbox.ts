/** `task_inbox`: tasks delegated to this node, or one thread of either side. */

import * as z from 'zod'
import { present } from '../../protocol/encoding/present.ts'
import { askAbout } from '../approval.ts'
import { cutToFit, fitPage, RESULT_CHARACTERS_DEFAULT, RESULT_CHARACTERS_MAX, size } from '../budget.ts'
import { OwnWords, own } from '../fence.ts'
import {
  cursorArgument,
  limitArgument,
  previewOf,
  rowsShape,
  summaryRow,
  turnRow,
  waitArgument,
} from '../rows.ts'
import { reads, type ToolContext, tool } from '../tool.ts'

const LIMIT_DEFAULT = 20

type Arguments = {
  interaction_id?: string | undefined
  pending?: boolean | undefined
  since_cursor?: string | undefined
  limit?: number | undefined
  wait_s?: number | undefined
  from_turn?: number | undefined
  max_chars?: number | undefined
}

export const taskInbox = tool({
  name: 'task_inbox',
  title: 'Task inbox and threads',
  description:
    'Inbox: list tasks other agents delegated to me, or, with interaction_id (sent or received), read that thread: messages, attachments as verified local files, what can be done next. Reading a thread marks it read; listing does not.',
  input: z.strictObject({
    interaction_id: z.string().optional(),
    pending: z.boolean().optional().describe('list: only what has not ended (default true)'),
    since_cursor: cursorArgument,
    limit: limitArgument,
    from_turn: z.int().min(0).optional(),
    max_chars: z.int().min(200).max(RESULT_CHARACTERS_MAX).optional(),
    wait_s: waitArgument,
  }),
  output: z
    .object({
      items: rowsShape,
      next_cursor: z.string(),
      interaction_id: z.string(),
      peer: z.string(),
      state: z.string(),
      turns: z.array(z.looseObject({ n: z.int(), text: z.string() })),
      next_turn: z.int(),
      actions: z.array(z.string()),
      receipt: z.looseObject({}),
      reason: z.string(),
    })
    .partial(),
  annotations: reads,
  untrusted: true,
  run: (args, context) =>
    args.interaction_id === undefined ? list(args, context) : thread(args.interaction_id, args, context),
})

async function list(args: Arguments, context: ToolContext): Promise<Record<string, unknown>> {
  const page = await fitPage(args.limit ?? LIMIT_DEFAULT, async limit => {
    const body = {
      unfinished: args.pending ?? true,
      limit,
      ...present({ cursor: args.since_cursor, wait_s: args.wait_s }),
    }
    const found = await context.call('inbox', body, {}, { signal: context.signal })
    return { rows: found.items.map(item => summaryRow(item, context)), next: found.next_cursor }
  })
  return { items: page.rows, ...present({ next_cursor: page.next }) }
}

async function thread(id: string, args: Arguments, context: ToolContext): Promise<Record<string, unknown>> {
  const budget = args.max_chars ?? RESULT_CHARACTERS_DEFAULT
  const body = {
    interaction_id: id,
    mark_read: true,
    max_chars: budget,
    ...present({ from_turn: args.from_turn, wait_s: args.wait_s }),
  }
  const read = () => context.call('thread', body, {}, { signal: context.signal })
  let found = await read()
  if (found.state === 'pending' && (await askAbout(found, context))) found = await read()
  const head = {
    interaction_id: found.interaction_id,
    peer: found.peer_name === null ? found.peer : own(found.peer_name),
    state: found.state,
    ...present({ reason: previewOf(found.reason, context) }),
    actions: found.actions,
    ...present({ receipt: found.receipt }),
  }
  const turns = found.turns.map(turn => turnRow(turn, context))
  const shown = cutToFit(turns, budget, (kept, cut) => {
    const next = cut ? Number(kept.at(-1)?.['n']) + 1 : found.next_turn
    return { ...head, turns: [...kept], ...present({ next_turn: next }) }
  })
  return size(shown) <= RESULT_CHARACTERS_MAX
    ? shown
    : { ...shown, turns: shown.turns.map(turn => shorten(turn, budget, context)) }
}

/** One turn that alone is over the budget: its beginning, marked as cut. */
function shorten(
  turn: Record<string, unknown>,
  budget: number,
  context: ToolContext,
): Record<string, unknown> {
  const text = String(turn['text']).slice(0, Math.max(200, Math.floor(budget / 2)))
  return {
    ...turn,
    text: turn['text'] instanceof OwnWords ? own(text) : context.fence(text),
    truncated: true,
  }
}
