/** The edges of HTTP: what the parser refuses, methods, versions and content types (hub API §2, §7, §9). */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { defaultLimits } from '../core/limits.ts'
import { PublicServer } from '../http/server.ts'
import { registeredAgent, request, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { sealedUnderCapability, sendHeaders } from '../testing/mail.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { sendRow } from '../testing/routes.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'

let hub: TestHub
let agent: TestAgent
beforeAll(async () => {
  hub = await startTestHub()
  agent = await registeredAgent(hub)
})
afterAll(() => hub.close())

describe('what is no request of HTTP', () => {
  test.each([
    ['nonsense', 'nonsense\r\n\r\n', 400, 'bad_request'],
    [
      'two lengths',
      'POST /relay/poll HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
      'bad_request',
    ],
    ['a tunnel', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 400, 'bad_request'],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'bad_request'],
    [
      'a name that was made to lead here',
      'GET /healthz HTTP/1.1\r\nHost: rebound.example\r\n\r\n',
      400,
      'bad_request',
    ],
    ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n', 400, 'bad_request'],
    [
      'a head of 9 KiB',
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'a'.repeat(9 * 1024)}\r\n\r\n`,
      413,
      'too_large',
    ],
  ])('%s is refused in the form of every refusal', async (_, text, status, reason) => {
    const socket = await openSocket(hub.url)
    socket.write(text)
    const reply = await nextReply(socket)
    expect([reply?.status, reply?.json['reason']]).toEqual([status, reason])
    expect(reply?.json['error']).toMatch(/^[^;]+; [^;]+$/)
    expect(reply?.head).toMatch(/X-Svc-Wire: 3/i)
    expect(reply?.head).toMatch(/X-Content-Type-Options: nosniff/i)
    socket.destroy()
  })

  test('a head that is too large is told apart from a body', async () => {
    const socket = await openSocket(hub.url)
    socket.write(requestHead('GET', '/healthz', { 'X-Long': 'a'.repeat(9 * 1024) }))
    const { json } = (await nextReply(socket)) ?? {}
    expect(json?.['error']).toMatch(/^the head is larger than the 8192 bytes/)
    socket.destroy()
    const body = new Uint8Array(1025)
    const reply = await sendRow('relayPoll', agent, { body })
    expect(reply.json['error']).toMatch(/^the body is larger than the 1024 bytes/)
  })
})

test.each([
  ['127.0.0.4', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  // refused at once, its body unread
  ['127.0.0.5', 'POST /register HTTP/1.1\r\nHost: localhost\r\nX-Svc-Wire: 3\r\nContent-Length: 2\r\n\r\n{}'],
])(
  'requests that do not wait for their answers end their connection, and cost nobody else anything (%s)',
  async (address, request) => {
    const flood = Buffer.from(request.repeat(40_000))
    const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(hub.url, address)))
    const ended = sockets.map(socket => new Promise(done => socket.once('close', done)))
    for (const socket of sockets) socket.resume().write(flood)
    const started = performance.now()
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200)
    await Promise.all(ended)
    // One of these floods was forty thousand requests, three seconds of the thread that answers.
    expect(performance.now() - started).toBeLessThan(3000)
    const again = await openSocket(hub.url, address)
    again.write(requestHead('GET', '/healthz'))
    expect(await nextReply(again)).toBeUndefined()
  },
)

test.each(['http://h/healthz', 'HTTPS://h:1/healthz?'])(
  'a target with its host is the path behind it: %s',
  async target => {
    const socket = await openSocket(hub.url)
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    expect((await nextReply(socket))?.json['status']).toBe('ok')
    socket.destroy()
  },
)

test.each(['http://h', 'http://h?x=1', 'ftp://h/healthz', 'http:/healthz', '*'])(
  'a target without a path, or of another scheme, is none of a route: %s',
  async target => {
    const socket = await openSocket(hub.url)
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nX-Svc-Wire: 3\r\n\r\n`)
    expect((await nextReply(socket))?.json['status']).not.toBe('ok')
    socket.destroy()
  },
)

test('an expectation that is unknown changes nothing', async () => {
  const socket = await openSocket(hub.url)
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\n\r\n')
  expect((await nextReply(socket))?.json['status']).toBe('ok')
  socket.destroy()
})

describe('a request that waits until its body is wanted', () => {
  const head = (path: string, bytes: number) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-Svc-Wire: 3\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\nExpect: 100-continue\r\n\r\n`
  const firstLine = async (socket: Awaited<ReturnType<typeof openSocket>>) =>
    String((await once(socket, 'data'))[0]).split('\r\n')[0]

  test('is told to go on, and answered once it is there', async () => {
    const socket = await openSocket(hub.url)
    const body = JSON.stringify({ prefix: '', bits: 0 })
    socket.write(head('/directory:bucket', body.length))
    expect(await firstLine(socket)).toBe('HTTP/1.1 100 Continue')
    socket.write(body)
    expect(await firstLine(socket)).toBe('HTTP/1.1 200 OK')
    socket.destroy()
  })

  test('is refused by its head alone, and its connection ends', async () => {
    const socket = await openSocket(hub.url)
    socket.write(head('/nothing/there', 10))
    expect(await firstLine(socket)).toBe('HTTP/1.1 404 Not Found')
    await once(socket, 'close')
  })
})

test('HEAD of a public GET answers like it, without a body; of anything else it is not_found', async () => {
  const get = await fetch(`${hub.url}/healthz`)
  const head = await fetch(`${hub.url}/healthz`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  for (const name of ['Content-Type', 'Content-Length', headers.wire])
    expect(head.headers.get(name)).toBe(get.headers.get(name))
  const post = await fetch(`${hub.url}/relay/poll`, { method: 'HEAD', headers: { [headers.wire]: '3' } })
  expect(post.status).toBe(404)
})

test.each(['PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])(
  '%s, which no route has, is not_found, with a wire version and without',
  async method => {
    for (const path of ['/', '/healthz', '/register', '/relay/poll', '/fed/v3/cards', '/none'])
      for (const version of ['', `${headers.wire}: 2\r\n`, `${headers.wire}: 3\r\n`]) {
        const socket = await openSocket(hub.url)
        socket.write(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${version}\r\n`)
        const reply = await nextReply(socket)
        expect([path, version, reply?.status, reply?.json['reason']]).toEqual([
          path,
          version,
          404,
          'not_found',
        ])
        expect(reply?.head).toMatch(/X-Content-Type-Options: nosniff/i)
        socket.destroy()
      }
  },
)

test('any number above 3 is too new, however long', async () => {
  for (const version of ['4', '0004', '1000000', '9'.repeat(400)])
    expectRefusal(
      await request(`${hub.url}/healthz`, 'GET', { headers: { [headers.wire]: version } }),
      'wire_too_new',
    )
})

test('a content type is taken by its meaning', async () => {
  const capability = agent.capability()
  for (const [type, status] of [
    ['Application/vnd.svc.envelope+CBOR; v=1', 200],
    ['application/octet-stream', 400],
  ] as const) {
    const envelope = sealedUnderCapability(agent, capability)
    const given = { ...sendHeaders(envelope), 'Content-Type': type }
    expect((await sendRow('relaySend', agent, { body: envelope.bytes, headers: given })).status).toBe(status)
  }
})

test('a body that says it is compressed is refused, not read as it is', async () => {
  const compressed = { headers: { 'Content-Encoding': 'gzip' } }
  expectRefusal(await sendRow('relayPoll', agent, compressed), 'bad_request')
  expect((await sendRow('relayPoll', agent, { headers: { 'Content-Encoding': 'Identity' } })).status).toBe(
    200,
  )
})

describe('a JSON route', () => {
  const told = async (type: string) =>
    await sendRow('relayPoll', agent, { headers: { 'Content-Type': type } })

  test.each([
    'application/json',
    'Application/JSON;charset=UTF-8',
    'application/vnd.api+json',
    'text/json',
    '',
    // HTTP libraries put these in where nobody said what a body is.
    'application/x-www-form-urlencoded',
    'text/plain;charset=UTF-8',
    'application/octet-stream',
  ])('takes %j for JSON', async type => expect((await told(type)).status).toBe(200))

  test.each([
    'application/cbor',
    'application/vnd.svc.envelope+cbor',
    'text/html',
    'multipart/form-data; boundary=x',
  ])('refuses %j, which says that it is something else', async type => {
    const reply = await told(type)
    expectRefusal(reply, 'bad_request')
    expect(reply.json['error']).toContain('Content-Type must be application/json')
  })
})

test('a head that does not come in time is answered in the form of every refusal, and ends its connection', async () => {
  const { line } = hub.running
  const listener = new PublicServer(
    defaultLimits,
    () => undefined,
    line.answerUnparsed,
    { surplus: { note: () => undefined }, timers: systemTimers },
    { headMs: 60, checkMs: 20 },
  )
  listener.server.listen(0, '127.0.0.1')
  await once(listener.server, 'listening')
  const { port } = listener.server.address() as AddressInfo
  const socket = await openSocket(`http://127.0.0.1:${port}`)
  socket.write('GET /healthz HTTP/1.1\r\nHost:')
  const ended = once(socket, 'end')
  const reply = await nextReply(socket)
  expect([reply?.status, reply?.json['reason']]).toEqual([400, 'bad_request'])
  expect(reply?.json['error']).toMatch(/its head did not come in time; [^;]+$/)
  expect(reply?.head).toMatch(/X-Svc-Wire: 3[\s\S]*Connection: close|Connection: close[\s\S]*X-Svc-Wire: 3/i)
  await ended
  await listener.close()
})
