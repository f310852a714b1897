/** `evidence_read`: the node's own evidence chain, newest first. */

import * as z from 'zod'
import { present } from '../../protocol/encoding/present.ts'
import { cutToFit, RESULT_CHARACTERS_DEFAULT, RESULT_CHARACTERS_MAX } from '../budget.ts'
import { ToolError } from '../errors.ts'
import { fenced, own } from '../fence.ts'
import { interactionArgument, iso } from '../rows.ts'
import { readsLocal, type ToolContext, tool } from '../tool.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1000

export const evidenceRead = tool({
  name: 'evidence_read',
  title: 'Read the evidence chain',
  description:
    "Read evidence, newest first: this node's own signed, append-only chain of delegations, effects and receipts. Others' words stand between <<untrusted>> markers.",
  input: z.strictObject({
    interaction_id: interactionArgument.optional().describe('only of this task'),
    event_type: z.string().optional().describe('exact, as svc.result.accepted'),
    since: z.int().min(0).optional().describe('lowest seq'),
    limit: z.int().min(1).max(LIMIT_MAX).optional().describe('default 50'),
    cursor: z.string().optional().describe('next_cursor of the reply before'),
  }),
  example: {},
  output: ['head', 'records', 'next_cursor'],
  annotations: readsLocal,
  async run({ cursor, ...args }, context) {
    const before = cursor === undefined ? undefined : beforeOf(cursor)
    const limit = args.limit ?? LIMIT_DEFAULT
    const asked = { ...args, limit: Math.min(limit + 1, LIMIT_MAX), ...present({ before }) }
    const found = await context.call('evidence', asked)
    const budget = args.limit === undefined ? RESULT_CHARACTERS_DEFAULT : RESULT_CHARACTERS_MAX
    const newestFirst = [...found.records].reverse()
    const records = newestFirst.slice(0, limit).map(({ seq, event_type, timestamp, payload, id }) => ({
      seq,
      event_type,
      at: iso(timestamp),
      payload: shortened(payload, context),
      id,
    }))
    return cutToFit(records, budget, (kept, cut) => {
      const last = cut || newestFirst.length > kept.length ? kept.at(-1) : undefined
      return {
        head: found.head,
        records: [...kept],
        ...present({ next_cursor: last === undefined ? undefined : `b${last.seq}` }),
      }
    })
  },
})

function beforeOf(cursor: string): number {
  const [, seq] = /^b(\d{1,15})$/.exec(cursor) ?? []
  if (seq === undefined)
    throw new ToolError('bad_request', 'cursor: expected the next_cursor of the reply before')
  return Number(seq)
}

const MEMBER_CHARACTERS_MAX = 256

/** The words of others fenced; long members (receipt bytes) named by their length: `svc evidence` prints them whole. */
function shortened(payload: unknown, { fence }: ToolContext): unknown {
  if (payload === null || typeof payload !== 'object') return fenced(payload, fence)
  const members = Object.entries(payload).map(([name, value]) => [
    name,
    typeof value === 'string' && value.length > MEMBER_CHARACTERS_MAX
      ? own(`(${value.length} characters)`)
      : fenced(value, fence, name),
  ])
  return Object.fromEntries(members)
}
