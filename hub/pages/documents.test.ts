/** The documents beside the wire of a hub: where they are, who may ask, and what refuses the start. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { openSite } from './documents.ts'

let folder: string
let hub: TestHub

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-documents-'))
  mkdirSync(join(folder, 'host'))
  for (const name of ['index.html', 'llms.txt', 'search-parts.js', 'host/index.html'])
    writeFileSync(join(folder, name), name)
  hub = await startTestHub({ docs: folder, limits: { requestRate: { perSecond: 1000, burst: 1000 } } })
})
afterAll(async () => {
  await hub.close()
  rmSync(folder, { recursive: true })
})

const get = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${hub.url}${path}`, { redirect: 'manual', ...init })

test('the documents are under /docs/, whatever is asked behind the path', async () => {
  expect(await (await get('/docs/')).text()).toBe('index.html')
  expect(await (await get('/docs/host/?utm_source=x')).text()).toBe('host/index.html')
  const bare = await get('/docs')
  expect([bare.status, bare.headers.get('Location')]).toEqual([308, '/docs/'])
})

test('the wire goes on beside them: its own paths, and its own words for unknown ones', async () => {
  expect((await get('/healthz')).status).toBe(200)
  expect((await get('/docsx')).headers.get('X-Svc-Wire')).toBe('3')
  expect(await (await get('/docsx')).json()).toMatchObject({ reason: 'not_found' })
})

test('a page that is not there is refused in words, which are text', async () => {
  const response = await get('/docs/<script>')
  expect([response.status, response.headers.get('Content-Type')]).toEqual([404, 'text/plain; charset=utf-8'])
  expect(await response.text()).toBe('there is no such page; /docs/ has all of them\n')
})

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])(
  '%s is refused, naming what is allowed',
  async method => {
    const response = await get('/docs/', { method })
    expect([response.status, response.headers.get('Allow')]).toEqual([405, 'GET, HEAD'])
  },
)

test('a name that is not of this hub is refused', async () => {
  const status = await new Promise(resolve => {
    request(`${hub.url}/docs/`, { headers: { Host: 'elsewhere.example' } }, response => {
      response.resume()
      resolve(response.statusCode)
    }).end()
  })
  expect(status).toBe(400)
})

test('an address that asks too often is told when to come back', async () => {
  const strict = await startTestHub({ docs: folder, limits: { requestRate: { perSecond: 1, burst: 2 } } })
  const ask = () => fetch(`${strict.url}/docs/`, { headers: { 'X-Forwarded-For': '203.0.113.7' } })
  const wrong = `${strict.url}/docs/nosuch`
  expect((await fetch(wrong, { headers: { 'X-Forwarded-For': '203.0.113.7' } })).status).toBe(404)
  expect((await ask()).status).toBe(200)
  const refused = await ask()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
  await strict.close()
})

test('the public page and the manual lead to the documents, where there are any', async () => {
  expect(await (await get('/')).text()).toContain('<a href="/docs/">documents</a>')
  expect(await (await get('/llms.txt')).text()).toContain(`${hub.url}/docs/llms.txt`)
  const without = await startTestHub()
  expect(await (await fetch(without.url)).text()).not.toContain('/docs/')
  expect(await (await fetch(`${without.url}/llms.txt`)).text()).not.toContain('/docs/')
  expect((await fetch(`${without.url}/docs/`)).status).toBe(404)
  await without.close()
})

test('a folder that is no site refuses the start and names the command that makes one', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'svc-no-site-'))
  const next = 'run npm run docs:site in the checkout, then name the folder that it made with --docs'
  expect(() => openSite(empty)).toThrow(`no site of the documents in ${empty}; ${next}`)
  expect(() => openSite(join(empty, 'gone'))).toThrow(next)
  await expect(startTestHub({ docs: empty })).rejects.toThrow(next)
  rmSync(empty, { recursive: true })
})
