/** The one look at the project's own table: which routes a whole client of wire 1 has to walk. */
import { wire1Routes } from '../../../protocol/wire1/routes.ts'

export const routesOfTable = (): string[] =>
  Object.values(wire1Routes)
    .map(({ method, path }) => `${method} ${path}`)
    .sort()
