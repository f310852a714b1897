import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'

const QUICK = 20
const QUICK_MS_MAX = 700
const SLOW_MS_MIN = 900

let hub: TestHub
beforeEach(async () => {
  hub = await startTestHub({ limits: { requestRate: { perSecond: 1 / 60, burst: 1 } } })
})
afterEach(() => hub.close())

/** One request of an address that a proxy on this machine names: status, and how long the answer took. */
async function ask(address: string): Promise<{ status: number | undefined; ms: number }> {
  const socket = await openSocket(hub.url, '127.0.0.1')
  const started = performance.now()
  socket.write(requestHead('GET', '/stats', { 'X-Forwarded-For': address }))
  const reply = await nextReply(socket)
  socket.destroy()
  return { status: reply?.status, ms: performance.now() - started }
}

test('whoever goes on asking too often waits a second for each refusal, and nobody else does', async () => {
  expect((await ask('192.0.2.1')).status).toBe(200)
  for (let n = 0; n < QUICK; n++) {
    const { status, ms } = await ask('192.0.2.1')
    expect(status).toBe(429)
    expect(ms).toBeLessThan(QUICK_MS_MAX)
  }
  const slow = await ask('192.0.2.1')
  expect([slow.status, slow.ms >= SLOW_MS_MIN]).toEqual([429, true])
  const other = await ask('192.0.2.2')
  expect([other.status, other.ms < QUICK_MS_MAX]).toEqual([200, true])
})

test('a client that leaves while its refusal is held back leaves nothing behind', async () => {
  for (let n = 0; n <= QUICK; n++) await ask('192.0.2.1')
  const socket = await openSocket(hub.url, '127.0.0.1')
  socket.write(requestHead('GET', '/stats', { 'X-Forwarded-For': '192.0.2.1' }))
  await new Promise(resolve => setTimeout(resolve, 50))
  socket.destroy()
  expect((await ask('192.0.2.3')).status).toBe(200)
})
