/** Calls an operation with what a client gave, read by the shape of its row: over HTTP and inside this process alike. */
import type { Logger } from 'pino'
import type { Call } from '../../protocol/contract/client.ts'
import { faultOf } from '../../protocol/contract/fault.ts'
import type { ReplyOf, RouteRow } from '../../protocol/contract/route.ts'
import { type OperationName, type Operations, operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { ConfigError } from '../home/config.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { isLocked } from '../platform/sqlite.ts'
import { refuse } from '../refusal.ts'
import type { Handlers } from './handlers.ts'

/** What a caller hears of a mistake of ours, which is logged. */
export const INTERNAL = 'the node failed to handle the request'

const LOCKED = 'another program has locked the store of this node: nothing was changed'

type AnyHandler = (given: unknown, signal: AbortSignal) => Promise<unknown>

/** Refuses with the codes of the control table alone; whatever else is thrown is a failure of the node. */
export async function invoke<Held extends OperationName>(
  handlers: Pick<Handlers, Held>,
  name: Held,
  given: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const row: RouteRow = operations[name]
  const shape = row.request ?? row.query
  const parsed = shape?.safeParse(given)
  if (parsed?.success === false) return refuse('bad_request', faultOf(parsed.error, given, 'the request'))
  const handler = handlers[name] as AnyHandler
  try {
    return await handler(parsed?.data, signal)
  } catch (error) {
    if (error instanceof OperationRefused) throw error
    if (error instanceof Malformed || error instanceof ConfigError)
      return refuse('bad_request', error.message)
    if (isOutOfRoom(error)) return refuse('disk_full', 'the disk is full: nothing was changed')
    if (isLocked(error)) return refuse('internal', LOCKED, 'end what has store.db open, then repeat it')
    throw error
  }
}

type OwnCalls<Held extends OperationName> = <N extends Held>(
  name: N,
  body?: Call<Operations[N]>['body'],
  query?: Record<string, string>,
  options?: { signal?: AbortSignal },
) => Promise<ReplyOf<Operations[N]>>

/** The operations of a node in this process, called as a client calls those of another one. */
export function callsOf<Held extends OperationName>({
  handlers,
  ctx,
}: {
  handlers: Pick<Handlers, Held>
  ctx: { log: Logger }
}): OwnCalls<Held> {
  const never = new AbortController().signal
  return async (name, body, query = {}, options = {}) => {
    const given = operations[name].method === 'GET' ? query : (body ?? {})
    try {
      return (await invoke(handlers, name, given, options.signal ?? never)) as never
    } catch (error) {
      if (error instanceof OperationRefused) throw error
      ctx.log.error({ err: error }, 'control')
      return refuse('internal', INTERNAL)
    }
  }
}
