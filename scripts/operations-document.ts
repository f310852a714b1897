/** docs/operations.md: the operations of a node, as its control interface takes them. */
import type { RouteRow } from '../protocol/contract/route.ts'
import { operations } from '../protocol/control/operations.ts'
import { codeRows } from './tables.ts'
import { membersSection } from './wire-3-document.ts'

/** The whole document as Markdown. */
export function operationsDocument(): string {
  const codes = codeRows().filter(row => row.line === 'control')
  return [
    '# The operations of a node',
    'Printed from the tables in `protocol/control/` by `npm run -s docs`; do not edit by hand. The command line, the MCP tools and the console call these; so can a program of yours, over the control interface (`control_addr`, with the token of `control_token.txt` as a bearer token). Bodies are strict JSON. A refusal is `{reason, error}` with one of the codes at the end.',
    ...Object.values<RouteRow>(operations).flatMap(row => {
      const section = membersSection(row)
      return section.length > 0 ? section : [`### ${row.method} \`${row.path}\``, 'No members.']
    }),
    '## Codes',
    ['| Code | Status |\n|---|---|', ...codes.map(({ code, status }) => `| ${code} | ${status} |`)].join(
      '\n',
    ),
  ]
    .join('\n\n')
    .concat('\n')
}
