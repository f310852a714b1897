/** The client of the page for its node: operations and events by fetch, each sealed with the key of the page. */
import type { OperationInput, OperationName, OperationReply } from '../../protocol/control/operations.ts'
import { type NodeClient, type NodeEventSeen, NodeRefused } from '../../view/node-client.ts'
import { eventsIn } from './event-stream.ts'
import type { Peer } from './peer.ts'
import { sharedEvents } from './shared-events.ts'

declare global {
  /** Method and path of each operation, and whether it changes nothing, written in by the build. */
  var SVC_CONSOLE_OPERATIONS: Record<
    OperationName,
    readonly [method: 'GET' | 'POST', path: string, reads: boolean]
  >
}

export function nodeClientOf(peer: Peer): NodeClient {
  async function call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
  ): Promise<OperationReply<N>> {
    const [method, path, reads] = globalThis.SVC_CONSOLE_OPERATIONS[name]
    const answer =
      method === 'GET'
        ? await peer.fetch(`${path}${queryOf(input as object)}`)
        : await peer.fetch(path, { method, body: new Blob([JSON.stringify(input)]), isOrder: !reads })
    if (!answer.ok) throw await refusalOf(answer)
    return (await answer.json()) as OperationReply<N>
  }

  async function* events(since: string | undefined, signal: AbortSignal): AsyncGenerator<NodeEventSeen> {
    const query = since === undefined ? '' : `?since=${encodeURIComponent(since)}`
    const answer = await peer.fetch(`/events${query}`, { signal })
    if (!answer.ok || answer.body === null) throw await refusalOf(answer)
    yield { id: null, event: 'open', data: null }
    yield* eventsIn(answer.body)
  }

  return { call, events: sharedEvents(events, peer) }
}

const queryOf = (input: object): string => {
  const query = new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)]))
  return query.size === 0 ? '' : `?${query}`
}

async function refusalOf(answer: Response): Promise<Error> {
  const said = (await answer.json().catch(() => ({}))) as { reason?: string; error?: string; next?: string }
  if (answer.status === 401)
    return new NodeRefused('unauthorized', 'this page is no longer let in; open it anew', 'svc console')
  return new NodeRefused(
    said.reason ?? 'internal',
    said.error ?? `the node answered ${answer.status}`,
    said.next,
  )
}
