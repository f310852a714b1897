/** Times as people read them on a screen: how long ago, how long yet, and the clock of a day. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEKS_FROM = 14 * DAY
const DATE_FROM = 10 * 7 * DAY

/** How long ago, in at most four cells: `now`, `12m`, `3h`, `5d`, `6w`; older ones as `Mar 26`. */
export function age(at: number, now: number): string {
  const apart = now - at
  if (apart < MINUTE) return 'now'
  if (apart >= DATE_FROM) return monthOf(at)
  return span(apart)
}

/** Hubs tell the hour in which an agent was last seen, and no more: `<1h`, `~3h`, then days as {@link age} gives them. */
export function hourAge(hour: number, now: number): string {
  const apart = now - hour
  if (apart < HOUR) return '<1h'
  return apart < DAY ? `~${span(apart)}` : age(hour, now)
}

/** {@link hourAge} in words. */
export function sayHour(hour: number, now: number): string {
  const apart = now - hour
  if (apart < HOUR) return 'within the hour'
  if (apart >= DAY) return `${age(hour, now)}${apart < DATE_FROM ? ' ago' : ''}`
  const hours = Math.floor(apart / HOUR)
  return `about ${hours === 1 ? 'an hour' : `${hours} hours`} ago`
}

/** The day alone, of a time that is known to the day (UTC). */
export function day(at: number, now: number): string {
  const date = new Date(at)
  if (date.toISOString().slice(0, 10) === new Date(now).toISOString().slice(0, 10)) return 'today'
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

/** How long something takes or lasts: `40s`, `12m`, `3h`, `5d`, `6w`. */
export function span(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / 1000))}s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`
  if (ms < DAY) return `${Math.floor(ms / HOUR)}h`
  if (ms < WEEKS_FROM) return `${Math.floor(ms / DAY)}d`
  return `${Math.floor(ms / (7 * DAY))}w`
}

/** How long something took: `0.4 s`, `12 s`, then as {@link span}. */
export function took(ms: number): string {
  if (ms >= MINUTE) return span(ms)
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function monthOf(at: number): string {
  const date = new Date(at)
  return `${MONTHS[date.getMonth()]} ${String(date.getFullYear()).slice(-2)}`
}

/** The clock where the day is today, else the day and the clock, of this machine's zone. */
export function clock(at: number, now: number): string {
  const date = new Date(at)
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`
  const isToday = new Date(now).toDateString() === date.toDateString()
  if (isToday) return time
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]}`
  const isThisYear = new Date(now).getFullYear() === date.getFullYear()
  return isThisYear ? `${day} ${time}` : `${day} ${date.getFullYear()} ${time}`
}

const two = (n: number): string => String(n).padStart(2, '0')

/** A size in bytes in few cells: `812 B`, `1.2 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let [value, unit] = [bytes, 0]
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}
