/** The door of the page to its node: operations and events by fetch, with the token as a bearer. */
import type { OperationInput, OperationName, OperationReply } from '../../protocol/control/operations.ts'
import { type Door, type NodeEventSeen, NodeGone, NodeRefused, NoStream } from '../../view/door.ts'
import { eventsIn } from './event-stream.ts'
import type { Proof } from './proof.ts'

declare global {
  /** Method and path of each operation, written in by the build. */
  var SVC_CONSOLE_OPERATIONS: Record<OperationName, readonly [method: 'GET' | 'POST', path: string]>
}

export function doorOf(token: string, proof: Proof): Door {
  const headers = { Authorization: `Bearer ${token}` }

  async function call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
  ): Promise<OperationReply<N>> {
    const [method, path] = globalThis.SVC_CONSOLE_OPERATIONS[name]
    const answer =
      method === 'GET'
        ? await ask(proof, `${path}${queryOf(input as object)}`, { headers })
        : await ask(proof, path, {
            method,
            headers: { ...headers, 'Content-Type': 'application/json' },
            body: JSON.stringify(input),
          })
    if (!answer.ok) throw await refusalOf(answer)
    return (await answer.json()) as OperationReply<N>
  }

  async function* events(since: string | undefined, signal: AbortSignal): AsyncGenerator<NodeEventSeen> {
    const query = since === undefined ? '' : `?since=${encodeURIComponent(since)}`
    const answer = await ask(proof, `/events${query}`, { headers, signal })
    if (answer.status === 404) throw new NoStream('this node has no stream of events')
    if (!answer.ok || answer.body === null) throw await refusalOf(answer)
    try {
      yield { id: null, event: 'open', data: null }
      yield* eventsIn(answer.body)
    } finally {
      proof.lose()
    }
  }

  return { call, events }
}

const queryOf = (input: object): string => {
  const query = new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)]))
  return query.size === 0 ? '' : `?${query}`
}

async function ask(proof: Proof, path: string, given: RequestInit): Promise<Response> {
  await proof.require()
  try {
    return await fetch(path, { ...given, credentials: 'omit', cache: 'no-store', redirect: 'error' })
  } catch (error) {
    proof.lose()
    if (given.signal?.aborted === true) throw error
    throw new NodeGone(`no node answers at ${location.host}`, 'svc up')
  }
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
