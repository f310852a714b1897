/** What clients can keep in view: the node's status, and threads. They read as the tools do, and mark nothing as read. */
import { plainLine } from '../protocol/encoding/plain-text.ts'
import type { Arguments } from './call.ts'
import type { ControlCall } from './tool.ts'

export const STATUS_URI = 'svc://status'
const THREAD_URI = /^svc:\/\/thread\/([A-Za-z0-9_-]{1,64})$/
const LISTED_MAX = 10
const NAME_CHARACTERS_MAX = 60
const JSON_TYPE = 'application/json'

export const threadUri = (interactionId: string): string => `svc://thread/${interactionId}`

export const resourceTemplates = [
  {
    uriTemplate: 'svc://thread/{interaction_id}',
    name: 'thread',
    title: 'One task: its messages and what can be done next',
    mimeType: JSON_TYPE,
  },
]

/** The status, and the threads in which something happened last. */
export async function listResources(call: ControlCall) {
  const status = { uri: STATUS_URI, name: 'status', title: 'Status of my node', mimeType: JSON_TYPE }
  const received = await call('inbox', { limit: LISTED_MAX })
  const sent = await call('results', undefined, { limit: String(LISTED_MAX) })
  const threads = [...received.items, ...sent.items]
    .sort((a, b) => b.last_at - a.last_at)
    .map(item => ({
      uri: threadUri(item.interaction_id),
      name: item.interaction_id,
      title: `Task ${item.side === 'sent' ? 'to' : 'from'} ${plainLine(item.peer_name ?? item.peer, NAME_CHARACTERS_MAX)}, ${item.state}`,
      mimeType: JSON_TYPE,
    }))
  return [status, ...threads]
}

/** The tool that reads a resource; undefined for an address that is none. */
export function readerOf(uri: string): { tool: string; args: Arguments } | undefined {
  if (uri === STATUS_URI) return { tool: 'node_status', args: {} }
  const [, id] = THREAD_URI.exec(uri) ?? []
  return id === undefined ? undefined : { tool: 'task_inbox', args: { interaction_id: id } }
}
