import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { bindServer, isLocal } from '../bind.ts'
import { defaultLimits } from '../core/limits.ts'
import { grantOrder } from './commands.ts'
import { announcement } from './serving.ts'

const local = { host: '127.0.0.1', port: 8088 }
const config = {
  wires: [3] as const,
  listen: local,
  baseUrl: undefined,
  dataDir: '/data',
  limits: defaultLimits,
}
const url = 'http://127.0.0.1:8088'
const running = {
  url,
  baseUrl: url,
  aid: 'AID',
  created: false,
  admission: 'closed' as const,
  operatorUrl: undefined,
}

test('a start names address, identity and data; a first one names the next command', () => {
  const lines = announcement(config, running)
  expect(lines.slice(1)).toEqual(['hub AID AID', 'data in /data'])
  expect(lines[0]).toMatch(/serves wire 3 at http:\/\/127\.0\.0\.1:8088$/)
  expect(announcement(config, { ...running, created: true }).at(-1)).toMatch(
    /: svc-hub admit <AID> --data-dir \/data$/,
  )
  const usual = { ...config, dataDir: resolve('svc-hub-data') }
  expect(announcement(usual, { ...running, created: true }).at(-1)).toMatch(/: svc-hub admit <AID>$/)
  const named = announcement(config, { ...running, baseUrl: 'https://hub.example' })
  expect(named[0]).toMatch(/as https:\/\/hub\.example$/)
})

test('a start says where guests write to agents, if they may', () => {
  const wire1 = { url: 'http://127.0.0.1:8087', baseUrl: 'https://old.example' }
  const told = (guests: boolean, more: object = {}) =>
    announcement({ ...config, guests }, { ...running, ...more }).filter(line => line.includes('guests'))
  expect(told(false, { wire1 })).toEqual([])
  expect(told(true)).toEqual(['guests write to agents at http://127.0.0.1:8088/guest'])
  expect(told(true, { wire1 })).toEqual(['guests write to agents at https://old.example/guest'])
})

test('a start says where wire 1 is, and that nothing is sealed there', () => {
  const wire1 = { url: 'http://127.0.0.1:8087', baseUrl: 'https://old.example' }
  const both = announcement(config, { ...running, wire1 })
  expect(both[1]).toBe('wire 1 at http://127.0.0.1:8087 as https://old.example')
  const warning = /^wire 1 seals nothing: this hub can read the mail/
  expect(both.at(-1)).toMatch(warning)
  expect(announcement({ ...config, wires: [1] }, running).at(-1)).toMatch(warning)
  expect(announcement(config, running).some(line => warning.test(line))).toBe(false)
})

test('a start says where the page of the operator is', () => {
  const adminUrl = 'http://127.0.0.1:8078/admin'
  expect(announcement(config, { ...running, adminUrl })).toContain(`page of the operator at ${adminUrl}`)
})

test('a new hub that was asked to be open says so, and an older one that it stays as it is', () => {
  const open = { ...running, created: true, admission: 'open' as const }
  expect(announcement(config, open, 'open').at(-1)).toBe(
    'admission is open: everybody who reaches this address can register; end that with: svc-hub admission closed --data-dir /data',
  )
  expect(announcement(config, running, 'open').at(-1)).toBe(
    'admission stays closed, since --admission is for a new hub; change it with: svc-hub admission open --data-dir /data',
  )
  expect(announcement(config, running, 'closed').length).toBe(3)
})

test('a start on an address that others reach warns that TLS must stand in front', () => {
  const open = { host: '0.0.0.0', port: 8088 }
  expect(announcement({ ...config, listen: open }, running).at(-1)).toMatch(/put TLS in front/)
  expect(announcement({ ...config, operatorListen: open }, running).at(-1)).toMatch(/set operator_listen/)
  expect(['127.0.0.1', '127.1.2.3', '::1', 'localhost'].filter(isLocal).length).toBe(4)
  expect(['0.0.0.0', '::', '192.0.2.1', 'localhost.example', '1127.0.0.1'].filter(isLocal)).toEqual([])
})

test('an address that is in use, or is not of this machine, is refused with what to do', async () => {
  const first = createServer()
  const { port } = new URL(await bindServer(first, { host: '127.0.0.1', port: 0 }))
  const again = bindServer(createServer(), { host: '127.0.0.1', port: Number(port) })
  await expect(again).rejects.toThrow(
    `127.0.0.1:${port} is in use; stop the program that listens there, or choose another port`,
  )
  const foreign = bindServer(createServer(), { host: '192.0.2.1', port: 0 })
  await expect(foreign).rejects.toThrow(/is not an address of this machine; choose/)
  first.close()
})

test('a grant is repeated by hand under the id that the first one printed', () => {
  const id = 'ab'.repeat(16)
  const given = { command: 'grant', aid: 'A', amount: 5, reason: 'x' }
  expect(grantOrder('A', '5', { reason: 'x', id })).toEqual({ ...given, id, repeat: true })
  expect(grantOrder('A', '5', { reason: 'x' })).toEqual({
    ...given,
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect(() => grantOrder('A', '5', { reason: 'x', id: id.toUpperCase() })).toThrow(/--id expects/)
})
