/** Finding the row of a request in a table of routes: a literal path wins over one with segments. */
import { matchPath, type RouteRow } from '../../protocol/contract/route.ts'

export type Found<Name extends string> = { name: Name; params: Record<string, string> }

export class Router<Name extends string> {
  readonly #table: Readonly<Record<Name, RouteRow>>
  readonly #literal = new Map<string, Name>()
  readonly #literalPaths = new Set<string>()
  readonly #patterns: Name[] = []
  /** Methods that any route has. */
  readonly methods: ReadonlySet<string>

  constructor(table: Readonly<Record<Name, RouteRow>>) {
    this.#table = table
    this.methods = new Set(Object.values<RouteRow>(table).map(({ method }) => method))
    for (const name of Object.keys(table) as Name[]) {
      const { method, path } = table[name]
      if (path.includes('{')) this.#patterns.push(name)
      else {
        this.#literal.set(`${method} ${path}`, name)
        this.#literalPaths.add(path)
      }
    }
  }

  /** The row for this method and path, or undefined: also a known path with another method is unknown. */
  find(method: string, path: string): Found<Name> | undefined {
    if (this.#literalPaths.has(path)) {
      const name = this.#literal.get(`${method} ${path}`)
      return name === undefined ? undefined : { name, params: {} }
    }
    for (const name of this.#patterns) {
      const row = this.#table[name]
      if (row.method !== method) continue
      const params = matchPath(row.path, path)
      if (params !== undefined) return { name, params }
    }
    return undefined
  }
}

/** A request target without scheme and host, which every server has to take (RFC 9112 section 3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const rest = /^https?:\/\/[^/?#]*(.*)$/is.exec(target)?.[1]
  if (rest === undefined) return target
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Path and query of a request target. */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?')
  return mark < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}
