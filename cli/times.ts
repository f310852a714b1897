/** Times of a reply for people: beside each member in Unix milliseconds the same moment as RFC 3339. */

const TIME_NAME = /(?:^|_)at$|_by$|_until$|^last_seen$|^timestamp$/
/** No time that a node notes is older; a smaller number is a count or a duration. */
const MS_MIN = 946_684_800_000
const MS_MAX = 253_402_300_799_999
/** What others wrote is shown as it is. */
const FOREIGN = ['payload', 'args']

/** Whether a member of this name holds a time. */
export function isTimeName(name: string): boolean {
  return TIME_NAME.test(name)
}

/** The value with a member `<name>_utc` behind each time. */
export function withTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withTimes)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, member]) => membersOf(name, member)))
}

function membersOf(name: string, member: unknown): [string, unknown][] {
  if (FOREIGN.includes(name)) return [[name, member]]
  if (typeof member !== 'number' || !isTimeName(name)) return [[name, withTimes(member)]]
  const isMoment = member >= MS_MIN && member <= MS_MAX
  return isMoment
    ? [
        [name, member],
        [`${name}_utc`, new Date(member).toISOString()],
      ]
    : [[name, member]]
}
