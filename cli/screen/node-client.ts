/** The node as the screens reach it: calls and events of the command line's own client. */
import type { OperationInput, OperationName, OperationReply } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import {
  type NodeClient,
  type NodeEventSeen,
  NodeGone,
  NodeRefused,
  NoStream,
} from '../../view/node-client.ts'
import { connect, UnreachableNode, type Whom } from '../client/control.ts'
import { HungNode } from '../client/entries.ts'
import { streamEvents } from '../client/events.ts'
import { operationIndex } from '../client/operation-index.ts'
import type { Io } from '../io.ts'

export function nodeClientOf(given: Io, whom: Whom): NodeClient {
  // nothing may be written beside what the screen writes
  const io = Object.create(given, { onTerminal: { value: false }, err: { value: () => undefined } }) as Io
  return {
    async call<N extends OperationName>(name: N, input: OperationInput<N>): Promise<OperationReply<N>> {
      const { operations } = await operationIndex()
      const isQuery = operations[name].method === 'GET'
      try {
        const control = connect(io, whom)
        const query = isQuery ? (input as Record<string, string>) : {}
        return await control.call(name, (isQuery ? undefined : input) as never, query)
      } catch (error) {
        throw asSeen(error)
      }
    },
    events: (since, signal) => eventsOf(io, whom, since, signal),
  }
}

/** The errors of the client as the screens know them. */
function asSeen(error: unknown): unknown {
  if (error instanceof OperationRefused) return new NodeRefused(error.code, error.message, error.next)
  if (error instanceof UnreachableNode || error instanceof HungNode)
    return new NodeGone(error.message, error.next)
  return error
}

async function* eventsOf(
  io: Io,
  whom: Whom,
  since: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<NodeEventSeen> {
  const queue: NodeEventSeen[] = []
  let wake: () => void = () => undefined
  let over: { error?: unknown } | undefined
  const add = (event: NodeEventSeen) => {
    queue.push(event)
    wake()
  }
  const options = {
    since,
    signal,
    onOpen: () => add({ id: null, event: 'open', data: null }),
    onHeartbeat: () => add({ id: null, event: 'alive', data: null }),
  }
  const end = (error?: unknown) => {
    over = { error }
    wake()
  }
  const { target } = connect(io, whom)
  streamEvents(io, target, options, add).then(() => end(), end)
  for (;;) {
    const event = queue.shift()
    if (event !== undefined) yield event
    else if (over !== undefined) break
    else
      await new Promise<void>(resolve => {
        wake = resolve
      })
  }
  const { error } = over as { error?: unknown }
  if (error instanceof OperationRefused && error.code === 'not_found') throw new NoStream(error.message)
  if (error !== undefined) throw asSeen(error)
}
