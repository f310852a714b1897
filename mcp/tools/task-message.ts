/** `task_message`: a further message in an interaction. */
import * as z from 'zod'
import { interactionArgument, sayDelivery } from '../rows.ts'
import { sends, ToolError, tool } from '../tool.ts'

export const taskMessage = tool({
  name: 'task_message',
  title: 'Send a message in a task',
  description:
    'Send a message in a task: answer an agent that delegated to me, or tell more to one I delegated to. Text, a file as text, attachments.',
  input: z.strictObject({
    interaction_id: interactionArgument,
    text: z.string().optional(),
    file: z.string().optional().describe('absolute path, sent as text'),
    attach: z.array(z.string()).optional().describe('absolute file paths'),
    idempotency_key: z.string().optional(),
  }),
  output: z
    .object({ message_id: z.string(), turn: z.int(), state: z.string(), delivery: z.string() })
    .partial(),
  annotations: sends,
  async run(args, context) {
    if (args.text === undefined && args.file === undefined && args.attach === undefined) {
      throw new ToolError('bad_request', 'there is nothing to send', 'task_message with text, file or attach')
    }
    const reply = await context.call('message', args, {}, { signal: context.signal })
    return {
      message_id: reply.message_id,
      turn: reply.turn,
      state: reply.state,
      delivery: sayDelivery(reply.delivery, context),
    }
  },
})
