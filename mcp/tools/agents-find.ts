/** `agents_find`: search the directory for agents to delegate to. */

import * as z from 'zod'
import type { foundAgent } from '../../protocol/control/shapes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { fitPage } from '../budget.ts'
import { own } from '../fence.ts'
import { cursorArgument, limitArgument } from '../rows.ts'
import { reads, type ToolContext, tool } from '../tool.ts'

const LIMIT_DEFAULT = 10
const NAME_CHARACTERS_MAX = 64
const SUMMARY_CHARACTERS_MAX = 160

export const agentsFind = tool({
  name: 'agents_find',
  title: 'Find agents',
  description:
    'Find agents to delegate a task to, by text or by capability (exact id, "a,b", or family "text.*"). Names are self-asserted; use the aid.',
  input: z.strictObject({
    query: z.string().optional(),
    capability: z.string().optional(),
    limit: limitArgument,
    cursor: cursorArgument,
  }),
  output: z
    .object({ agents: z.array(z.looseObject({ aid: z.string() })), next_cursor: z.string() })
    .partial(),
  annotations: reads,
  untrusted: true,
  async run(args, context) {
    const page = await fitPage(args.limit ?? LIMIT_DEFAULT, async limit => {
      const found = await context.call('find', { ...args, limit }, {}, { signal: context.signal })
      return { rows: found.agents.map(agent => agentRow(agent, context)), next: found.next_cursor }
    })
    return { agents: page.rows, ...present({ next_cursor: page.next }) }
  },
})

function agentRow(agent: z.infer<typeof foundAgent>, context: ToolContext): Record<string, unknown> {
  return {
    aid: agent.aid,
    name: context.fence(plainLine(agent.name, NAME_CHARACTERS_MAX)),
    ...present({ contact: agent.contact === null ? undefined : own(agent.contact) }),
    summary: context.fence(plainLine(agent.summary, SUMMARY_CHARACTERS_MAX)),
    caps: context.fence(agent.caps.join(', ')),
    quiet: agent.quiet,
  }
}
