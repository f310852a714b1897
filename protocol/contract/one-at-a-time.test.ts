import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { OneAtATime } from './one-at-a-time.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n'

/** Its body is not read before the answer. */
const UNREAD = 'POST /at-once HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}'

let server: Server
let parsed: number
let answered: number

beforeEach(async () => {
  parsed = 0
  answered = 0
  const oneAtATime = new OneAtATime()
  server = createServer((request, response) => {
    parsed++
    if (!oneAtATime.admit(request.socket, response)) return
    answered++
    if (request.url === '/at-once') response.end('yes')
    else setImmediate(() => response.end('yes'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** Writes all of it at once; what came back until the connection ended, or until it says `yes` often enough. */
async function write(text: string, answers = Number.POSITIVE_INFINITY): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(text)
  let read = ''
  const over = Promise.withResolvers<void>()
  socket.on('data', chunk => {
    read += String(chunk)
    if (read.split('yes').length > answers) over.resolve()
  })
  socket.on('close', () => over.resolve())
  await over.promise
  socket.destroy()
  return read
}

test('a request that did not wait for the answer before it ends its connection', async () => {
  await write(REQUEST.repeat(2))
  expect(parsed).toBe(2)
})

test('what was written behind it is not even parsed, however much that is', async () => {
  for (let n = 1; n <= 20; n++) {
    await write(REQUEST.repeat(40_000))
    expect(parsed).toBe(2 * n)
  }
})

test.each([
  ['with a body that nobody reads', UNREAD],
  ['without a body', REQUEST.replace('/', '/at-once')],
])('a request %s that is answered at once is not the first of thousands', async (_, request) => {
  await write(request.repeat(10_000), 100)
  expect(answered).toBeLessThanOrEqual(2)
  await write(request, 1)
})

test('requests that wait for their answers follow each other on one connection', async () => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  for (let n = 1; n <= 5; n++) {
    socket.write(REQUEST)
    await once(socket, 'data')
    expect(answered).toBe(n)
  }
  socket.destroy()
})

test('a parser that was stopped serves other connections as before', async () => {
  for (let n = 0; n < 30; n++) await write(REQUEST.repeat(100))
  const before = answered
  const replies = await Promise.all(Array.from({ length: 30 }, () => write(REQUEST, 1)))
  expect(replies.every(text => text.startsWith('HTTP/1.1 200'))).toBe(true)
  expect(answered - before).toBe(30)
})
