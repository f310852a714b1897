/** What can be done next with a task, as calls that are ready to make. */

import { askUserTo, callText } from './call.ts'
import { own } from './fence.ts'
import type { ToolContext } from './tool.ts'
import type { Thread } from './turns.ts'

type Make = (id: string, context: ToolContext) => string

const withdraw: Make = id => callText('task_end', { interaction_id: id, cancel: true, note: '<why>' })
const end: Make = id => callText('task_end', { interaction_id: id })
const review: Make = id =>
  callText('task_end', { interaction_id: id, rating: '<1 to 5>', comment: '<one sentence>' })

const calls: Readonly<Record<string, Make>> = {
  message: id => callText('task_message', { interaction_id: id, text: '<text>' }),
  end,
  accept_end: end,
  cancel: withdraw,
  decline: withdraw,
  review,
  accept_receipt: (id, context) => askUserTo(context.command(`svc accept-receipt ${id}`)),
  approve: (id, context) => askUserTo(context.command(`svc approve ${id}`)),
}

/** Every action that this server has a tool for, once; whoever asked for the work rates it with the same call that ends it. */
export function actionCalls(thread: Thread, context: ToolContext, rest: readonly string[] = []) {
  const { interaction_id: id, side, actions } = thread
  const made = actions.map(action =>
    side === 'sent' && (action === 'end' || action === 'accept_end')
      ? review(id, context)
      : (calls[action]?.(id, context) ?? callText('task_inbox', { interaction_id: id })),
  )
  const isThere = (call: string) => context.absent?.has(call.split(' ', 1)[0] as string) !== true
  return [...new Set([...rest, ...made])].filter(isThere).map(own)
}
