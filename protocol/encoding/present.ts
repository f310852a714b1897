/** Optional members: an object without the members that have no value. */

type Kept<T> = { [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  [N in keyof T as undefined extends T[N] ? N : never]?: Exclude<T[N], undefined>
}

/**
 * The same members, less those that are undefined: `{ aid, ...present({ name }) }` has no `name` where there is none.
 */
export function present<const T extends object>(members: T): { [N in keyof Kept<T>]: Kept<T>[N] } {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) kept[name] = value
  return kept as Kept<T>
}
