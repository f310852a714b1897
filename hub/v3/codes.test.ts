/** Codes of refusals: every route and every code of its row, with exactly its status, members and headers (hub API §7). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { authCodes, type Code, type CodeRow, codes, commonCodes } from '../../protocol/wire3/codes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { casesOf, commonCases, signedCases } from '../testing/codes.ts'
import { type Case, startCodesHub, type World } from '../testing/codes-world.ts'
import { type Reply, registeredAgent, startTestHub } from '../testing/hub.ts'
import { rows } from '../testing/routes.ts'

const DAY_SECONDS = 86_400
const WAITS = [429, 502, 503, 507]

let world: World
beforeAll(async () => {
  world = await startCodesHub()
})
afterAll(() => world.hub.close())

/** Status, members, headers and sentence, no more and no fewer than the table says. */
function expectExactly(reply: Reply, code: Code, route?: Wire3RouteName): void {
  const row: CodeRow = codes[code]
  expect([reply.json['reason'], reply.status, reply.json['error']]).toEqual([
    code,
    row.status,
    expect.any(String),
  ])
  const refused = route === undefined ? undefined : (wire3Routes[route] as RouteRow).refused
  const beside = refused === undefined ? [] : [...Object.keys(refused.members), refused.reason]
  expect(Object.keys(reply.json).sort()).toEqual(['error', 'reason', ...row.members, ...beside].sort())
  if (refused !== undefined) expect(reply.json[refused.reason]).toBe(code)
  expect(reply.json['error']).toMatch(/^[^;]+; [^;]+$/)
  expect(reply.json['error']).not.toMatch(/undefined|null|\{|\}/)
  for (const member of row.members) expect(reply.json[member] ?? null).not.toBe(null)
  expect(reply.headers.get(headers.wire)).toBe('3')
  expect(reply.headers.get('Content-Type')).toBe('application/json')
  const seconds = reply.headers.get('Retry-After')
  if (WAITS.includes(row.status)) {
    expect(seconds).toMatch(/^[1-9][0-9]*$/)
    expect(Number(seconds)).toBeLessThanOrEqual(DAY_SECONDS)
  } else expect(seconds).toBe(null)
  const floor = code === 'ts_stale' ? String(reply.json['floor']) : null
  expect(reply.headers.get(headers.floor)).toBe(floor)
}

describe('a row names what its route answers, and nothing else', () => {
  test.each(rows)('%s has a case for each code of its row, and none besides', (name, row) => {
    expect(Object.keys(casesOf(name)).sort()).toEqual([...row.codes].sort())
  })

  const all = rows.flatMap(([name]) =>
    Object.entries(casesOf(name)).map(([code, ask]): [Wire3RouteName, Code, Case] => [
      name,
      code as Code,
      ask,
    ]),
  )
  test.each(all)('%s refuses with %s', async (name, code, ask) => {
    expectExactly(await ask(world), code, name)
  })
})

describe('every signed route', () => {
  const signed = rows.filter(([, row]) => row.auth === 'signed' && row.signedBy !== 'hub')
  const all = signed.flatMap(([name]) =>
    authCodes.signed.map((code): [Wire3RouteName, keyof typeof signedCases] => [name, code]),
  )
  test.each(all)('%s refuses with %s', async (name, code) => {
    expectExactly(await signedCases[code](name)(world), code)
  })
})

describe('common codes', () => {
  const common = [...new Set<Code>([...commonCodes, ...Object.values(authCodes).flat()])]
  test('have a case each, and no others are common', () => {
    expect(Object.keys(commonCases).sort()).toEqual([...common].sort())
  })

  test.each(Object.entries(commonCases))('%s is answered', async (code, ask) => {
    expectExactly(await ask(world), code as Code)
  })
})

test('every code is answered by a case', () => {
  const answered = new Set<string>(Object.keys(commonCases))
  for (const [name] of rows) for (const code of Object.keys(casesOf(name))) answered.add(code)
  expect(Object.keys(codes).filter(code => !answered.has(code))).toEqual([])
})

test('a refusal that waits has a time in the table, and no other has', () => {
  const wrong = Object.entries(codes).filter(
    ([, row]: [string, CodeRow]) => WAITS.includes(row.status) !== (row.retryAfter !== undefined),
  )
  expect(wrong).toEqual([])
})

test('rows name their own codes only, each once, and none of the common ones', () => {
  for (const [name, row] of Object.entries(wire3Routes) as [string, RouteRow][]) {
    const ofAuth: readonly string[] =
      row.auth in authCodes ? authCodes[row.auth as keyof typeof authCodes] : []
    const twice = row.codes.filter((code, i) => row.codes.indexOf(code) !== i)
    const shared = row.codes.filter(
      code => (commonCodes as readonly string[]).includes(code) || ofAuth.includes(code),
    )
    expect([name, twice, shared]).toEqual([name, [], []])
  }
})

test('a code that its row does not name fails the test that met it', async () => {
  const hub = await startTestHub()
  const row: { codes: readonly string[] } = wire3Routes.relayAck
  const named = row.codes
  row.codes = []
  try {
    const agent = await registeredAgent(hub)
    expectExactly(await agent.call('relayAck', { items: [] }), 'bad_ack_item')
  } finally {
    row.codes = named
  }
  await expect(hub.close()).rejects.toThrow('relayAck answered bad_ack_item')
})
