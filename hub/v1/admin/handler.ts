/** What a handler of the operator's surface is given, and what it works with. */
import type { QueryOf, ReplyOf, RequestOf } from '../../../protocol/contract/route.ts'
import type { AdminRouteName, AdminRoutes } from '../../../protocol/wire1/routes/admin.ts'
import type { Hub } from '../../core/hub.ts'
import type { Streamed } from '../../http/reply.ts'
import type { Acts } from './acts.ts'
import type { AdminGuard } from './guard.ts'

export type Incoming<N extends AdminRouteName> = {
  params: Record<string, string>
  query: QueryOf<AdminRoutes[N]>
  body: RequestOf<AdminRoutes[N]>
  /** The client's address as far as it can be known. */
  address: string
}
export type Handler<N extends AdminRouteName> = (
  incoming: Incoming<N>,
) => Promise<ReplyOf<AdminRoutes[N]> | Streamed>
/** Handlers of some of the routes. */
export type Part<N extends AdminRouteName> = { [M in N]: Handler<M> }

export type AdminParts = {
  hub: Hub
  guard: AdminGuard
  acts: Acts
  /** Whether the token protects little, as the start says as well. */
  isWeak: boolean
}

/** A time as the operator reads it. */
export const timeOf = (ms: number): string => new Date(ms).toISOString()
