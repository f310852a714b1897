/** `npm run -s routes`: every route of every table and every code, as Markdown or, with --json, as data. */
import { codeRows, common, type Line, routeRows } from './tables.ts'

if (process.argv.includes('--json')) {
  process.stdout.write(`${JSON.stringify({ routes: routeRows(), codes: codeRows() }, null, 2)}\n`)
} else {
  process.stdout.write(markdown())
}

function markdown(): string {
  const lines: Line[] = ['wire3', 'wire1', 'operator', 'control']
  const parts = lines.flatMap(line => [
    `## Routes: ${line}\n`,
    '| Method | Path | Authentication | Action | Codes | Limits |\n|---|---|---|---|---|---|',
    ...routeRows()
      .filter(row => row.line === line)
      .map(
        row =>
          `| ${row.method} | \`${row.path}\`${row.own ? ' (own)' : ''} | ${row.auth} | ${row.action ?? ''} | ${row.codes.join(', ')} | ${Object.entries(
            row.limits,
          )
            .map(([name, value]) => `${name} ${value}`)
            .join(', ')} |`,
      ),
    ...codesOf(line),
    '',
  ])
  const shared = `Codes that any route of wire 3 may answer: ${common.any.join(', ')}; signed routes also ${common.signed.join(', ')}; anonymous routes and \`/relay/send\` also ${common.anonymous.join(', ')}.\n`
  return `${[...parts, shared].join('\n')}`
}

function codesOf(line: Line): string[] {
  const rows = codeRows().filter(row => row.line === line)
  if (rows.length === 0) return []
  return [
    `\n## Codes: ${line}\n`,
    '| Code | Status | Members |\n|---|---|---|',
    ...rows.map(row => `| ${row.code} | ${row.status} | ${row.members.join(', ')} |`),
  ]
}
