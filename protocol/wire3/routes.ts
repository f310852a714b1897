/**
 * The routes of wire 3 (hub API §4.1 to §4.5). What a release removed is not in the table and answers
 * `not_found`; federation comes with its own rows.
 */
import { creditRoutes } from './routes/credits.ts'
import { fedRoutes } from './routes/fed.ts'
import { publicRoutes } from './routes/public.ts'
import { registryRoutes } from './routes/registry.ts'
import { relayRoutes } from './routes/relay.ts'
import { supplyRoutes } from './routes/supply.ts'

/** Every route by its name; wire-3 (Routes) has authentication, codes and sizes. */
export const wire3Routes = {
  ...relayRoutes,
  ...registryRoutes,
  ...publicRoutes,
  ...creditRoutes,
  ...supplyRoutes,
  ...fedRoutes,
} as const

/** The table as a type; its keys are {@link Wire3RouteName}. */
export type Wire3Routes = typeof wire3Routes
/** Name by which clients call a route, such as `relaySend`. */
export type Wire3RouteName = keyof Wire3Routes
