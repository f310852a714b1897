/** The routes of wire 1. */
import { creditRoutes } from './routes/credits.ts'
import { directoryRoutes } from './routes/directory.ts'
import { fedRoutes } from './routes/fed.ts'
import { guestRoutes } from './routes/guests.ts'
import { publicRoutes } from './routes/public.ts'
import { registryRoutes } from './routes/registry.ts'
import { relayRoutes } from './routes/relay.ts'
import { reviewRoutes } from './routes/reviews.ts'
import { supplyRoutes } from './routes/supply.ts'
import { taskRoutes } from './routes/tasks.ts'

/** Every route by its name. */
export const wire1Routes = {
  ...creditRoutes,
  ...directoryRoutes,
  ...fedRoutes,
  ...guestRoutes,
  ...publicRoutes,
  ...registryRoutes,
  ...relayRoutes,
  ...reviewRoutes,
  ...supplyRoutes,
  ...taskRoutes,
} as const

/** The table as a type; its keys are {@link Wire1RouteName}. */
export type Wire1Routes = typeof wire1Routes
/** Name by which clients call a route, such as `relaySend`. */
export type Wire1RouteName = keyof Wire1Routes
