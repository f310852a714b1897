/** docs/wire-3.md as the tables say it. */
import { codes } from '../protocol/wire3/codes.ts'
import { headers } from '../protocol/wire3/headers.ts'
import { codeRows, common, routeRows } from './tables.ts'

/** The whole document as Markdown. */
export function wire3Document(): string {
  const routes = routeRows().filter(row => row.line === 'wire3')
  const refusals = codeRows().filter(row => row.line === 'wire3')
  return [
    '# Wire 3: the interface of a hub',
    'Printed from the tables in `protocol/wire3/` by `npm run -s docs`; do not edit by hand.',
    'Every request and every answer carries `X-Svc-Wire: 3`. Bodies are strict JSON: an unknown member, a member that stands twice or a value of another type is refused. Binary values are base64url without padding, times are Unix milliseconds. `/relay/send` takes the raw bytes of an envelope.',
    '## Routes',
    '| Method and path | Authentication | Codes beyond the common ones | Body at most |\n|---|---|---|---|',
    ...routes.map(row => {
      const signed = row.action === undefined ? row.auth : `${row.auth} (${row.action})`
      return `| ${row.method} \`${row.path}\`${row.own ? ' (own)' : ''} | ${signed} | ${row.codes.join(', ')} | ${size(row.limits['bodyBytes'] ?? 0)} |`
    }),
    '## Common codes',
    `Any route: ${common.any.join(', ')}. Signed routes also: ${common.signed.join(', ')}. Anonymous routes and \`/relay/send\` also: ${common.anonymous.join(', ')}.`,
    '## Codes',
    'Every refusal is `{reason, error}` and the members named here; `error` says what happened and, after the semicolon, what to do next. 429, 502, 503 and 507 carry `Retry-After` in seconds.',
    '| Code | Status | Members | Sentence |\n|---|---|---|---|',
    ...refusals.map(({ code, status, members }) => {
      return `| ${code} | ${status} | ${members.join(', ')} | ${codes[code as keyof typeof codes].sentence} |`
    }),
    '## Headers',
    ...Object.entries(headers).map(([name, header]) => `- \`${header}\` (${name})`),
    '',
  ]
    .join('\n\n')
    .replaceAll(/\|\n\n\|/g, '|\n|')
    .replaceAll(/\)\n\n- /g, ')\n- ')
}

function size(bytes: number): string {
  if (bytes === 0) return ''
  return bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`
}
