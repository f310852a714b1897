/** The files of one folder over HTTP: what is served, what never is, and how little is held. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StaticFolder } from './static-folder.ts'

const MIB = 1024 * 1024
let base: string
let folder: string
let server: Server

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'svc-static-'))
  folder = join(base, 'site')
  mkdirSync(join(folder, 'host'), { recursive: true })
  mkdirSync(join(folder, '.git'))
  mkdirSync(join(base, 'secrets'))
  writeFileSync(join(base, 'secret.txt'), 'secret')
  writeFileSync(join(base, 'secrets/index.html'), 'secret')
  writeFileSync(join(folder, 'index.html'), 'front')
  writeFileSync(join(folder, 'host/index.html'), 'host')
  writeFileSync(join(folder, 'a b.md'), '# ä')
  writeFileSync(join(folder, 'empty.css'), '')
  writeFileSync(join(folder, 'picture.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  writeFileSync(join(folder, 'key.pem'), 'secret')
  writeFileSync(join(folder, 'noend'), 'secret')
  writeFileSync(join(folder, '.env.txt'), 'secret')
  writeFileSync(join(folder, '.git/index.html'), 'secret')
  symlinkSync(join(base, 'secret.txt'), join(folder, 'link.txt'))
  symlinkSync(join(base, 'secrets'), join(folder, 'linked'))
  execFileSync('mkfifo', [join(folder, 'pipe.txt')])
  const site = StaticFolder.open(folder)
  server = createServer((incoming, response) => {
    void site.send((incoming.url ?? '').slice(1), incoming, response).then(isSent => {
      if (!isSent) response.writeHead(404).end('unknown')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
  rmSync(base, { recursive: true })
})

const port = (): number => (server.address() as AddressInfo).port
const get = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${port()}/${path}`, init)

/** A path as it stands; `fetch` would tidy it first. */
async function getRaw(path: string): Promise<{ status: number | undefined; text: string }> {
  const asked = request({ host: '127.0.0.1', port: port(), path: `/${path}` }).end()
  const [response] = (await once(asked, 'response')) as [NodeJS.ReadableStream & { statusCode?: number }]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode, text }
}

test.each([
  ['', 'front', 'text/html; charset=utf-8'],
  ['index.html', 'front', 'text/html; charset=utf-8'],
  ['host/', 'host', 'text/html; charset=utf-8'],
  ['host%2Findex.html', 'host', 'text/html; charset=utf-8'],
  ['a%20b.md', '# ä', 'text/markdown; charset=utf-8'],
  ['empty.css', '', 'text/css; charset=utf-8'],
])('serves "%s" as its own type', async (path, text, type) => {
  const response = await get(path)
  expect([response.status, await response.text()]).toEqual([200, text])
  expect(response.headers.get('Content-Type')).toBe(type)
  expect(response.headers.get('Content-Length')).toBe(String(Buffer.byteLength(text)))
  expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff')
})

test.each([
  '../secret.txt',
  '..%2fsecret.txt',
  '%2e%2e/secret.txt',
  'host/../../secret.txt',
  'host/..%2f..%2fsecret.txt',
  '..%5csecret.txt',
  '....//secret.txt',
  '/etc/passwd',
  '%2fetc%2fpasswd',
  'index.html%00.txt',
  'index.html/',
  'index.html/.',
  './index.html',
  'host',
  'host//index.html',
  'INDEX.HTML',
  '%',
  '%c0%ae%c0%ae/secret.txt',
  '%252e%252e/secret.txt',
  '.env.txt',
  '.git/',
  '.git/index.html',
  'link.txt',
  'linked/',
  'linked/index.html',
  'pipe.txt',
  'key.pem',
  'noend',
  '__proto__',
  'constructor',
  `${'a/'.repeat(2000)}x.html`,
])('serves nothing for "%s"', async path => {
  expect(await getRaw(path)).toEqual({ status: 404, text: 'unknown' })
})

test('pages run no inline script and ask nobody else; a picture that is opened alone draws and no more', async () => {
  const policy = async (path: string) => (await get(path)).headers.get('Content-Security-Policy')
  expect(await policy('')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  expect(await policy('picture.svg')).toMatch(/^default-src 'none'; .*sandbox$/)
})

test('a client that has this version gets 304, and the new one after a change', async () => {
  const path = join(folder, 'changing.txt')
  writeFileSync(path, 'one')
  const site = StaticFolder.open(folder)
  const own = createServer((incoming, response) => void site.send('changing.txt', incoming, response))
  own.listen(0, '127.0.0.1')
  await once(own, 'listening')
  const ask = (etag?: string) =>
    fetch(`http://127.0.0.1:${(own.address() as AddressInfo).port}`, {
      headers: etag === undefined ? {} : { 'If-None-Match': etag },
    })
  const first = await ask()
  const etag = first.headers.get('ETag') ?? ''
  await first.text()
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
    expect([known, (await ask(known)).status]).toEqual([known, 304])
  expect((await ask('"other"')).status).toBe(200)
  writeFileSync(path, 'two and more')
  expect(await (await ask(etag)).text()).toBe('two and more')
  own.close()
  own.closeAllConnections()
})

test('HEAD has the headers of GET and no body', async () => {
  const response = await get('index.html', { method: 'HEAD' })
  expect([response.status, response.headers.get('Content-Length'), await response.text()]).toEqual([
    200,
    '5',
    '',
  ])
})

test('a link that takes the place of a file, or of a folder on the way, is not followed', async () => {
  const own = join(base, 'own')
  mkdirSync(join(own, 'in'), { recursive: true })
  writeFileSync(join(own, 'a.txt'), 'a')
  writeFileSync(join(own, 'in/index.html'), 'b')
  const site = StaticFolder.open(own)
  rmSync(join(own, 'a.txt'))
  symlinkSync(join(base, 'secret.txt'), join(own, 'a.txt'))
  renameSync(join(own, 'in'), join(own, 'was'))
  symlinkSync(join(base, 'secrets'), join(own, 'in'))
  const none = {} as Parameters<StaticFolder['send']>
  expect(await site.send('a.txt', none[1], none[2])).toBe(false)
  expect(await site.send('in/', none[1], none[2])).toBe(false)
})

test('a folder with more files than a site has is refused, and so is one that is none', () => {
  const many = join(base, 'many')
  mkdirSync(many)
  for (let i = 0; i <= 5000; i++) writeFileSync(join(many, `${i}.txt`), '')
  expect(() => StaticFolder.open(many)).toThrow('more than 5000 files')
  expect(() => StaticFolder.open(join(base, 'nothing'))).toThrow('ENOENT')
  expect(() => StaticFolder.open(join(base, 'secret.txt'))).toThrow('ENOTDIR')
})

test('a file that is too large is not served; of a large one that nobody takes, little is held', async () => {
  const own = join(base, 'large')
  mkdirSync(own)
  for (const [name, bytes] of [
    ['over.txt', 32 * MIB + 1],
    ['large.txt', 32 * MIB],
  ] as const) {
    writeFileSync(join(own, name), '')
    truncateSync(join(own, name), bytes)
  }
  const site = StaticFolder.open(own)
  let held = 0
  const slow = createServer((incoming, response) => {
    void site.send((incoming.url ?? '').slice(1), incoming, response).then(isSent => {
      if (!isSent) response.writeHead(404).end()
    })
    setTimeout(() => {
      held = response.writableLength
    }, 500)
  })
  slow.listen(0, '127.0.0.1')
  await once(slow, 'listening')
  const { port: at } = slow.address() as AddressInfo
  expect((await fetch(`http://127.0.0.1:${at}/over.txt`)).status).toBe(404)
  const socket = connect(at, '127.0.0.1')
  socket.pause()
  socket.write('GET /large.txt HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => held, { timeout: 5000 }).toBeGreaterThan(0)
  expect(held).toBeLessThan(MIB)
  socket.destroy()
  slow.close()
  slow.closeAllConnections()
})
