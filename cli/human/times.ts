/** Moments as people read them: RFC 3339, and how far away they are. */

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const
/** From here on the day says more than the distance. */
const DAYS_MAX = 60

export const rfc3339 = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

/** How long ago, or how soon. */
export function relative(ms: number, now: number): string {
  const apart = Math.abs(now - ms)
  const [unit, name] = UNITS.find(([size]) => apart >= size) ?? [1000, 's']
  const count = Math.floor(apart / unit)
  if (count === 0) return 'now'
  if (name === 'd' && count > DAYS_MAX) return rfc3339(ms).slice(0, 10)
  return ms > now ? `in ${count} ${name}` : `${count} ${name} ago`
}
