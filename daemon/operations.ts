/** The operations of the node as plain functions, one for each row of the control table. */
import type { OperationName, Operations } from '../protocol/control.ts'
import type { QueryOf, ReplyOf, RequestOf } from '../protocol/route.ts'
import type { Context } from './context.ts'
import { type NodeParts, nodeOperations } from './operations-node.ts'
import { taskOperations } from './operations-tasks.ts'

type Given<R> = R extends { request: unknown } ? RequestOf<R> : QueryOf<R>

/** One function for each operation; the signal ends waiting, never work that is committed. */
export type Handlers = {
  [N in OperationName]: (given: Given<Operations[N]>, signal: AbortSignal) => Promise<ReplyOf<Operations[N]>>
}

export function operationsOf(ctx: Context, parts: NodeParts): Handlers {
  return { ...nodeOperations(ctx, parts), ...taskOperations(ctx, parts.pullMail, parts.suggestPeers) }
}
