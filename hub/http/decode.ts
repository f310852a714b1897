/** Strict decoding of queries and JSON bodies against the shapes of a row. */
import type * as z from 'zod'
import { faultIn, isMissing } from '../../protocol/contract/fault.ts'
import { BODY_VALUES_DEFAULT, type RouteRow } from '../../protocol/contract/route.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { Refusal } from '../core/refusal.ts'

/** Makes what is thrown for a code that a row itself names. */
type Named = (code: string) => Error

/** The body of a JSON route, exactly of the row's shape. */
export function decodeBody(row: RouteRow, bytes: Uint8Array, named: Named): unknown {
  if (row.request === undefined) return undefined
  const json = parse(bytes, row.limits['values'] ?? BODY_VALUES_DEFAULT)
  refuseRemoved(row, json, named)
  refuseLongList(row, json, named)
  const read = row.request.safeParse(json)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const { itemCode } = row
  if (issue !== undefined && itemCode !== undefined && isMissingInItem(json, issue)) throw named(itemCode)
  throw malformed(issue, json)
}

/** The query of a request, each name once and none that the row does not know; a page for people is not so strict. */
export function decodeQuery(row: RouteRow, query: string): unknown {
  if (row.query === undefined) {
    if (query !== '') throw new Refusal('requestMalformed', { why: 'this route accepts no query' })
    return undefined
  }
  const members: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(members, name) && row.produces === undefined)
      throw new Refusal('requestMalformed', { why: `query parameter ${name} appears twice` })
    members[name] = withoutZero(row, name, value)
  }
  const read = row.query.safeParse(members)
  if (read.success) return read.data
  throw malformed(read.error.issues[0], members)
}

/** No text holds a zero character, and a database refuses to be asked for it. For a page it is one that nothing matches. */
function withoutZero(row: RouteRow, name: string, value: string): string {
  if (row.produces !== undefined) return value.replaceAll('\0', '\ufffd')
  if (!value.includes('\0')) return value
  throw new Refusal('requestMalformed', { why: `query parameter ${name} holds a zero character` })
}

function parse(bytes: Uint8Array, valuesMax: number): unknown {
  if (bytes.length === 0)
    throw new Refusal('requestMalformed', {
      why: 'the body is empty where a JSON object is due',
    })
  try {
    return parseJson(bytes, { valuesMax })
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}

/** Clients of earlier releases are told that a member is gone, instead of "unknown member". */
function refuseRemoved({ removed = {} }: RouteRow, json: unknown, named: Named): void {
  if (typeof json !== 'object' || json === null) return
  for (const [member, code] of Object.entries(removed)) if (Object.hasOwn(json, member)) throw named(code)
}

/** A list that is too long is not looked into. */
function refuseLongList({ limits, itemCode }: RouteRow, json: unknown, named: Named): void {
  const itemsMax = limits['items']
  if (itemsMax === undefined || typeof json !== 'object' || json === null) return
  for (const [member, list] of Object.entries(json)) {
    if (!Array.isArray(list) || list.length <= itemsMax) continue
    if (itemCode !== undefined) throw named(itemCode)
    throw new Refusal('requestMalformed', { why: `${member}: expected at most ${itemsMax} items` })
  }
}

/** A required member that an item lacks has its own refusal; a wrong type or an unknown member has not. */
function isMissingInItem(json: unknown, issue: z.core.$ZodIssue): boolean {
  if (issue.code !== 'invalid_type') return false
  return issue.path[0] === 'items' && issue.path.length === 3 && isMissing(issue, json)
}

function malformed(issue: z.core.$ZodIssue | undefined, json: unknown): Refusal {
  if (issue === undefined) return new Refusal('requestMalformed')
  return new Refusal('requestMalformed', { why: faultIn(issue, json, 'the body') })
}
