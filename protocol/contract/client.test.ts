import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fromUtf8, utf8 } from '../encoding/bytes.ts'
import { callBody, callPath, call as callRoute, ForeignAnswer, REPLY_BYTES_MAX, Refused } from './client.ts'
import { route } from './route.ts'

const rows = {
  greet: route({
    method: 'POST',
    path: '/agents/{aid}/greet',
    auth: 'none',
    request: z.strictObject({ text: z.string() }),
    reply: z.strictObject({ answer: z.string() }),
  }),
  read: route({ method: 'GET', path: '/read', auth: 'none', reply: z.strictObject({ answer: z.string() }) }),
  readMore: route({
    method: 'GET',
    path: '/more',
    auth: 'none',
    reply: z.strictObject({ answer: z.string() }),
    limits: { replyBytes: 2 * REPLY_BYTES_MAX },
  }),
  send: route({ method: 'POST', path: '/send', auth: 'credential', raw: 'envelope' }),
}
type Seen = { method: string; url: string; type: string | undefined; body: string }

let answer: (response: ServerResponse) => void = response => response.end('{}')
const seen: Seen[] = []

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const { method = '', url = '' } = request
  seen.push({ method, url, type: request.headers['content-type'], body: Buffer.concat(parts).toString() })
  answer(response)
}

const server = createServer((request, response) => void handle(request, response))
let baseUrl = ''
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

const send = ({ url, ...init }: Parameters<Parameters<typeof callRoute>[1]>[0]) =>
  fetch(url, { ...init, duplex: 'half' } as RequestInit)
const answering = (status: number, body: string, headers: Record<string, string> = {}) => {
  answer = response => response.writeHead(status, headers).end(body)
}
const greet = () =>
  callRoute(rows.greet, send, {
    baseUrl,
    params: { aid: 'Aabc' },
    query: { q: 'a b&c' },
    body: { text: 'hi' },
  })
const thrown = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a call', () => {
  test('fills the path, sends JSON and gives the reply', async () => {
    answering(200, '{"answer":"hello"}')
    await expect(greet()).resolves.toEqual({ answer: 'hello' })
    expect(seen.at(-1)).toEqual({
      method: 'POST',
      url: '/agents/Aabc/greet?q=a+b%26c',
      type: 'application/json',
      body: '{"text":"hi"}',
    })
  })

  test('sends what callPath and callBody give to be signed', async () => {
    answering(200, '{"answer":"hello"}')
    await greet()
    expect(callPath(rows.greet, { params: { aid: 'Aabc' }, query: { q: 'a b&c' } })).toBe(seen.at(-1)?.url)
    expect(fromUtf8(callBody(rows.greet, { text: 'hi' }))).toBe(seen.at(-1)?.body)
    expect(callPath(rows.read, {})).toBe('/read')
    expect(callBody(rows.read, undefined).length).toBe(0)
  })

  test('has no body on GET, and raw bytes or a stream where the row says so', async () => {
    answering(200, '{"answer":"x"}')
    await callRoute(rows.read, send, { baseUrl })
    expect(seen.at(-1)).toMatchObject({ method: 'GET', url: '/read', type: undefined, body: '' })
    answering(200, '{}')
    await callRoute(rows.send, send, { baseUrl, body: utf8('whole') })
    expect(seen.at(-1)?.body).toBe('whole')
    async function* pieces() {
      yield utf8('in ')
      yield utf8('pieces')
    }
    await callRoute(rows.send, send, { baseUrl, body: pieces() })
    expect(seen.at(-1)?.body).toBe('in pieces')
  })

  test('shows every answer before it is read, also a refusal', async () => {
    answering(500, 'broken', { 'X-Svc-Wire': '3' })
    const wires: (string | null)[] = []
    const onResponse = (response: Response) => wires.push(response.headers.get('X-Svc-Wire'))
    await thrown(callRoute(rows.read, send, { baseUrl, onResponse }))
    expect(wires).toEqual(['3'])
  })
})

describe('a refusal', () => {
  test('carries code, status, sentence and the members of its code', async () => {
    answering(400, '{"reason":"bucket_too_narrow","error":"too narrow","max_bits":3}')
    const error = (await thrown(greet())) as Refused
    expect(error).toBeInstanceOf(Refused)
    expect(error).toMatchObject({ code: 'bucket_too_narrow', status: 400, members: { max_bits: 3 } })
    expect(error.message).toBe('too narrow')
    expect(error.retryAfterMs).toBeUndefined()
  })

  test.each([
    ['7', 7000],
    ['0', 0],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['99999999999999999999', undefined],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
  ])('with Retry-After "%s" says to wait %s ms', async (value, retryAfterMs) => {
    answering(429, '{"reason":"rate_limited","error":"later"}', { 'Retry-After': value })
    expect(await thrown(greet())).toMatchObject({ code: 'rate_limited', retryAfterMs })
  })
})

describe('an answer of somebody else', () => {
  test.each([
    ['a page of a proxy', 502, '<html>Bad gateway</html>'],
    ['an empty refusal', 503, ''],
    ['a refusal without a reason', 400, '{"error":"no"}'],
    ['a refusal whose reason is a number', 400, '{"reason":1,"error":"no"}'],
    ['a refusal that is null', 400, 'null'],
    ['a refusal that is text', 400, '"no"'],
    ['a redirect', 304, ''],
    ['a page that says all is well', 200, '<html></html>'],
    ['a reply cut short', 200, '{"answer":"hel'],
    ['a reply with a duplicate member', 200, '{"answer":"a","answer":"b"}'],
    ['a reply with an unknown member', 200, '{"answer":"a","more":1}'],
    ['a reply of another type', 200, '{"answer":1}'],
    ['no reply', 200, ''],
  ])('is told apart from a refusal: %s', async (_, status, body) => {
    answering(status, body)
    const error = await thrown(greet())
    expect(error).toBeInstanceOf(ForeignAnswer)
    expect(error).toMatchObject({ status })
  })

  test.each([502, 503, 504])('of a proxy behind which nothing answers says so: %i', async status => {
    answering(status, '<html>Bad gateway</html>')
    expect(await thrown(greet())).toMatchObject({
      message: `a proxy answered (HTTP ${status}): what stands behind it does not run, or is too slow`,
    })
  })

  test.each([
    ['there is', rows.read, REPLY_BYTES_MAX],
    ['of its row', rows.readMore, 2 * REPLY_BYTES_MAX],
  ])('is not read beyond the largest reply %s', async (_, row, bytesMax) => {
    const piece = new Uint8Array(1024 * 1024)
    let given = 0
    const endless = () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            given += piece.length
            controller.enqueue(piece)
          },
        }),
      )
    const error = await thrown(callRoute(row, async () => endless(), { baseUrl }))
    expect(error).toBeInstanceOf(ForeignAnswer)
    expect(given).toBeGreaterThan(bytesMax)
    expect(given).toBeLessThanOrEqual(bytesMax + 3 * piece.length)
  })
})

describe('a dead line', () => {
  test('is neither a refusal nor a foreign answer', async () => {
    answer = response => response.destroy()
    const error = await thrown(greet())
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(Refused)
    expect(error).not.toBeInstanceOf(ForeignAnswer)
  })

  test('in the middle of a reply is a failure too', async () => {
    answer = response => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"answer"')
      setImmediate(() => response.destroy())
    }
    expect(await thrown(greet())).not.toBeInstanceOf(ForeignAnswer)
  })

  test('a call that is called off ends with its reason', async () => {
    const stop = new AbortController()
    answer = () => stop.abort(new Error('called off'))
    const call = callRoute(rows.read, send, { baseUrl, signal: stop.signal })
    expect(await thrown(call)).toMatchObject({ message: 'called off' })
  })
})
