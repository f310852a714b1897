/** Finding the row of a request: a path that stands literally in the table wins over one with segments. */
import { matchPath } from '../../protocol/contract/route.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'

export type Found = { name: Wire3RouteName; params: Record<string, string> }

const literal = new Map<string, Wire3RouteName>()
const literalPaths = new Set<string>()
const patterns: Wire3RouteName[] = []

for (const name of Object.keys(wire3Routes) as Wire3RouteName[]) {
  const { method, path } = wire3Routes[name]
  if (path.includes('{')) patterns.push(name)
  else {
    literal.set(`${method} ${path}`, name)
    literalPaths.add(path)
  }
}

/** The row for this method and path, or undefined: also a known path with another method is unknown. */
export function findRoute(method: string, path: string): Found | undefined {
  if (literalPaths.has(path)) {
    const name = literal.get(`${method} ${path}`)
    return name === undefined ? undefined : { name, params: {} }
  }
  for (const name of patterns) {
    const row = wire3Routes[name]
    if (row.method !== method) continue
    const params = matchPath(row.path, path)
    if (params !== undefined) return { name, params }
  }
  return undefined
}
