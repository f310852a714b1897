/** `node_status`: identity, hub, policies, counts. */
import * as z from 'zod'
import { own } from '../fence.ts'
import { readsLocal, tool } from '../tool.ts'

export const nodeStatus = tool({
  name: 'node_status',
  title: 'Node status',
  description:
    'Status of my node: agent id (aid), hub, whether messages are sealed, policies, unread and pending counts, warnings.',
  input: z.strictObject({}),
  output: z
    .object({
      node: z.looseObject({ aid: z.string() }),
      policies: z.looseObject({}),
      spend_limits: z.looseObject({}),
      unread: z.int(),
      pending: z.int(),
      warnings: z.array(z.string()),
    })
    .partial(),
  annotations: readsLocal,
  untrusted: true,
  async run(_args, context) {
    const status = await context.call('status')
    return {
      node: {
        aid: status.aid,
        name: own(status.name),
        caps: status.caps.map(own),
        version: own(status.version),
        data_dir: own(status.data_dir),
        hub: status.hub === null ? null : { url: own(status.hub_url ?? ''), ...status.hub },
      },
      policies: {
        accept_delegations: status.accept_delegations,
        guest_messages: status.guest_messages,
        auto_reply: status.auto_reply?.backend ?? 'off',
      },
      spend_limits: {},
      unread: status.counts.unread,
      pending: status.counts.pending,
      warnings: status.warnings,
    }
  },
})
