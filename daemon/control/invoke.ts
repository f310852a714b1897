/** Calls an operation with what a client gave, read by the shape of its row: over HTTP and inside this process alike. */
import type { RouteRow } from '../../protocol/contract/route.ts'
import { type OperationName, operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { ConfigError } from '../home/config.ts'
import { refuse } from '../refusal.ts'
import type { Handlers } from './handlers.ts'

type AnyHandler = (given: unknown, signal: AbortSignal) => Promise<unknown>

/** Refuses with the codes of the control table alone; whatever else is thrown is a failure of the node. */
export async function invoke(
  handlers: Handlers,
  name: OperationName,
  given: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const row: RouteRow = operations[name]
  const shape = row.request ?? row.query
  const parsed = shape?.safeParse(given)
  if (parsed?.success === false) {
    const [issue] = parsed.error.issues
    return refuse('bad_request', `${issue?.path.join('.') || 'the request'}: ${issue?.message}`)
  }
  const handler = handlers[name] as AnyHandler
  try {
    return await handler(parsed?.data, signal)
  } catch (error) {
    if (error instanceof OperationRefused) throw error
    if (error instanceof Malformed || error instanceof ConfigError)
      return refuse('bad_request', error.message)
    throw error
  }
}
