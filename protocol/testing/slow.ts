/** How much of a slow test runs, and the seed of the run: all of it, or a slice that each run of the CI takes. */

/** One seed for the whole run; SEED repeats it. */
export const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))

const isSlice = process.env['SVC_SLICE'] === '1'

/** So many of something, or so many in a slice. */
export const sliced = (whole: number, slice: number): number => (isSlice ? slice : whole)

/** All of a list, or so many in a slice, from a place that the seed says. */
export function drawn<T>(whole: readonly T[], slice: number): T[] {
  if (!isSlice) return [...whole]
  const from = seed % Math.max(whole.length, 1)
  return [...whole.slice(from), ...whole.slice(0, from)].slice(0, slice)
}
