/** `task_message`: a further message in an interaction. */
import * as z from 'zod'
import { ToolError } from '../errors.ts'
import { opened } from '../files.ts'
import { interactionArgument, sayDelivery } from '../rows.ts'
import { sends, tool } from '../tool.ts'

export const taskMessage = tool({
  name: 'task_message',
  title: 'Send a message in a task',
  description:
    'Send a message in a task: answer an agent that delegated to me, or tell more to one I delegated to.',
  input: z.strictObject({
    interaction_id: interactionArgument.describe('the task'),
    text: z.string().optional().describe('the words'),
    file: z.string().optional().describe('absolute path of a text file, sent as words after `text`'),
    attach: z.array(z.string()).optional().describe('absolute paths of files'),
    idempotency_key: z.string().optional().describe('same key, same message: sent once'),
  }),
  example: { interaction_id: '<id>' },
  mend: args => ('text' in args || 'file' in args || 'attach' in args ? args : { ...args, text: '<text>' }),
  output: ['message_id', 'turn', 'state', 'delivery'],
  annotations: sends,
  async run(args, context) {
    if (args.text === undefined && args.file === undefined && args.attach === undefined)
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
