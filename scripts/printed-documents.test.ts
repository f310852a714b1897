import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { environment } from '../cli/environment.ts'
import { commands } from '../cli/table.ts'
import type { RouteRow } from '../protocol/contract/route.ts'
import { blobText } from '../protocol/contract/shapes.ts'
import { type CodeRow, codes } from '../protocol/wire3/codes.ts'
import { headers } from '../protocol/wire3/headers.ts'
import { wire3Routes } from '../protocol/wire3/routes.ts'
import { membersOf, schemaOf } from './members.ts'
import { openapiDocument } from './openapi.ts'
import { printedDocuments } from './printed-documents.ts'

test.each(Object.entries(printedDocuments()))(
  '%s is what the tables say (npm run -s docs writes it)',
  (name, text) => {
    expect(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')).toBe(text)
  },
)

const hasGroff = spawnSync('groff', ['--version']).status === 0

describe('the manual page', () => {
  const file = new URL('../man/svc.1', import.meta.url).pathname

  test('holds every command and flag, and every variable that the program reads', () => {
    const page = readFileSync(file, 'utf8').replaceAll('\\-', '-')
    for (const row of commands) {
      expect(page).toContain(`.SS svc ${row.path}`)
      for (const flag of row.flags ?? []) expect(page).toContain(flag.name)
    }
    const read = ['cli', 'daemon', 'autoreply', 'mcp'].flatMap(variablesIn)
    const told = environment.map(({ name }) => name)
    // faults are for tests of ours alone
    expect([...new Set(read)].filter(name => name !== 'SVC_FAULT' && !told.includes(name))).toEqual([])
  })

  test.runIf(hasGroff)('is without a fault to the formatter', () => {
    const args = ['-man', '-ww', '-z', '-Tutf8', file]
    expect(spawnSync('groff', args, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  })

  test('belongs to the package', () => {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    expect(manifest).toMatchObject({ man: ['./man/svc.1'], files: expect.arrayContaining(['man']) })
  })
})

function variablesIn(folder: string): string[] {
  const root = new URL(`../${folder}/`, import.meta.url).pathname
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .flatMap(path => readFileSync(`${root}${path}`, 'utf8').match(/(?<=env\[')SVC_[A-Z_]+/g) ?? [])
}

test('members are printed with their path, type and whether they may be absent', () => {
  const shape = z.strictObject({
    items: z.array(z.strictObject({ rid: blobText(8), via: z.string().optional() })).max(3),
    state: z.enum(['a', 'b']).nullable(),
    more: z.strictObject({ 'a.b': z.boolean() }),
  })
  expect(membersOf(schemaOf(shape))).toEqual([
    { name: 'items', type: 'list of at most 3 objects', optional: false },
    { name: 'items[].rid', type: 'at most 8 bytes as base64url', optional: false },
    { name: 'items[].via', type: 'text', optional: true },
    { name: 'state', type: '`a` or `b` or null', optional: false },
    { name: 'more', type: 'object', optional: false },
    { name: 'more["a.b"]', type: 'boolean', optional: false },
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

  type Answered = {
    parameters: { name: string; in: string; required: boolean }[]
    responses: Record<
      string,
      {
        description: string
        headers: object
        content: Record<string, { schema: { properties?: Record<string, object> } }>
      }
    >
  }
  const operation = (row: RouteRow) => paths[row.path]?.[row.method.toLowerCase()] as unknown as Answered

  test('what may be held names what its answer says of that', () => {
    const { responses } = operation(wire3Routes.relayPoll)
    expect(Object.keys(responses['200']?.headers ?? {})).toEqual([
      'X-Svc-Wire',
      'Preference-Applied',
      'X-Svc-Other-Poll',
    ])
  })

  test.each(Object.entries<RouteRow>(wire3Routes))('%s names the headers that its caller sends', (_, row) => {
    const needed = operation(row).parameters.filter(one => one.in === 'header' && one.required)
    const names = needed.map(({ name }) => name).filter(name => name !== headers.wire)
    const signed = [headers.aid, headers.ts, headers.seq, headers.signature]
    const expected = row.auth === 'signed' ? signed : row.auth === 'credential' ? [headers.access] : []
    expect(names.filter(name => name !== 'Content-Length')).toEqual(expected)
  })

  test.each(Object.entries<RouteRow>(wire3Routes))('%s names what its refusals bring', (_, row) => {
    for (const { description, headers: answered, content } of Object.values(operation(row).responses).slice(
      1,
    )) {
      const properties = Object.keys(content['application/json']?.schema.properties ?? {})
      for (const code of description.split(', ') as (keyof typeof codes)[]) {
        expect(properties).toEqual(expect.arrayContaining([...codes[code].members]))
        const { retryAfter }: CodeRow = codes[code]
        if (retryAfter !== undefined) expect(Object.keys(answered)).toContain('Retry-After')
        if (code === 'ts_stale') expect(Object.keys(answered)).toContain(headers.floor)
      }
    }
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
