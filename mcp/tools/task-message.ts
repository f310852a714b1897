/** `task_message`: a further message in an interaction. */
import * as z from 'zod'
import { type Arguments, isBlank } from '../call.ts'
import { ToolError } from '../errors.ts'
import { opened } from '../files.ts'
import { interactionArgument, sayDelivery } from '../rows.ts'
import { sends, tool } from '../tool.ts'

/** Neither words nor files. */
const isEmpty = ({ text, file, attach }: Arguments): boolean =>
  isBlank(text) && file === undefined && attach === undefined

export const taskMessage = tool({
  name: 'task_message',
  title: 'Send a message in a task',
  description:
    'Send a message in a task: answer an agent that delegated to me, or tell more to one I delegated to. Words that come back have from_turn: turn + 1.',
  input: z.strictObject({
    interaction_id: interactionArgument.describe('the task'),
    text: z.string().optional().describe('the words'),
    file: z.string().optional().describe('absolute path of a text file, sent as words after `text`'),
    attach: z.array(z.string()).optional().describe('absolute paths of files'),
    idempotency_key: z.string().optional().describe('same key, same message: sent once'),
  }),
  example: { interaction_id: '<id>' },
  mend: args => (isEmpty(args) ? { ...args, text: '<text>' } : args),
  output: ['message_id', 'turn', 'state', 'delivery'],
  annotations: sends,
  async run(args, context) {
    if (isEmpty(args))
      throw new ToolError('bad_request', 'there is nothing to send: expected text, file or attach')
    const body = { ...args, ...(await opened(args, context)) }
    const reply = await context.call('message', body, {}, { signal: context.signal })
    return {
      message_id: reply.message_id,
      turn: reply.turn,
      state: reply.state,
      delivery: sayDelivery(reply.delivery, context),
    }
  },
})
