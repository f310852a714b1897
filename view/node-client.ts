/**
 * How a screen reaches the node: two functions, which the terminal and the page each bring. `call` gives the reply of an
 * operation or throws {@link NodeRefused}, {@link NodeGone} or anything else.
 */
import type { OperationInput, OperationName, OperationReply } from '../protocol/control/operations.ts'
import { Failure } from '../protocol/encoding/errors.ts'

/**
 * What came on `GET /events`: its events, and of its own making `open` once the stream stands, before any event,
 * and `alive` for each heartbeat, both with the id null.
 */
export type NodeEventSeen = { id: string | null; event: string; data: unknown }
export type NodeClient = {
  call<N extends OperationName>(name: N, input: OperationInput<N>): Promise<OperationReply<N>>
  /** Ends when the node ends the stream or the signal comes; throws {@link NoStream} where the node has none. */
  events(since: string | undefined, signal: AbortSignal): AsyncIterable<NodeEventSeen>
}

/** The node said no: the code of its table, its sentence, and the next step where it named one. */
export class NodeRefused extends Failure {
  override name = 'NodeRefused'
  readonly code: string
  readonly next: string | undefined
  constructor(code: string, message: string, next?: string) {
    super(message)
    this.code = code
    this.next = next
  }
}

/** No node answers; `next` is what starts one. */
export class NodeGone extends Failure {
  override name = 'NodeGone'
  readonly next: string | undefined
  constructor(message: string, next?: string) {
    super(message)
    this.next = next
  }
}

/** Somebody answers where the node did, and has not shown that it is the node of this screen. */
export class NotTheNode extends NodeGone {
  override name = 'NotTheNode'
}

/** The node has no event stream. */
export class NoStream extends Failure {
  override name = 'NoStream'
}
