import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { Unread } from './unread.ts'

const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000
/** Of each connection, what the runtime reads ahead. */
const AHEAD_BYTES = 512 * KIB

let timers: TestTimers
let unread: Unread
let server: Server
let requests: IncomingMessage[]
let sockets: Socket[]
beforeEach(async () => {
  timers = new TestTimers()
  unread = new Unread(timers)
  requests = []
  sockets = []
  server = createServer((request, response) => {
    requests.push(request)
    unread.finish(request, response)
    response.end('no')
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  unread.close()
  server.close()
})

/** Writes a body as fast as it is taken, of a length that it says or not; resolves to all that came back. */
async function send(bytes: number, { chunked = false } = {}): Promise<() => string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  sockets.push(socket)
  let heard = ''
  socket.on('data', chunk => {
    heard += String(chunk)
  })
  socket.on('error', () => undefined)
  const length = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`
  socket.write(`POST / HTTP/1.1\r\nHost: here\r\n${length}\r\n\r\n`)
  const part = Buffer.alloc(bytes, 'x')
  if (!chunked) socket.write(part)
  else for (let sent = 0; sent < bytes; sent += MIB) socket.write(`100000\r\n${'x'.repeat(MIB)}\r\n`)
  await vi.waitFor(() => expect(heard).toContain('no'))
  return () => heard
}
const bytesRead = () => requests.reduce((sum, { socket }) => sum + socket.bytesRead, 0)
/** Until nothing more is read without time. */
async function settled(): Promise<number> {
  for (let before = -1; ; ) {
    const now = bytesRead()
    if (now === before) return now
    before = now
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

test.each([false, true])(
  'large rests are read no faster than 32 MiB a second and a little, all together (chunked: %s)',
  async chunked => {
    const count = 12
    for (let n = 0; n < count; n++) await send(8 * MIB, { chunked })
    expect(await settled()).toBeLessThan(count * AHEAD_BYTES)
    await timers.pass(SECOND_MS)
    const read = await settled()
    expect(read).toBeGreaterThan(count * AHEAD_BYTES)
    expect(read).toBeLessThan(64 * MIB)
  },
)

test('a sender that has written all in time has its answer, and the connection ends once the time is over', async () => {
  const heard = await send(8 * MIB)
  while (requests[0]?.complete !== true) await timers.pass(10)
  expect(heard()).toMatch(/^HTTP\/1\.1 200 /)
  await timers.pass(2 * SECOND_MS)
  expect(timers.count).toBe(0)
})

test('one that goes on for two seconds is cut', async () => {
  await send(256 * MIB)
  await timers.pass(SECOND_MS)
  expect(requests[0]?.destroyed).toBe(false)
  await timers.pass(SECOND_MS)
  expect(requests[0]?.destroyed).toBe(true)
  await vi.waitFor(() => expect(timers.count).toBe(0))
})

test('a small rest is read at once, and its connection serves the next request', async () => {
  await send(200 * KIB)
  await vi.waitFor(() => expect(requests[0]?.complete).toBe(true))
  const [socket] = sockets as [Socket]
  socket.write('POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n')
  await vi.waitFor(() => expect(requests).toHaveLength(2))
  expect(timers.count).toBe(0)
})

test('nothing is kept of a sender that has gone, once the time of its answer is over', async () => {
  await send(32 * MIB)
  sockets[0]?.destroy()
  await timers.pass(2 * SECOND_MS)
  await vi.waitFor(() => expect(requests[0]?.destroyed).toBe(true))
  await timers.pass(20)
  expect(timers.count).toBe(0)
})
