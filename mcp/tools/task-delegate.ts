/** `task_delegate`: hand a task or a capability call to another agent. */

import * as z from 'zod'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { own } from '../fence.ts'
import { waitArgument } from '../rows.ts'
import { sends, type ToolContext, ToolError, tool } from '../tool.ts'

export const taskDelegate = tool({
  name: 'task_delegate',
  title: 'Delegate a task',
  description:
    "Delegate a task to another person's agent, sealed, and get a receipt when it ends. Give `to` (aid or petname) and either `task` or `capability` with `args`. Returns an interaction_id at once; read the answer with task_inbox.",
  input: z.strictObject({
    to: z.string(),
    task: z.string().optional(),
    capability: z.string().optional(),
    args: z.record(z.string(), z.json()).optional(),
    attach: z.array(z.string()).optional().describe('absolute file paths'),
    pay: z.boolean().optional(),
    max_credits: z.int().min(1).optional(),
    idempotency_key: z.string().optional().describe('same key, same task: sent once'),
    wait_s: waitArgument,
  }),
  output: z
    .object({
      interaction_id: z.string(),
      state: z.string(),
      delivery: z.string(),
      effect: z.looseObject({}),
      payment_required: z.looseObject({}),
      next: z.string(),
    })
    .partial(),
  annotations: sends,
  untrusted: true,
  async run(args, context) {
    if (args.pay && args.max_credits === undefined) {
      throw new ToolError('bad_request', 'paying needs a limit', 'task_delegate with max_credits')
    }
    const reply = await context.call('delegate', args, {}, { signal: context.signal })
    return {
      interaction_id: reply.interaction_id,
      state: reply.state,
      ...present({
        delivery: reply.delivery === undefined ? undefined : reply.delivery.state,
        effect: reply.effect === undefined ? undefined : effectRow(reply.effect, context),
      }),
      ...present({ payment_required: reply.payment_required }),
      next: own(
        reply.warning === undefined
          ? `task_inbox with interaction_id ${reply.interaction_id}`
          : `node_status; the task waits here, because ${reply.warning}`,
      ),
    }
  },
})

const EFFECT_TEXT_CHARACTERS_MAX = 2_000

/** The provider's effect: its status as it is, its words fenced and cut; the thread holds it whole. */
function effectRow(effect: unknown, context: ToolContext): Record<string, unknown> {
  const given = effect as {
    status?: unknown
    verifiable?: unknown
    message?: unknown
    evidence?: { observed_state?: unknown }
  }
  const words = (value: unknown) => context.fence(String(value).slice(0, EFFECT_TEXT_CHARACTERS_MAX))
  const state = given.evidence?.observed_state
  return {
    status: plainLine(String(given.status), 32),
    verifiable: given.verifiable === true,
    ...present({
      message: given.message === undefined ? undefined : words(given.message),
      observed_state: state === undefined ? undefined : words(state),
    }),
  }
}
