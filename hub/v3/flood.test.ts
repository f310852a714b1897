import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'

const QUICK = 20
const HELD_MS = 1000

let hub: TestHub
beforeEach(async () => {
  hub = await startTestHub({ limits: { requestRate: { perSecond: 1 / 60, burst: 1 } } })
  // Time stands still from here on, for the buckets of the hub and for what it holds back, however busy the machine is.
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await hub.close()
})

/** A request of an address that a proxy on this machine names. */
async function begun(address: string): Promise<Socket> {
  const socket = await openSocket(hub.url, '127.0.0.1')
  socket.write(requestHead('GET', '/stats', { 'X-Forwarded-For': address }))
  return socket
}

async function status(address: string): Promise<number | undefined> {
  const socket = await begun(address)
  const reply = await nextReply(socket)
  socket.destroy()
  return reply?.status
}

/** Takes turns of the loop, and no time, until a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setImmediate(resolve))
}

test('whoever goes on asking too often waits a second for each refusal, and nobody else does', async () => {
  expect(await status('192.0.2.1')).toBe(200)
  for (let n = 0; n < QUICK; n++) expect(await status('192.0.2.1')).toBe(429)
  const slow = await begun('192.0.2.1')
  let answered: number | undefined
  void nextReply(slow).then(reply => {
    answered = reply?.status
  })
  await until(() => vi.getTimerCount() === 1)
  expect(await status('192.0.2.2')).toBe(200)
  vi.advanceTimersByTime(HELD_MS - 1)
  expect([vi.getTimerCount(), answered]).toEqual([1, undefined])
  vi.advanceTimersByTime(1)
  await until(() => answered !== undefined)
  expect(answered).toBe(429)
  slow.destroy()
})

test('a client that leaves while its refusal is held back leaves nothing behind', async () => {
  for (let n = 0; n <= QUICK; n++) await status('192.0.2.1')
  const socket = await begun('192.0.2.1')
  await until(() => vi.getTimerCount() === 1)
  socket.destroy()
  await until(() => vi.getTimerCount() === 0)
  expect(await status('192.0.2.3')).toBe(200)
})
