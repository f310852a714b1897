/**
 * A reply as people read it: beside each member in Unix milliseconds the same moment as RFC 3339, and in texts of ours
 * the commands as they are called here.
 */

const TIME_NAME = /(?:^|_)at$|_by$|_until$|^last_seen$|^timestamp$/
/** No time that a node notes is older; a smaller number is a count or a duration. */
const MS_MIN = 946_684_800_000
const MS_MAX = 253_402_300_799_999
/** What others wrote is shown as it is. */
const FOREIGN = ['payload', 'args']
/** Members whose text is this program's or this node's; any other may hold a word of somebody else. */
const OWN = ['next', 'mend', 'found', 'note', 'warning', 'warnings', 'would']

/** Whether a member of this name holds a time. */
export function isTimeName(name: string): boolean {
  return TIME_NAME.test(name)
}

/** The value with a member `<name>_utc` behind each time, and its own texts as `asCalled` gives them. */
export function shownReply(value: unknown, asCalled: AsCalled): unknown {
  return changed(value, (name, member) =>
    typeof member === 'number' && isMoment(name, member)
      ? [
          [name, member],
          [`${name}_utc`, new Date(member).toISOString()],
        ]
      : [[name, ownText(name, member, asCalled)]],
  )
}

/** The value with its own texts as `asCalled` gives them. */
export function withCalls(value: unknown, asCalled: AsCalled): unknown {
  return changed(value, (name, member) => [[name, ownText(name, member, asCalled)]])
}

type AsCalled = (text: string) => string
type Members = [string, unknown][]

const isMoment = (name: string, value: number) => isTimeName(name) && value >= MS_MIN && value <= MS_MAX

function ownText(name: string, member: unknown, asCalled: AsCalled): unknown {
  if (!OWN.includes(name)) return member
  if (typeof member === 'string') return asCalled(member)
  return Array.isArray(member) ? member.map(one => (typeof one === 'string' ? asCalled(one) : one)) : member
}

/** The value with every member at any depth, but for what others wrote, in the place of which `change` puts members. */
function changed(value: unknown, change: (name: string, member: unknown) => Members): unknown {
  if (Array.isArray(value)) return value.map(one => changed(one, change))
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).flatMap(
    ([name, member]): Members =>
      FOREIGN.includes(name)
        ? [[name, member]]
        : change(name, member).map(([newName, one]) => [newName, changed(one, change)]),
  )
  return Object.fromEntries(members)
}
