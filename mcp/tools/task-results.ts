/** `task_results`: the tasks this node has delegated, running and ended. */

import * as z from 'zod'
import { present } from '../../protocol/encoding/present.ts'
import { fitPage } from '../budget.ts'
import { limitArgument, rowsShape, summaryRow, waitArgument } from '../rows.ts'
import { reads, tool } from '../tool.ts'

const LIMIT_DEFAULT = 20

export const taskResults = tool({
  name: 'task_results',
  title: 'Results of delegated tasks',
  description:
    'List results of tasks that I delegated to other agents, running and ended, with delivery state and receipt. Read an answer with task_inbox and its interaction_id.',
  input: z.strictObject({ since_cursor: z.string().optional(), limit: limitArgument, wait_s: waitArgument }),
  output: z.object({ items: rowsShape, next_cursor: z.string() }).partial(),
  annotations: reads,
  untrusted: true,
  async run(args, context) {
    const page = await fitPage(args.limit ?? LIMIT_DEFAULT, async limit => {
      const query = {
        limit: String(limit),
        ...present({
          cursor: args.since_cursor,
          wait_s: args.wait_s === undefined ? undefined : String(args.wait_s),
        }),
      }
      const found = await context.call('results', undefined, query, { signal: context.signal })
      return { rows: found.items.map(item => summaryRow(item, context)), next: found.next_cursor }
    })
    return { items: page.rows, ...present({ next_cursor: page.next }) }
  },
})
