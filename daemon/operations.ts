/** The operations of the node as plain functions, one for each row of the control table. */
import { type OperationName, type Operations, operations } from '../protocol/control.ts'
import type { QueryOf, ReplyOf, RequestOf } from '../protocol/route.ts'
import type { Context } from './context.ts'
import { type NodeParts, nodeOperations } from './operations-node.ts'
import { taskOperations } from './operations-tasks.ts'
import { refuse } from './refusal.ts'

type Given<R> = R extends { request: unknown } ? RequestOf<R> : QueryOf<R>

/** One function for each operation; the signal ends waiting, never work that is committed. */
export type Handlers = {
  [N in OperationName]: (given: Given<Operations[N]>, signal: AbortSignal) => Promise<ReplyOf<Operations[N]>>
}

type AnyHandler = (given: unknown, signal: AbortSignal) => Promise<unknown>

export function operationsOf(ctx: Context, parts: NodeParts): Handlers {
  const handlers: Handlers = {
    ...nodeOperations(ctx, parts),
    ...taskOperations(ctx, parts.pullMail, parts.suggestPeers),
  }
  const guarded = Object.entries(handlers).map(([name, handler]) => {
    const { staysOpen } = operations[name as OperationName]
    return [name, staysOpen ? handler : refusedAfterTheEnd(ctx, handler as AnyHandler)]
  })
  return Object.fromEntries(guarded) as Handlers
}

function refusedAfterTheEnd(ctx: Context, handler: AnyHandler): AnyHandler {
  return async (given, signal) => {
    if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
    return handler(given, signal)
  }
}
