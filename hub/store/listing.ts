/** Which agents a listing asks for, where no index says it. */
import type { AgentRow, ListQuery } from './port.ts'

/** Tells whether a row is one of those asked for; the terms of its card are for the engine to look up. */
export function askedIn({
  text,
  caps,
  onlyPublic = false,
  open = false,
}: ListQuery): (row: AgentRow) => boolean {
  const wanted = text?.toLowerCase()
  const isShown = (row: AgentRow): boolean =>
    (row.mail === 'open') === open && (!onlyPublic || row.visibility === 'public')
  const hasCap = (row: AgentRow): boolean => caps === undefined || isOfAny(row.caps, caps)
  const hasText = (row: AgentRow): boolean => wanted === undefined || fieldsOf(row).includes(wanted)
  return row => isShown(row) && hasCap(row) && hasText(row)
}

/** Whether one of the tags of an agent is among those, or of their families. */
export const isOfAny = (own: readonly string[], caps: readonly string[]): boolean =>
  own.some(tag => caps.some(cap => isOf(tag, cap)))

/** Whether a tag is this one, or of this family, which ends in `*`. */
const isOf = (tag: string, cap: string): boolean =>
  cap.endsWith('*') ? tag.startsWith(cap.slice(0, -1)) : tag === cap

const fieldsOf = (row: AgentRow): string =>
  [row.aid, row.name, ...row.caps, row.summary, row.readme].join('\n').toLowerCase()
