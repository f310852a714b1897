// project: programs

/** A node and its commands as they are built, started as a user starts them, where the environment names a proxy. */
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const asked: string[] = []
const proxy = createServer((request, response) => {
  asked.push(request.url ?? '')
  response.writeHead(403).end('no')
})
proxy.on('connect', ({ url = '' }, socket: Duplex) => {
  asked.push(url)
  socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
})

let world: World
let env: Record<string, string>
beforeAll(async () => {
  world = new World({ svc: join(root, 'dist', 'svc.js'), hub: '' })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const home = world.dir('home', 'proxied')
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const given = { SVC_HOME: home, SVC_RUNTIME_DIR: world.dir('home', 'run-proxied') }
  env = { ...world.env('alice'), ...given, HTTP_PROXY: address, HTTPS_PROXY: address }
})
afterAll(async () => {
  await svc('stop', '--all')
  await world[Symbol.asyncDispose]()
  proxy.close().closeAllConnections()
})

const svc = (...args: string[]) => world.run(world.programs.svc, args, env)

test('a running node reaches hubs by way of it alone, sealed or not', async () => {
  expect((await svc('up')).code).toBe(0)
  for (const [url, told] of [
    ['http://hub.test', 'http://hub.test/hub/identity'],
    ['https://hub.test', 'hub.test:443'],
  ] as const) {
    asked.length = 0
    expect((await svc('hub-register', url, '--name', 'x')).code).toBe(1)
    expect([...new Set(asked)]).toEqual([told])
  }
})

test('what is no address of a proxy is named before anything starts', async () => {
  await svc('stop', '--all')
  for (const value of ['nonsense', 'http://proxy:99999', 'proxy.example:8080']) {
    const { code, stderr } = await world.run(world.programs.svc, ['up'], { ...env, HTTPS_PROXY: value })
    expect(code).toBe(1)
    expect(stderr).toContain('HTTPS_PROXY of the environment is no address of a proxy; write it as http://')
    expect(stderr).not.toContain(value)
  }
})
