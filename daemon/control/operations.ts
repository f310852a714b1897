/** The operations of the node as plain functions, one for each row of the control table. */
import { type OperationName, operations } from '../../protocol/control/operations.ts'
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { type A2aParts, a2aOperations } from './a2a.ts'
import type { Handlers } from './handlers.ts'
import { type NodeParts, nodeOperations } from './node-operations.ts'
import { type PaymentParts, paymentOperations } from './payments.ts'
import { type TaskParts, taskOperations } from './task-operations.ts'

type AnyHandler = (given: unknown, signal: AbortSignal) => Promise<unknown>

export function operationsOf(ctx: Context, parts: NodeParts & TaskParts & PaymentParts & A2aParts): Handlers {
  const handlers: Handlers = {
    ...nodeOperations(ctx, parts),
    ...taskOperations(ctx, parts),
    ...paymentOperations(ctx, parts),
    ...a2aOperations(ctx, parts),
  }
  const rows = Object.entries(handlers).map(([name, handler]) => {
    const { staysOpen } = operations[name as OperationName]
    return [name, staysOpen ? handler : guarded(ctx, handler as AnyHandler)]
  })
  return Object.fromEntries(rows) as Handlers
}

function guarded(ctx: Context, handler: AnyHandler): AnyHandler {
  return async (given, signal) => {
    if (ctx.hub.comparing !== undefined) await ctx.hub.comparing
    requireSigning(ctx)
    return handler(given, signal)
  }
}

/** Whatever changes something signs something, which an ended identity and an old copy of one must not. */
function requireSigning(ctx: Context): void {
  if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
  const why = ctx.hub.oldCopy ?? ctx.hub.unsettled
  if (why !== undefined) refuse('old_copy', why)
}
