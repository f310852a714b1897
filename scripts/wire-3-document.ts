/** The tables within docs/wire-3.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import { paymentReasons } from '../hub/core/ledger/refused.ts'
import type { RouteRow } from '../protocol/contract/route.ts'
import { type CodeRow, codes } from '../protocol/wire3/codes.ts'
import { wire3Routes } from '../protocol/wire3/routes.ts'
import { betweenMarks } from './between-marks.ts'
import { type Member, membersOf, schemaOf } from './members.ts'
import { codeRows, common, routeRows } from './tables.ts'

const PAGE = new URL('../docs/wire-3.md', import.meta.url)

/** The page with its tables as the code says them. */
export function wire3Document(): string {
  return betweenMarks(readFileSync(PAGE, 'utf8'), '<!-- tables -->', tables())
}

function tables(): string {
  return [
    routeTable(),
    commonCodes(),
    codeTable(),
    reasonTable(),
    '## Members\n\nRequest and answer of every route with JSON. `?` marks a member that may be absent.',
    ...Object.values<RouteRow>(wire3Routes).flatMap(row => membersSection(row)),
  ].join('\n\n')
}

function routeTable(): string {
  const rows = routeRows().filter(row => row.line === 'wire3')
  return [
    '## Routes\n\nRoutes marked (own) are no part of the specification.\n',
    '| Method and path | Authentication | Codes beyond the common ones | Body at most |\n|---|---|---|---|',
    ...rows.map(row => {
      const signed = row.action === undefined ? row.auth : `${row.auth} (${row.action})`
      const own = row.own ? ' (own)' : ''
      return `| ${row.method} \`${row.path}\`${own} | ${signed} | ${row.codes.join(', ')} | ${size(row.limits['bodyBytes'] ?? 0)} |`
    }),
  ].join('\n')
}

function commonCodes(): string {
  return `## Common codes\n\nAny route: ${common.any.join(', ')}. Signed routes also: ${common.signed.join(', ')}. Other routes also: ${common.anonymous.join(', ')}.`
}

/** The sentence of a code with what usually stands in it. */
const usualSentence = ({ sentence, why, step, part }: CodeRow): string =>
  sentence
    .replace('{why}', why ?? '{why}')
    .replace('{step}', step ?? '{step}')
    .replace('{part}', part ?? '{part}')

function codeTable(): string {
  return [
    '## Codes\n\nEvery refusal is `{reason, error}` and the members of its row. `error` says what happened and, after the semicolon, what to do next.\n',
    '| Code | Status | Members | Sentence |\n|---|---|---|---|',
    ...codeRows()
      .filter(row => row.line === 'wire3')
      .map(
        ({ code, status, members }) =>
          `| ${code} | ${status} | ${members.join(', ')} | ${usualSentence(codes[code as keyof typeof codes])} |`,
      ),
  ].join('\n')
}

function reasonTable(): string {
  return [
    '## Reasons of payments\n\nA payment that is not made answers 200 with one of these as `errorReason`, or as `invalidReason`. Only `settlement_pending` is no end: the payment waits for another hub, and `transaction` names it. Otherwise `transaction` is empty. `network` is then that of the hub that answers.\n',
    '| Reason | Sentence | What to do |\n|---|---|---|',
    ...Object.entries(paymentReasons).map(([reason, { says, next }]) => `| ${reason} | ${says} | ${next} |`),
  ].join('\n')
}

/** The tables of one route: its query, its request, its answer. */
export function membersSection(row: RouteRow): string[] {
  const parts = [
    ...(row.query === undefined ? [] : [['Query', membersOf(schemaOf(row.query))] as const]),
    ...(row.request === undefined ? [] : [['Request', membersOf(schemaOf(row.request))] as const]),
    ...(row.reply === undefined ? [] : [['Answer', membersOf(schemaOf(row.reply))] as const]),
  ]
  const filled = parts.filter(([, members]) => members.length > 0)
  if (filled.length === 0) return []
  return [`### ${row.method} \`${row.path}\``, ...filled.map(([title, members]) => table(title, members))]
}

function table(title: string, members: Member[]): string {
  const rows = members.map(({ name, type, optional }) => `| \`${name}\`${optional ? ' ?' : ''} | ${type} |`)
  return [`| ${title} | |\n|---|---|`, ...rows].join('\n')
}

function size(bytes: number): string {
  if (bytes === 0) return ''
  return bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`
}
