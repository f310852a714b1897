/** Wire 3 as an OpenAPI 3.1 document, read from the route table. */

import type { RouteRow } from '../protocol/contract/route.ts'
import { present } from '../protocol/encoding/present.ts'
import { authCodes, codes, commonCodes } from '../protocol/wire3/codes.ts'
import { ENVELOPE_TYPE, headers, WIRE, WIRE_RELEASE } from '../protocol/wire3/headers.ts'
import { wire3Routes } from '../protocol/wire3/routes.ts'
import { type Schema, schemaOf } from './members.ts'

type Operation = Record<string, unknown>

/** The document as data. */
export function openapiDocument() {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const [name, row] of Object.entries<RouteRow>(wire3Routes)) {
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operationOf(name, row) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `svc hub, wire ${WIRE}`,
      version: WIRE_RELEASE,
      description: 'Printed from the route table; docs/wire-3.md has the rules in words.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8088', description: 'a hub as it listens by default' }],
    paths,
    components: {
      schemas: { Refusal: refusalSchema() },
      securitySchemes: {
        signed: {
          type: 'apiKey',
          in: 'header',
          name: headers.signature,
          description: 'A signature over the request; see "Signed requests" in docs/wire-3.md.',
        },
        credential: {
          type: 'apiKey',
          in: 'header',
          name: headers.access,
          description: 'The access record of the envelope; see "Sending an envelope" in docs/wire-3.md.',
        },
      },
    },
  }
}

function operationOf(name: string, row: RouteRow): Operation {
  const body = requestBody(row)
  const secured = row.auth === 'signed' || row.auth === 'credential'
  return {
    operationId: name,
    ...(row.action === undefined ? {} : { description: `Signed with the action \`${row.action}\`.` }),
    ...(secured ? { security: [{ [row.auth]: [] }] } : { security: [] }),
    parameters: [
      ...wireParameter(row),
      ...headersOf(row).map(([header, required, schema]) => ({
        name: header,
        in: 'header',
        required,
        schema,
      })),
      ...pathParameters(row.path),
      ...queryParameters(row),
    ],
    ...present({ requestBody: body }),
    responses: { 200: answer(row), ...refusals(row) },
  }
}

const TEXT = { type: 'string' }
const NUMBER = { type: 'string', pattern: '^[0-9]+$' }
type Header = [name: string, required: boolean, schema: object]

const signedHeaders: readonly Header[] = [
  [headers.aid, true, TEXT],
  [headers.ts, true, NUMBER],
  [headers.seq, true, NUMBER],
  [headers.signature, true, TEXT],
]
/** A capability stands in the access record alone; a session has its id, a time and a MAC beside it. */
const credentialHeaders: readonly Header[] = [
  [headers.access, true, TEXT],
  [headers.session, false, TEXT],
  [headers.ts, false, NUMBER],
  [headers.mac, false, TEXT],
  [headers.home, false, TEXT],
  ['Content-Length', true, NUMBER],
]

function headersOf(row: RouteRow): readonly Header[] {
  const held: Header[] =
    row.held === true ? [['Prefer', false, { type: 'string', examples: ['wait=50'] }]] : []
  if (row.auth === 'signed') return [...signedHeaders, ...held]
  return row.auth === 'credential' ? [...credentialHeaders, ...held] : held
}

function requestBody(row: RouteRow) {
  if (row.raw !== undefined) {
    return { required: true, content: { [ENVELOPE_TYPE]: { schema: { type: 'string', format: 'binary' } } } }
  }
  if (row.request === undefined) return undefined
  return { required: true, content: { 'application/json': { schema: schemaOf(row.request) } } }
}

function answer(row: RouteRow) {
  const types = {
    html: 'text/html',
    text: 'text/plain',
    events: 'text/event-stream',
    bytes: 'application/octet-stream',
  }
  const type = row.produces === undefined ? (row.mediaType ?? 'application/json') : types[row.produces]
  const schema = row.reply === undefined ? { type: 'string' } : schemaOf(row.reply)
  return { description: 'The answer.', headers: answeredHeaders(row), content: { [type]: { schema } } }
}

const wireAnswered = { [headers.wire]: { required: true, schema: { const: String(WIRE) } } }

/** A poll that was held says how long it may have been, and what became of another one. */
const answeredHeaders = ({ held }: RouteRow) => ({
  ...wireAnswered,
  ...(held === true && {
    'Preference-Applied': { schema: { type: 'string', examples: ['wait=50'] } },
    [headers.otherPoll]: { schema: { enum: ['older', 'newer', 'older, newer'] } },
  }),
})

/** What a refusal has beside `reason` and `error`, by the code that adds it. */
const refusalMembers: Readonly<Record<string, Schema>> = {
  aid: TEXT,
  challenge: { type: 'object' },
  floor: { type: 'integer' },
  head_id: TEXT,
  max_bits: { type: 'integer' },
  required_svc: TEXT,
  required_wire: { type: 'integer' },
  seq: { type: 'integer' },
  stored_seq: { type: 'integer' },
  witnessed_id: TEXT,
  witnessed_seq: { type: 'integer' },
}

function membersOf(names: readonly (keyof typeof codes)[], { refused }: RouteRow): Record<string, Schema> {
  const added = names.flatMap(name => codes[name].members)
  const fixed = refused === undefined ? [] : [...Object.keys(refused.members), refused.reason]
  return Object.fromEntries([...added, ...fixed].map(member => [member, refusalMembers[member] ?? {}]))
}

/** When to come again, and from which time on a signed request counts. */
function refusalHeaders(names: readonly (keyof typeof codes)[]) {
  const waits = names.some(name => codes[name].retryAfter !== undefined)
  const floored = names.includes('ts_stale')
  return {
    ...wireAnswered,
    ...present({
      'Retry-After': waits ? { schema: { type: 'integer' } } : undefined,
      [headers.floor]: floored ? { schema: NUMBER } : undefined,
    }),
  }
}

/** One entry for each status, naming the codes that it stands for. */
function refusals(row: RouteRow) {
  const byAuth = row.auth === 'signed' ? authCodes.signed : row.auth === 'none' ? [] : authCodes.anonymous
  const names = [...new Set([...row.codes, ...commonCodes, ...byAuth])].sort() as (keyof typeof codes)[]
  const statuses = new Map<number, (keyof typeof codes)[]>()
  for (const name of names)
    statuses.set(codes[name].status, [...(statuses.get(codes[name].status) ?? []), name])
  return Object.fromEntries(
    [...statuses].map(([status, reasons]) => [
      String(status),
      {
        description: reasons.join(', '),
        headers: refusalHeaders(reasons),
        content: {
          ...(status === 404 && isPageOfOne(row) && { 'text/html': { schema: { type: 'string' } } }),
          'application/json': {
            schema: {
              $ref: '#/components/schemas/Refusal',
              properties: { reason: { enum: reasons }, ...membersOf(reasons, row) },
            },
          },
        },
      },
    ]),
  )
}

/** A page about something says to people what is not there. */
const isPageOfOne = ({ produces, path }: RouteRow): boolean => produces === 'html' && path.includes('{')

function wireParameter(row: RouteRow) {
  const required = row.method === 'POST' || row.path.startsWith('/relay/')
  return [{ name: headers.wire, in: 'header', required, schema: { const: String(WIRE) } }]
}

function pathParameters(path: string) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(row: RouteRow) {
  if (row.query === undefined) return []
  const { properties = {}, required = [] } = schemaOf(row.query)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

function refusalSchema(): Schema {
  return {
    type: 'object',
    required: ['reason', 'error'],
    properties: {
      reason: { type: 'string', enum: Object.keys(codes) },
      error: { type: 'string', description: 'what happened; after the semicolon, what to do next' },
    },
    additionalProperties: true,
  }
}
