/** `credit_balance`: the credits of this node at its hub. */
import * as z from 'zod'
import { reads, tool } from '../tool.ts'

export const creditBalance = tool({
  name: 'credit_balance',
  title: 'Credit balance',
  description: 'Credit balance of this node at its hub, with recent entries.',
  input: z.strictObject({}),
  output: z.object({ balance: z.int(), entries: z.array(z.looseObject({})) }).partial(),
  annotations: reads,
  run: (_args, context) => context.call('balance'),
})
