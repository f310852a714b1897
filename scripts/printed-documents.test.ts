import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { RouteRow } from '../protocol/contract/route.ts'
import { blobText } from '../protocol/contract/shapes.ts'
import { wire3Routes } from '../protocol/wire3/routes.ts'
import { membersOf, schemaOf } from './members.ts'
import { openapiDocument } from './openapi.ts'
import { printedDocuments } from './printed-documents.ts'

test.each(Object.entries(printedDocuments()))(
  'docs/%s is what the tables say (npm run -s docs writes it)',
  (name, text) => {
    expect(readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8')).toBe(text)
  },
)

test('members are printed with their path, type and whether they may be absent', () => {
  const shape = z.strictObject({
    items: z.array(z.strictObject({ rid: blobText(8), via: z.string().optional() })).max(3),
    state: z.enum(['a', 'b']).nullable(),
  })
  expect(membersOf(schemaOf(shape))).toEqual([
    { name: 'items', type: 'list of at most 3 objects', optional: false },
    { name: 'items[].rid', type: 'at most 8 bytes as base64url', optional: false },
    { name: 'items[].via', type: 'text', optional: true },
    { name: 'state', type: '`a` or `b` or null', optional: false },
  ])
})

describe('the OpenAPI document', () => {
  const { paths } = openapiDocument()

  test.each(Object.entries<RouteRow>(wire3Routes))('%s stands in it with its codes', (name, row) => {
    const operation = paths[row.path]?.[row.method.toLowerCase()] as {
      operationId: string
      responses: Record<string, { description: string }>
    }
    expect(operation.operationId).toBe(name)
    const told = Object.values(operation.responses).flatMap(({ description }) => description.split(', '))
    for (const code of row.codes) expect(told).toContain(code)
  })

  test('no member is without a type but the card, which is free', () => {
    const open = Object.entries<RouteRow>(wire3Routes).flatMap(([name, row]) =>
      [row.request, row.reply, row.query]
        .filter(shape => shape !== undefined)
        .flatMap(shape => membersOf(schemaOf(shape)))
        .filter(member => member.type === 'any JSON value')
        .map(member => `${name} ${member.name}`),
    )
    expect(open).toEqual(['register a2a_card'])
  })
})
