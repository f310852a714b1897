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
    parameters: [...wireParameter(row), ...pathParameters(row.path), ...queryParameters(row)],
    ...present({ requestBody: body }),
    responses: { 200: answer(row), ...refusals(row) },
  }
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
  const type = row.produces === undefined ? 'application/json' : types[row.produces]
  const schema = row.reply === undefined ? { type: 'string' } : schemaOf(row.reply)
  return { description: 'The answer.', content: { [type]: { schema } } }
}

/** One entry for each status, naming the codes that it stands for. */
function refusals(row: RouteRow) {
  const byAuth = row.auth === 'signed' ? authCodes.signed : row.auth === 'none' ? [] : authCodes.anonymous
  const names = [...new Set([...row.codes, ...commonCodes, ...byAuth])].sort() as (keyof typeof codes)[]
  const statuses = new Map<number, string[]>()
  for (const name of names)
    statuses.set(codes[name].status, [...(statuses.get(codes[name].status) ?? []), name])
  return Object.fromEntries(
    [...statuses].map(([status, reasons]) => [
      String(status),
      {
        description: reasons.join(', '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } },
      },
    ]),
  )
}

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
