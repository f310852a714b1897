/** The listener of the operator's surface: what it says of a weak token and of where it is, and what a start needs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestTimers } from '../protocol/testing/timers.ts'
import { adminFrom } from './admin-config.ts'
import { openAdminListening } from './admin-listening.ts'
import { type Config, readConfig, usualConfig } from './config.ts'
import { ConfigRefused } from './config-refused.ts'
import { startTestHub, type TestHub } from './testing/hub.ts'

const HOUR_MS = 3_600_000
const GOOD = 'a-token-that-nobody-else-has'
let hub: TestHub

beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
})
afterAll(() => hub.close())

/** Warnings of a listener over some hours. */
async function warnings(host: string, token: string, hours: number): Promise<string[]> {
  const timers = new TestTimers()
  const { hub: whole } = hub.running
  const told: string[] = []
  const listening = await openAdminListening(
    { listen: { host, port: 0 }, base: '/admin' },
    { tokens: { admin: token, monitor: token }, page: () => undefined },
    {
      hub: { ...whole, context: { ...whole.context, timers } },
      log: { info: () => undefined, error: () => undefined, warn: event => void told.push(event) },
    },
  )
  await timers.pass(hours * HOUR_MS)
  const closing = listening.close()
  await timers.pass(HOUR_MS)
  await closing
  return told
}

describe('the listener warns', () => {
  test('at the start and every hour of a token that was published, until it is closed', async () => {
    const told = await warnings('127.0.0.1', 'changeme', 3)
    expect(told).toHaveLength(4)
    expect(new Set(told).size).toBe(1)
    expect(told[0]).toContain('ADMIN_TOKEN is a value that was published')
    expect(told[0]).not.toContain('changeme')
  })

  test('of an address that other machines reach, and is silent about a good one', async () => {
    expect(await warnings('127.0.0.1', GOOD, 3)).toEqual([])
    expect(await warnings('0.0.0.0', GOOD, 3)).toEqual([expect.stringContaining('other machines')])
  })
})

describe('a start', () => {
  const at: Config = {
    ...usualConfig('x'),
    admin: { listen: { host: '127.0.0.1', port: 8078 }, base: '/admin' },
  }

  test.each([{}, { ADMIN_TOKEN: '' }, { ADMIN_MONITOR_TOKEN: GOOD }])(
    'without ADMIN_TOKEN is refused: %j',
    env => {
      expect(() => adminFrom(at, env)).toThrow(ConfigRefused)
      expect(() => adminFrom(at, env)).toThrow(/ADMIN_TOKEN is not set.*openssl rand/)
    },
  )

  test.each(['two words', 'tökén', 'x'.repeat(1025)])(
    'with a token that no header carries is refused',
    token => {
      expect(() => adminFrom(at, { ADMIN_TOKEN: token })).toThrow(/ADMIN_TOKEN has characters/)
      expect(() => adminFrom(at, { ADMIN_TOKEN: token })).not.toThrow(token)
    },
  )

  test('without the surface asks for no token; the monitor token is that of the operator unless it is set', () => {
    expect(adminFrom(usualConfig('x'), {})).toBeUndefined()
    expect(adminFrom(at, { ADMIN_TOKEN: GOOD })?.tokens).toEqual({ admin: GOOD, monitor: GOOD })
    const both = { ADMIN_TOKEN: GOOD, ADMIN_MONITOR_TOKEN: 'other' }
    expect(adminFrom(at, both)?.tokens).toEqual({ admin: GOOD, monitor: 'other' })
  })
})

describe('the configuration of the surface', () => {
  const read = (flags: object, env: Record<string, string> = {}) =>
    readConfig({ dataDir: '/nowhere', ...flags }, env).admin

  test('is off unless an address is given, and stands at /admin unless a base is', () => {
    expect(read({})).toBeUndefined()
    const listen = { host: '127.0.0.1', port: 8078 }
    expect(read({ adminListen: '127.0.0.1:8078' })).toEqual({ listen, base: '/admin' })
    const env = { SVC_HUB_ADMIN_LISTEN: '127.0.0.1:8078', SVC_HUB_ADMIN_BASE: '/ops/hub' }
    expect(read({}, env)).toEqual({ listen, base: '/ops/hub' })
  })

  test.each(['admin', '/', '/admin/', '//x', '/a b', '/..', '/{aid}', `/${'x'.repeat(200)}`])(
    'takes no base such as %s',
    adminBase => {
      expect(() => read({ adminListen: '127.0.0.1:8078', adminBase })).toThrow(/begins with a slash/)
    },
  )

  test('is refused where a base stands alone, or another listener has its address', () => {
    expect(() => read({ adminBase: '/ops' })).toThrow(/set admin_listen as well/)
    for (const other of ['listen', 'operatorListen'])
      expect(() => read({ adminListen: '127.0.0.1:8078', [other]: '127.0.0.1:8078' })).toThrow(
        /port of its own/,
      )
  })
})
