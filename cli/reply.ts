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
/** Why a node is not at its hub, in its status; elsewhere a reason is somebody's own. */
const OWN_BELOW: Readonly<Record<string, readonly string[]>> = { hub: ['reason'] }

/** Whether a member of this name holds a time. */
export function isTimeName(name: string): boolean {
  return TIME_NAME.test(name)
}

/** The value with a member `<name>_utc` behind each time, and its own texts as `asCalled` gives them. */
export function shownReply(value: unknown, asCalled: AsCalled): unknown {
  return changed(value, (name, member, above) =>
    typeof member === 'number' && isMoment(name, member)
      ? [
          [name, member],
          [`${name}_utc`, new Date(member).toISOString()],
        ]
      : [[name, isOwn(name, above) ? ownText(member, asCalled) : member]],
  )
}

/** The value with its own texts as `asCalled` gives them. */
export function withCalls(value: unknown, asCalled: AsCalled): unknown {
  return changed(value, (name, member, above) => [
    [name, isOwn(name, above) ? ownText(member, asCalled) : member],
  ])
}

type AsCalled = (text: string) => string
type Members = [string, unknown][]

const isMoment = (name: string, value: number) => isTimeName(name) && value >= MS_MIN && value <= MS_MAX

const isOwn = (name: string, above: string | undefined) =>
  OWN.includes(name) || (above !== undefined && OWN_BELOW[above]?.includes(name) === true)

function ownText(member: unknown, asCalled: AsCalled): unknown {
  if (typeof member === 'string') return asCalled(member)
  return Array.isArray(member) ? member.map(one => (typeof one === 'string' ? asCalled(one) : one)) : member
}

type Change = (name: string, member: unknown, above: string | undefined) => Members

/**
 * The value with every member at any depth, but for what others wrote, in the place of which `change` puts members;
 * `above` is the member that it stands in.
 */
function changed(value: unknown, change: Change, above?: string): unknown {
  if (Array.isArray(value)) return value.map(one => changed(one, change, above))
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).flatMap(
    ([name, member]): Members =>
      FOREIGN.includes(name)
        ? [[name, member]]
        : change(name, member, above).map(([newName, one]) => [newName, changed(one, change, newName)]),
  )
  return Object.fromEntries(members)
}
