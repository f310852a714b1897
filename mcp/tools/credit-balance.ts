/** `credit_balance`: the credits of this node at its hub. */
import * as z from 'zod'
import { present } from '../../protocol/encoding/present.ts'
import { own } from '../fence.ts'
import { iso } from '../rows.ts'
import { reads, tool } from '../tool.ts'

export const creditBalance = tool({
  name: 'credit_balance',
  title: 'Credit balance',
  description: 'Credits of this node at its hub, recent entries.',
  input: z.strictObject({}),
  example: {},
  output: ['hub', 'network', 'balance', 'held', 'trial', 'probation_until', 'open', 'entries'],
  annotations: reads,
  async run(_args, context) {
    const { entries, open, probation_until: until, ...account } = await context.call('balance')
    return {
      ...account,
      ...present({ probation_until: until === undefined ? undefined : iso(until) }),
      ...present({
        open: open?.map(({ next_try_at: next, problem, ...one }) => ({
          ...one,
          ...present({ problem: problem && own(problem) }),
          next_try_at: iso(next),
        })),
      }),
      // the reason is one word of the node's own list
      entries: entries.map(({ at, reason, ...entry }) => ({ at: iso(at), ...entry, reason: own(reason) })),
    }
  },
})
