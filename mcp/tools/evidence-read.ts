/** `evidence_read`: the node's own evidence chain. */

import * as z from 'zod'
import { present } from '../../protocol/encoding/present.ts'
import { cutToFit, RESULT_CHARACTERS_DEFAULT, RESULT_CHARACTERS_MAX } from '../budget.ts'
import { fenced } from '../fence.ts'
import { readsLocal, tool } from '../tool.ts'

export const evidenceRead = tool({
  name: 'evidence_read',
  title: 'Read the evidence chain',
  description:
    "Read evidence: this node's own signed, append-only chain of delegations, effects and receipts. event_type matches exactly; since is a seq; next_since continues.",
  input: z.strictObject({
    event_type: z.string().optional(),
    since: z.int().min(0).optional(),
    limit: z.int().min(1).max(1000).optional(),
  }),
  output: z
    .object({
      head: z.looseObject({}),
      records: z.array(z.looseObject({ seq: z.int() })),
      next_since: z.int(),
    })
    .partial(),
  annotations: readsLocal,
  untrusted: true,
  async run(args, context) {
    const found = await context.call('evidence', args)
    const budget = args.limit === undefined ? RESULT_CHARACTERS_DEFAULT : RESULT_CHARACTERS_MAX
    const records = found.records.map(({ seq, event_type, timestamp, payload, id }) => ({
      seq,
      event_type,
      timestamp,
      payload: fenced(shortened(payload), context.fence),
      id,
    }))
    return cutToFit(records, budget, (kept, cut) => {
      const next = cut ? (kept.at(-1)?.seq ?? 0) + 1 : found.next_since
      return { head: found.head, records: [...kept], ...present({ next_since: next }) }
    })
  },
})

const MEMBER_CHARACTERS_MAX = 256

/** Long members (receipt bytes) are named by their length; `svc evidence` prints them whole. */
function shortened(payload: unknown): unknown {
  if (payload === null || typeof payload !== 'object') return payload
  return Object.fromEntries(
    Object.entries(payload).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > MEMBER_CHARACTERS_MAX
        ? `(${value.length} characters)`
        : value,
    ]),
  )
}
