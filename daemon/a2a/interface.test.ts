/** The A2A interface as the settings say: on, off, elsewhere, and with a new token. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { A2aWorld } from '../testing/a2a.ts'
import { A2aInterface } from './interface.ts'
import { A2aSettings } from './settings.ts'
import { Works } from './works.ts'

let world: A2aWorld
const modules = { list: () => [], serves: () => false, find: () => undefined, startsOf: () => undefined }
const works = (settings: A2aSettings) => ({
  settings,
  modules: { ...modules, priceOf: () => undefined },
  operations: {} as never,
  isPaidHere: true,
})
let settings: A2aSettings
let a2a: A2aInterface
beforeEach(async () => {
  world = new A2aWorld()
  const { alice } = await world.paid()
  const { ctx } = alice.node
  settings = new A2aSettings(ctx.dir, ctx.settings, ctx.random)
  a2a = new A2aInterface(settings, ctx, async () => new Works(ctx, works(settings)))
  Object.assign(world, { alice })
})
afterEach(async () => {
  await a2a[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

type Settings = { enabled?: boolean; addr?: string; hosts?: string[] }
const set = ({ enabled = true, addr = '127.0.0.1:0', ...more }: Settings = {}) =>
  world.alice.node.ctx.settings.change({ a2a: { enabled, addr, ...more } })
const answers = async (url = '') => (await fetch(`${url}/.well-known/agent-card.json`)).status

test('it is closed until it is turned on, and again once it is turned off', async () => {
  await a2a.start()
  expect([a2a.bound, a2a.url, a2a.warning, settings.secrets]).toEqual([undefined, undefined, undefined, []])
  set()
  await a2a.apply()
  const { url } = a2a
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(await answers(url)).toBe(200)
  set({ enabled: false })
  await a2a.apply()
  expect(a2a.bound).toBeUndefined()
  await expect(answers(url)).rejects.toThrow()
})

test('it stays where it is while its settings do, and moves with them', async () => {
  set()
  await a2a.start()
  const { bound } = a2a
  await a2a.apply()
  expect(a2a.bound).toBe(bound)
  set({ hosts: ['agents.test'] })
  await a2a.apply()
  expect(a2a.bound).not.toBe(bound)
})

test('beyond this machine it warns, and is called by an address that can be called', async () => {
  set({ addr: '0.0.0.0:0' })
  await a2a.start()
  expect(a2a.warning).toMatch(/^the A2A interface listens on 0.0.0.0: anyone who can reach it/)
  expect(a2a.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  set({ enabled: false, addr: '0.0.0.0:0' })
  await a2a.apply()
  expect(a2a.warning).toBeUndefined()
})

test('on a port that another program has it is off, says so, and moves only where it may', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    const { port } = other.address() as AddressInfo
    set({ addr: `127.0.0.1:${port}` })
    await a2a.start()
    expect([a2a.bound, a2a.warning]).toEqual([
      undefined,
      expect.stringContaining('that is in use by another program'),
    ])
    await expect(a2a.apply()).rejects.toThrow(/cannot listen on/)
    await a2a.apply(true)
    expect([a2a.warning, a2a.bound]).toEqual([undefined, expect.not.stringContaining(`:${port}`)])
  } finally {
    other.close()
  }
})

test('an address that is none of this machine is no port that is in use', async () => {
  set({ addr: '203.0.113.1:1' })
  await a2a.start()
  expect(a2a.warning).toMatch(/; choose another address: svc a2a on --addr <address>$/)
  expect(a2a.warning).not.toMatch(/in use/)
})

test('the token is the same until it is renewed, which takes the addresses of pushes away', async () => {
  set()
  await a2a.start()
  const first = a2a.token(false)
  expect(a2a.token(false)).toEqual(first)
  expect(readFileSync(first.file, 'utf8').trim()).toBe(first.token)
  expect(settings.secrets).toEqual([first.token])
  const second = a2a.token(true)
  expect(second).toEqual({ token: expect.not.stringMatching(first.token), file: first.file })
  const headers = (token: string) => ({ headers: { Authorization: `Bearer ${token}`, 'A2A-Version': '1.0' } })
  const { url } = a2a
  expect((await fetch(`${url}/tasks`, headers(first.token))).status).toBe(401)
  expect((await fetch(`${url}/tasks`, headers(second.token))).status).toBe(200)
  expect(existsSync(first.file)).toBe(true)
})
