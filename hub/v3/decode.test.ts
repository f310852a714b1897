/** Generated from the route table: objects within a body are decoded as strictly (hub API §2.1); a version not declared (§9.3). */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import type { RouteRow } from '../../protocol/contract/route.ts'
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

describe('a body of many small things', () => {
  const filled = (row: RouteRow, member: string, item: string): Buffer => {
    const room = row.limits.bodyBytes - 16 - member.length
    const items = Array.from({ length: Math.floor(room / (item.length + 1)) }, () => item).join(',')
    return Buffer.from(`{"${member}":[${items}]}`)
  }
  const many = rows.filter(([, row]) => row.request !== undefined && row.limits.bodyBytes > 4096)

  test.each(many)('is refused by %s before it is looked at', async (name, row) => {
    const shape = row.request
    if (!(shape instanceof z.ZodObject)) throw new Error('no object')
    const parse = vi.spyOn(shape, 'safeParse')
    const [member = ''] = Object.keys(shape.shape)
    for (const item of ['0', '{}', '[]']) {
      const reply = await sendRow(name, agent, { body: filled(row, member, item) })
      expect([reply.status, reply.json['error']]).toEqual([400, expect.stringContaining('too many values')])
    }
    expect(parse).not.toHaveBeenCalled()
    parse.mockRestore()
  })

  test('is refused by the length of its list where that is the fault', async () => {
    const items = (count: number) => Buffer.from(JSON.stringify({ items: Array(count).fill(0) }))
    expectRefusal(await sendRow('relayAck', agent, { body: items(1001) }), 'bad_ack_item')
    expectRefusal(await sendRow('relayStatus', agent, { body: items(65) }), 'bad_status_query')
    const revoked = { cap_ids: Array(1001).fill('') }
    const reply = await sendRow('mailboxRevoke', agent, { body: Buffer.from(JSON.stringify(revoked)) })
    expectRefusal(reply, 'bad_request')
    expect(reply.json['error']).toContain('cap_ids: expected at most 1000 items')
  })
})

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
