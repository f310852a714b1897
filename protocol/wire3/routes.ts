/**
 * The routes of wire 3 (hub API §4.1, §4.2, §4.3, §4.5). What a release removed is not in the table and answers
 * `not_found`; credits and federation come with their own rows.
 */
import { publicRoutes } from './routes/public.ts'
import { registryRoutes } from './routes/registry.ts'
import { relayRoutes } from './routes/relay.ts'

export const wire3Routes = { ...relayRoutes, ...registryRoutes, ...publicRoutes } as const

export type Wire3Routes = typeof wire3Routes
export type Wire3RouteName = keyof Wire3Routes
