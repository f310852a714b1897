/** docs/operations.md: the operations of a node, as its control interface takes them. */

import { EVENTS_KEPT_MAX } from '../daemon/platform/events.ts'
import type { RouteRow } from '../protocol/contract/route.ts'
import { controlRoutes, type EventType, eventTypes, operations } from '../protocol/control/operations.ts'
import { codeRows } from './tables.ts'
import { membersSection } from './wire-3-document.ts'

/** What any operation may be refused with. */
const COMMON: readonly string[] = [
  'bad_request',
  'unauthorized',
  'forbidden_origin',
  'too_large',
  'disk_full',
]

const pingSection = [
  '### GET `/ping`',
  `Needs no token. With \`nonce\` (32 to 128 digits of lower-case hexadecimal) the answer has a \`proof\` that the server knows the token, before you send it there: HMAC-SHA256 in lower-case hexadecimal, its key the text of \`control_token.txt\` without white space around it, over three lines, the words “svc control”, the address as \`host:port\` and the nonce, with a line feed between them and none at the end. The address is the one that the server listens at, with an IPv6 host in brackets.`,
]

const eventMembers: Readonly<Record<EventType, string>> = {
  inbox:
    '`interaction_id`, `peer`, `state`: a task came, or this side approved, declined, withdrew or ended one',
  message:
    '`interaction_id`, with `peer`, `state` and `kind` (the number of the message kind) where they apply: the other side did something, or the task expired',
  delivery: '`interaction_id`, `state`, with `number` of the message: how far a message of this side is',
  transfer:
    '`interaction_id`, `sent`, `total` or `over`; or `received`, or `over` alone, for what comes in (bytes); not told again after a gap',
  evidence: '`length`: the evidence chain grew',
  autoreply: '`interaction_id`, `event`: what the auto-reply does with a task',
  hub: '`state` (`online`, `offline`, `stopped`), or nothing: read `/status` again',
  settings: 'nothing: settings have changed',
  shutdown: 'nothing: the node stops, and the stream ends',
  reset: 'nothing: what you missed is no longer kept; list everything again',
}

const eventsSection = [
  '### GET `/events`',
  `What happens, as server-sent events: \`id\`, \`event\`, and \`data\` as one line of JSON with ids and short summaries, never words of messages. The stream begins with \`retry: 1000\`; a comment comes every 15 seconds. \`Last-Event-ID\`, or \`since\` in the query, brings what followed that id out of the last ${EVENTS_KEPT_MAX} events; without one the stream begins now. So connect first, then list: what happens in between is told, and nothing is missed. Take kinds and members that you do not know as they come.`,
  ['| Event | Data |\n|---|---|', ...eventTypes.map(type => `| \`${type}\` | ${eventMembers[type]} |`)].join(
    '\n',
  ),
]

const filesSection = [
  '### POST `/upload`',
  `Takes one file: \`name\` in the query (1 to 1024 characters), its bytes as the body, at most ${controlRoutes.upload.limits.bodyBytes} of them. The reply is \`{path, bytes}\`; the path goes into \`attach\` of \`/delegate\` or \`/message\`, and is kept for a week. ${refusedWith(controlRoutes.upload)}`,
  '### GET `/attachment`',
  'Gives the bytes of an attachment as a download, to whoever has the link that `/attachment/link` made; it needs no token and ends after ten minutes.',
  '### GET `/console`',
  'The page of the node for a browser, and with `POST /console/token` what its program asks for; not for other programs.',
]

/** What an operation refuses beside what all of them may. */
function refusedWith({ codes = [] }: Pick<RouteRow, 'codes'>): string {
  const own = codes.filter(code => !COMMON.includes(code)).sort()
  return own.length === 0 ? '' : `Refused with ${own.map(code => `\`${code}\``).join(', ')}.`
}

/** What is said below the members of an operation. */
function boundsOf(row: RouteRow): string[] {
  const size = row.method === 'GET' ? '' : `The body has ${row.limits.bodyBytes} bytes at most.`
  const said = [size, refusedWith(row)].filter(sentence => sentence !== '').join(' ')
  return said === '' ? [] : [said]
}

/** The whole document as Markdown. */
export function operationsDocument(): string {
  const codes = codeRows().filter(row => row.line === 'control')
  return [
    '# The operations of a node',
    'Printed from the tables in `protocol/control/` by `npm run -s docs`; do not edit by hand. The command line, the MCP tools and the console call these; so can a program of yours, over the control interface (`control_addr`, with the token of `control_token.txt` as a bearer token). Bodies are strict JSON. A refusal is `{reason, error, next}`: one of the codes at the end, a sentence that says what happened, and what to do next. Each operation names the codes that are its own; any of them may be refused with ' +
      `${COMMON.map(code => `\`${code}\``).join(', ')} or \`internal\`. A parameter of a query stands there once.`,
    ...pingSection,
    ...eventsSection,
    ...filesSection,
    ...Object.values<RouteRow>(operations).flatMap(row => {
      const section = membersSection(row)
      const head = section.length > 0 ? section : [`### ${row.method} \`${row.path}\``, 'No members.']
      return [...head, ...boundsOf(row)]
    }),
    '## Codes',
    ['| Code | Status |\n|---|---|', ...codes.map(({ code, status }) => `| ${code} | ${status} |`)].join(
      '\n',
    ),
  ]
    .join('\n\n')
    .concat('\n')
}
