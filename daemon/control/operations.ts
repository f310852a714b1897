/** The operations of the node as plain functions, one for each row of the control table. */
import { type OperationName, operations } from '../../protocol/control/operations.ts'
import type { Context } from '../context.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import { refuse } from '../refusal.ts'
import { type A2aParts, a2aOperations } from './a2a.ts'
import type { Handlers, TaskOperations } from './handlers.ts'
import { type NodeParts, nodeOperations } from './node-operations.ts'
import { type PaymentParts, paymentOperations } from './payments.ts'
import { type TaskParts, taskOperations } from './task-operations.ts'

type AnyHandler = (given: unknown, signal: AbortSignal) => Promise<unknown>

/** The operations on tasks, by which other interfaces of the node give tasks as its clients do. */
export function openedTasks(ctx: Context, parts: TaskParts): TaskOperations {
  return guarded(ctx, taskOperations(ctx, parts))
}

type Parts = NodeParts & PaymentParts & A2aParts & { tasks: TaskOperations }

export function operationsOf(ctx: Context, { tasks, ...parts }: Parts): Handlers {
  return {
    ...tasks,
    ...guarded(ctx, {
      ...nodeOperations(ctx, parts),
      ...paymentOperations(ctx, parts),
      ...a2aOperations(ctx.settings, parts.a2a),
    }),
  }
}

type Signing = { identity: Identity; hub: CurrentHub }

/** Whatever changes something signs something, which an ended identity and an old copy of one must not. */
function guarded<H extends Partial<Handlers>>(signing: Signing, handlers: H): H {
  const rows = Object.entries(handlers).map(([name, handler]) => {
    const { staysOpen } = operations[name as OperationName]
    return [name, staysOpen ? handler : guard(signing, handler as AnyHandler)]
  })
  return Object.fromEntries(rows) as H
}

function guard({ identity, hub }: Signing, handler: AnyHandler): AnyHandler {
  return async (given, signal) => {
    if (hub.comparing !== undefined) await hub.comparing
    if (identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
    const why = hub.oldCopy ?? hub.unsettled
    if (why !== undefined) refuse('old_copy', why)
    return handler(given, signal)
  }
}
