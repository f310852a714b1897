/** Who the operator's surface lets in, what it costs to be wrong, and what else stands on its listener: nothing. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RouteRow } from '../../../protocol/contract/route.ts'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { adminRoutes } from '../../../protocol/wire1/routes/admin.ts'
import {
  ADMIN_TOKEN,
  type AdminHub,
  expectAdminReply,
  MONITOR_TOKEN,
  startAdminHub,
} from '../../testing/admin.ts'
import { AdminGuard, weaknessOf } from './guard.ts'

const MINUTE_MS = 60_000
const MIB = 1024 * 1024
const FAILURES = 20
let world: AdminHub
let address = 0

beforeAll(async () => {
  world = await startAdminHub()
})
afterAll(() => world.hub.close())

const rows = Object.entries(adminRoutes).map(([name, row]) => [name, row as RouteRow] as const)
const bearers = rows.filter(([, { auth }]) => auth === 'bearer')
const pathOf = ({ path }: RouteRow): string =>
  path
    .replace(/\{(?:aid|id)\}/, world.hub.aid)
    .replace(/\{what\}/, 'mail')
    .replace(/\{\w+\}/g, 'guest')

describe('without the token', () => {
  test('health answers with version, commit and build time', async () => {
    const answer = await world.ask('GET', '/admin/healthz', { token: undefined })
    expectAdminReply('adminHealthz', answer)
    expect(answer.headers.get('X-Svc-Wire')).toBe('1')
    expect(answer.headers.get('Set-Cookie')).toBeNull()
  })

  test.each(bearers)('%s answers 401', async (_, row) => {
    address += 1
    const fresh = { headers: { 'X-Forwarded-For': `192.0.2.${address}` } }
    for (const token of [undefined, 'wrong']) {
      const { status, json } = await world.ask(row.method, pathOf(row), { token, ...fresh })
      expect([row.path, status]).toEqual([row.path, 401])
      expect(Object.keys(json)).toEqual(['error'])
    }
  })

  test('a body is not waited for', async () => {
    const { hostname, port } = new URL(world.origin)
    const socket = connect(Number(port), hostname)
    socket.write(`POST /admin/api/official HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 1000\r\n\r\n`)
    const first = await new Promise<string>(resolve => socket.once('data', chunk => resolve(String(chunk))))
    expect(first).toMatch(/^HTTP\/1.1 401 /)
    socket.destroy()
  })
})

describe('with the token', () => {
  test('a login is answered once, and a wrong one refused', async () => {
    const login = (token: unknown) =>
      world.ask('POST', '/admin/api/login', { token: undefined, body: { token } })
    const good = await login(ADMIN_TOKEN)
    expectAdminReply('adminLogin', good)
    expect(good.json).toEqual({ status: 'ok', hub: world.hub.aid })
    expect((await login('wrong')).status).toBe(401)
    expect((await login(MONITOR_TOKEN)).status).toBe(401)
    for (const malformed of ['', 7, 'x'.repeat(2000)]) expect((await login(malformed)).status).toBe(400)
  })

  test('the other token opens the figures of official agents, and nothing else', async () => {
    const agent = await world.client.registered()
    await world.ask('POST', '/admin/api/official', { body: { aid: agent.aid } })
    for (const token of [ADMIN_TOKEN, MONITOR_TOKEN]) {
      const answer = await world.ask('GET', `/admin/api/official/${agent.aid}/monitor/mail`, { token })
      expectAdminReply('adminMonitor', answer)
    }
    for (const path of ['overview', 'official', `official/${agent.aid}/insights`])
      expect([path, (await world.ask('GET', `/admin/api/${path}`, { token: MONITOR_TOKEN })).status]).toEqual(
        [path, 401],
      )
  })

  test('a body has 1 MiB at most', async () => {
    const of = (bytes: number) =>
      world.ask('POST', '/admin/api/login', {
        token: undefined,
        body: { token: 'x', more: 'y'.repeat(bytes) },
      })
    expect((await of(MIB + 1)).json['error']).toContain(`larger than ${MIB} bytes`)
    expect((await of(MIB - 100)).status).toBe(401)
  })

  test('a newer version of the wire is refused with ours, a lower one or none is not', async () => {
    const of = (version: string) =>
      world.ask('GET', '/admin/api/overview', { headers: { 'X-Svc-Wire': version } })
    expect((await of('2')).json['error']).toContain('wire 1')
    expect((await of('2')).status).toBe(400)
    for (const version of ['0', '1']) expect((await of(version)).status).toBe(200)
  })
})

describe('the listener serves nothing else', () => {
  test.each([
    ['GET', '/'],
    ['GET', '/agents'],
    ['GET', '/healthz'],
    ['POST', '/register'],
    ['GET', '/metrics'],
    ['GET', '/adminx'],
    ['GET', '/admin/api'],
    ['OPTIONS', '/admin/api/overview'],
    ['PUT', '/admin/api/overview'],
    ['DELETE', '/admin/api/overview'],
  ])('%s %s is 404', async (method, path) => {
    expect((await world.ask(method, path)).status).toBe(404)
  })

  test('and the public one nothing of it', async () => {
    for (const path of ['/admin', '/admin/', '/admin/healthz', '/admin/api/overview'])
      expect([path, (await fetch(`${world.hub.url}${path}`)).status]).toEqual([path, 404])
  })

  test('no page of another origin may ask, nor one whose name was made to lead here', async () => {
    const { headers } = await world.ask('GET', '/admin/api/overview', {
      headers: { Origin: 'https://a.example' },
    })
    expect([...headers.keys()].filter(name => name.startsWith('access-control-'))).toEqual([])
    expect(headers.get('Cross-Origin-Resource-Policy')).toBe('same-origin')
    const { hostname, port } = new URL(world.origin)
    const answer = await new Promise<string>(resolve => {
      const socket = connect(Number(port), hostname)
      socket.once('data', chunk => resolve(String(chunk)))
      socket.end('GET /admin/healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
    })
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
  })

  test('another base moves all of it', async () => {
    const moved = await startAdminHub({
      admin: {
        tokens: { admin: ADMIN_TOKEN, monitor: MONITOR_TOKEN },
        base: '/ops/hub',
        page: () => '<p>page',
      },
    })
    expect(moved.hub.running.adminUrl).toBe(`${moved.origin}/ops/hub`)
    for (const [path, status] of [
      ['/ops/hub', 200],
      ['/ops/hub/', 200],
      ['/ops/hub?from=a&from=b', 200],
      ['/ops/hub/healthz', 200],
      ['/ops/hub/api/overview', 200],
      ['/admin', 404],
      ['/admin/api/overview', 404],
    ] as const)
      expect([path, (await moved.ask('GET', path)).status]).toEqual([path, status])
    await moved.hub.close()
  })
})

describe('whoever guesses', () => {
  test('gets 429 after 20 failures of its address, also with the right token, and no other address does', async () => {
    const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
    const ask = (token: string | undefined, address: string) =>
      world.ask('GET', '/admin/api/overview', { token, ...from(address) })
    for (let n = 0; n < 3 * FAILURES; n++) expect((await ask(undefined, '198.51.100.1')).status).toBe(401)
    const codes = []
    for (let n = 0; n < FAILURES; n++) codes.push((await ask('wrong', '198.51.100.1')).status)
    expect(new Set(codes)).toEqual(new Set([401]))
    for (const token of ['wrong', ADMIN_TOKEN]) {
      const { status, headers } = await ask(token, '198.51.100.1')
      expect(status).toBe(429)
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0)
    }
    const login = { token: undefined, body: { token: ADMIN_TOKEN }, ...from('198.51.100.1') }
    expect((await world.ask('POST', '/admin/api/login', login)).status).toBe(429)
    expect((await ask(undefined, '198.51.100.1')).status).toBe(401)
    expect((await ask(ADMIN_TOKEN, '198.51.100.2')).status).toBe(200)
  })

  test('has room again a minute after each failure', async () => {
    const timers = new TestTimers(0)
    const guard = new AdminGuard({ admin: 'a'.repeat(20), monitor: 'b'.repeat(20) }, () => timers.monotonic())
    const tried = () => {
      try {
        guard.checkToken('wrong', '192.0.2.1')
        return 'in'
      } catch (error) {
        return (error as { code: string }).code
      }
    }
    for (let n = 0; n < FAILURES; n++) {
      expect(tried()).toBe('unauthorized')
      await timers.pass(1000)
    }
    expect(tried()).toBe('rateLimited')
    await timers.pass(MINUTE_MS - FAILURES * 1000 - 1)
    expect(tried()).toBe('rateLimited')
    await timers.pass(1)
    expect(tried()).toBe('unauthorized')
    expect(tried()).toBe('rateLimited')
  })
})

describe('a token that was published', () => {
  test.each([
    ['changeme', 'published'],
    ['Admin', 'published'],
    ['short', 'fewer than 16'],
    [ADMIN_TOKEN, undefined],
  ])('%s: %s', (token, why) => {
    if (why === undefined) expect(weaknessOf(token)).toBeUndefined()
    else expect(weaknessOf(token)).toContain(why)
  })

  test('is told at the start and every hour, and opens all the same', async () => {
    const weak = await startAdminHub({ admin: { tokens: { admin: 'changeme', monitor: 'changeme' } } })
    const told = weak.hub.alerts.filter(({ event }) => event.includes('ADMIN_TOKEN'))
    expect(told).toHaveLength(1)
    const { status, json } = await weak.ask('GET', '/admin/api/overview', { token: 'changeme' })
    expect([status, json['token_published']]).toEqual([200, true])
    await weak.hub.close()
  })
})
