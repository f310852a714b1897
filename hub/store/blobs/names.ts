/** Names of blobs, and how long one that no row names is left alone. */

const NAME = /^[0-9a-f]{32}$/
/** Its row may be on its way. */
export const ORPHAN_AGE_MS = 3_600_000

export const isName = (name: string): boolean => NAME.test(name)

export function refuseForeign(name: string): void {
  if (!isName(name)) throw new Error(`blob name ${name} is not one of ours`)
}
