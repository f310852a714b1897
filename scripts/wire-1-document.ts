/** The tables within docs/wire-1.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import type { RouteRow } from '../protocol/contract/route.ts'
import { type Failure, failures, fedLabels } from '../protocol/wire1/failures.ts'
import { forwardRecord } from '../protocol/wire1/routes/fed.ts'
import { wire1Routes } from '../protocol/wire1/routes.ts'
import { betweenMarks } from './between-marks.ts'
import { membersSection } from './wire-3-document.ts'

const PAGE = new URL('../docs/wire-1.md', import.meta.url)
const KIB = 1024

/** The page with its tables as the code says them. */
export function wire1Document(): string {
  return betweenMarks(readFileSync(PAGE, 'utf8'), '<!-- tables -->', tables())
}

const rows: RouteRow[] = Object.values(wire1Routes)

function tables(): string {
  return [
    routeTable(),
    failureTable(),
    '## Members\n\nRequest and answer of every route with JSON. `?` marks a member that may be absent. The members of the record of `/fed/v1/forward` stand at its end.',
    ...rows.flatMap(row => membersSection(row)),
    ...membersSection({
      method: 'POST',
      path: 'the forward record',
      auth: 'none',
      request: forwardRecord,
      ...NONE,
    }),
  ].join('\n\n')
}

const NONE = { codes: [], limits: { bodyBytes: 0 } } as const

function routeTable(): string {
  return [
    '## Routes\n\nA route with an action is signed by a challenge. Routes marked (own) are no part of the specification.\n',
    '| Method and path | Action | Failures | Body at most |\n|---|---|---|---|',
    ...rows.map(({ method, path, own, action = '', codes, limits }) => {
      const told = [...new Set(codes.map(code => failures[code as Failure]))].sort().join(', ')
      return `| ${method} \`${path}\`${own ? ' (own)' : ''} | ${action} | ${told} | ${size(limits.bodyBytes)} |`
    }),
  ].join('\n')
}

function failureTable(): string {
  return [
    '## Failures\n\nThe statuses of the table above, by kind, and what the routes under `/fed/v1` say in `error`.\n',
    '| Kind | Status | Label under `/fed/v1` |\n|---|---|---|',
    ...Object.entries(failures).map(
      ([kind, status]) => `| ${kind} | ${status} | ${fedLabels[kind as Failure]} |`,
    ),
  ].join('\n')
}

function size(bytes: number): string {
  if (bytes === 0) return ''
  return bytes >= KIB * KIB ? `${bytes / KIB / KIB} MiB` : `${bytes / KIB} KiB`
}
