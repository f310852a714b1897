/** Generated from the route table: objects within a body are decoded as strictly (hub API §2.1); a version not declared (§9.3). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { headers } from '../../protocol/wire3/headers.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import { registeredAgent, request, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { pathOf, rows, sampleBody, sendRow } from '../testing/routes.ts'

let hub: TestHub
let agent: TestAgent
beforeAll(async () => {
  hub = await startTestHub()
  agent = await registeredAgent(hub)
})
afterAll(() => hub.close())

type Nested = { name: Wire3RouteName; member: string; list: boolean; shape: z.ZodObject }

/** The object that a member is, or is a list of. */
function objectIn(shape: z.ZodType): { list: boolean; shape: z.ZodObject } | undefined {
  if (shape instanceof z.ZodOptional) return objectIn(shape.unwrap() as z.ZodType)
  if (shape instanceof z.ZodArray) {
    const inner = objectIn(shape.element as z.ZodType)
    return inner && { ...inner, list: true }
  }
  return shape instanceof z.ZodObject ? { list: false, shape } : undefined
}

const nested = rows.flatMap(([name, row]): Nested[] => {
  if (!(row.request instanceof z.ZodObject)) return []
  return Object.entries(row.request.shape).flatMap(([member, shape]) => {
    const found = objectIn(shape as z.ZodType)
    return found === undefined ? [] : [{ name, member, ...found }]
  })
})

/** The sample body with changed text in place of one object within it. */
function bodyWith({ name, member, list }: Nested, change: (inner: Record<string, unknown>) => string) {
  const body = sampleBody(name, agent)
  const inner = (list ? (body[member] as unknown[])[0] : body[member]) as Record<string, unknown>
  const marked = JSON.stringify({ ...body, [member]: list ? ['@'] : '@' })
  return Buffer.from(marked.replace('"@"', () => change(inner)))
}

describe('objects within a body', () => {
  test('are found in the table', () => {
    expect(nested.map(({ name, member }) => `${name}.${member}`)).toEqual(
      expect.arrayContaining(['relayAck.items', 'relayStatus.items', 'register.pow']),
    )
  })

  test.each(nested)('$name refuses an unknown member in $member', async one => {
    const body = bodyWith(one, inner => JSON.stringify({ ...inner, unknown: 1 }))
    expectRefusal(await sendRow(one.name, agent, { body }), 'bad_request')
  })

  test.each(nested)('$name refuses each member in $member that stands twice', async one => {
    for (const key of Object.keys(one.shape.shape)) {
      const body = bodyWith(one, inner => {
        const { [key]: value = 'x', ...rest } = inner
        const pair = `${JSON.stringify(key)}:${JSON.stringify(value)}`
        return `{${[pair, pair].join(',')}${JSON.stringify({ ...rest, last: 1 }).replace('{', ',')}`
      })
      const reply = await sendRow(one.name, agent, { body })
      expectRefusal(reply, 'bad_request')
      expect(reply.json['error']).toMatch(/twice|duplicate/i)
    }
  })

  test.each(nested)('$name refuses the wrong type of each member in $member, and of itself', async one => {
    for (const [key, shape] of Object.entries(one.shape.shape))
      for (const wrong of [{ wrong: true }, null, [[]], 1.5].filter(
        value => !(shape as z.ZodType).safeParse(value).success,
      )) {
        const body = bodyWith(one, inner => JSON.stringify({ ...inner, [key]: wrong }))
        expectRefusal(await sendRow(one.name, agent, { body }), 'bad_request')
      }
    for (const wrong of ['1', 'null', '"text"', '[]']) {
      const body = bodyWith(one, () => wrong)
      expectRefusal(await sendRow(one.name, agent, { body }), 'bad_request')
    }
  })
})

describe('a version that is not declared', () => {
  const undeclared = async (path: string, method: string) => {
    const response = await fetch(hub.url + path, { method })
    return [response.status, response.headers.get(headers.wire)]
  }

  test.each(rows)('%s is refused without it, unless browsers read it', async (_, row) => {
    const path = pathOf(row, agent)
    const [status, wire] = await undeclared(path, row.method)
    const read = row.method === 'GET' && !path.startsWith('/relay/') && !path.startsWith('/fed/')
    expect([status === 426, wire]).toEqual([!read, '3'])
  })

  test.each([
    ['/relay/poll', 'GET', 426],
    ['/relay/none', 'GET', 426],
    ['/fed/v3/cards', 'GET', 426],
    ['/none', 'POST', 426],
    ['/none', 'GET', 404],
  ])('%s with %s is judged before the route is looked for', async (path, method, status) => {
    expect(await undeclared(path, method)).toEqual([status, '3'])
    const newer = await request(hub.url + path, method, { headers: { [headers.wire]: '4' } })
    expectRefusal(newer, 'wire_too_new')
  })
})
