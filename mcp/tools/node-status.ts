/** `node_status`: identity, hub, policies, counts. */
import * as z from 'zod'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { own } from '../fence.ts'
import { iso } from '../rows.ts'
import { readsLocal, tool } from '../tool.ts'

export const nodeStatus = tool({
  name: 'node_status',
  title: 'Node status',
  description:
    'Status of my node: agent id (aid), hub, whether messages are sealed, policies, unread tasks, pending: tasks of strangers that wait for your user, warnings to tell your user.',
  input: z.strictObject({}),
  example: {},
  output: ['node', 'policies', 'spend_limits', 'unread', 'pending', 'warnings'],
  annotations: readsLocal,
  async run(_args, context) {
    const status = await context.call('status')
    return {
      node: {
        aid: status.aid,
        name: own(status.name),
        caps: status.caps.map(own),
        version: own(status.version),
        data_dir: own(status.data_dir),
        hub: hubRow(status.hub, status.hub_url),
      },
      policies: {
        accept_delegations: status.accept_delegations,
        guest_messages: status.guest_messages,
        auto_reply: status.auto_reply?.backend ?? 'off',
      },
      spend_limits: {},
      unread: status.counts.unread,
      pending: status.counts.pending,
      warnings: warningRows(status),
    }
  },
})

/** Those that quote a hub or a program are fenced by whoever shows this. */
const warningRows = ({ warnings, quoting_warnings: quoting = [] }: NodeStatus) =>
  warnings.map((warning, place) => (quoting.includes(place) ? warning : own(warning)))

type Hub = { last_contact_at: number | null }

function hubRow<H extends Hub>(hub: H | null, url: string | null) {
  if (hub === null) return null
  const { last_contact_at: at, ...rest } = hub
  return { url: own(url ?? ''), ...rest, ...present({ last_contact_at: at === null ? undefined : iso(at) }) }
}
