/** Connections to a node: other users of the machine may take all of them, and its owner gets in all the same. */
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { Notices } from '../platform/notices.ts'
import { Crowd } from './crowd.ts'
import { usersOf } from './peer-user.ts'

const NOBODY = 65_534
/** Its answer never comes. */
const LARGE = 32 * 1024 * 1024
const BUSY = 'POST /waits HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n'
const servers: http.Server[] = []
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

/** A server that answers `/`, and nothing else. Connections whose ports are in `others` are another user's. */
async function crowded(
  others: Set<number | undefined>,
  kernel: () => void = () => undefined,
  ...nobody: undefined[]
) {
  const connections = new Set<Socket>()
  const logged: string[] = []
  const log = pino({}, { write: line => void logged.push(line) })
  const notices = new Notices()
  const server = http.createServer((request, response) => {
    if (request.url === '/') response.end('here')
    if (request.url === '/large') response.end(Buffer.alloc(LARGE))
  })
  server.on('connection', one => {
    connections.add(one)
    one.once('close', () => connections.delete(one))
  })
  const whose = async (connections: readonly Socket[]) => {
    kernel()
    if (nobody.length > 0) return new Map(connections.map(one => [one, undefined] as const))
    return new Map(
      connections.filter(({ remotePort }) => others.has(remotePort)).map(one => [one, NOBODY] as const),
    )
  }
  new Crowd({ log, notices, now: () => 0, timers: systemTimers }, whose).watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  const { port } = server.address() as AddressInfo
  const opened = async (text: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  const asked = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { Connection: 'close' } })
    return await response.text()
  }
  return { opened, asked, notices, logged, connections: () => [...connections] }
}

test('those of other users end, also while they are busy, and who they are is said', async () => {
  const others = new Set<number | undefined>()
  const { opened, asked, notices, logged } = await crowded(others)
  const held: Socket[] = []
  for (let n = 0; n < 320; n++) {
    const one = await opened(BUSY)
    others.add(one.localPort)
    held.push(one.resume())
  }
  await expect.poll(() => asked().catch(() => ''), { timeout: 20_000 }).toBe('here')
  await expect.poll(() => held.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(250)
  expect(notices.current(0)).toEqual([
    expect.stringContaining(`another user of this machine (uid ${NOBODY};`),
  ])
  expect(notices.current(60_000)).toEqual([])
  others.clear()
  for (let n = 0; n < 320; n++) await opened('')
  await new Promise(done => setTimeout(done, 1_200))
  expect(notices.current(0)).toEqual([expect.stringContaining(`uid ${NOBODY};`)])
  expect(logged.join('')).toContain(`uid ${NOBODY}`)
})

test.each(['', 'GET / HTTP/1.1\r\nHost: ', BUSY])(
  'whoever comes is answered while %j is all that others say',
  async said => {
    const { opened, asked } = await crowded(new Set())
    for (let n = 0; n < 330; n++) (await opened(said)).resume()
    expect(await asked()).toBe('here')
  },
)

test('what is answered to the owner goes on while another comes', async () => {
  const others = new Set<number | undefined>()
  const { opened, asked, notices } = await crowded(others)
  const own = await opened(BUSY)
  for (let n = 1; n < 256; n++) others.add((await opened(BUSY)).localPort)
  others.add((await opened(BUSY)).localPort)
  await expect.poll(() => notices.current(0)).toHaveLength(1)
  for (let n = 0; n < 300; n++) await opened('')
  expect(await asked()).toBe('here')
  expect(own.destroyed).toBe(false)
})

test.runIf(process.platform === 'linux')(
  'the kernel tells of all in one look which are of others',
  async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'svc-crowd-')), 'tcp')
    const row = (remote: string, uid: number, state = '01') =>
      `  12: 0100007F:${remote} 0100007F:9B83 ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 1\n`
    writeFileSync(
      path,
      `  sl  local_address\n${row('0001', 1000)}${row('0002', 7)}${row('0003', 0)}${row('0004', 7, '06')}`,
    )
    const ends = [1, 2, 3, 4].map(remotePort => ({
      remoteAddress: '127.0.0.1',
      remotePort,
      localAddress: '127.0.0.1',
      localPort: 0x9b83,
    }))
    const others = await usersOf(ends, [path, '/nowhere'], 1000)
    expect([...others].map(([{ remotePort }, uid]) => [remotePort, uid])).toEqual([[2, 7]])
  },
)

test('those that nobody holds any more end, also while they are busy', async () => {
  const { opened, asked } = await crowded(new Set(), () => undefined, undefined)
  const held: Socket[] = []
  for (let n = 0; n < 320; n++) held.push((await opened(BUSY)).resume())
  await expect.poll(() => held.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(250)
  expect(await asked()).toBe('here')
})

const turn = () => new Promise(done => setImmediate(done))
/** Timers do not run. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn()
}

test('an answer that is not taken ends its connection, and one that waits for its end does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { opened, connections } = await crowded(new Set())
    ;(await opened('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')).pause()
    await until(() => connections().some(({ writableLength }) => writableLength > 0))
    await opened(BUSY)
    await until(() => connections().length === 2)
    vi.advanceTimersByTime(29_000)
    await turn()
    expect(connections()).toHaveLength(2)
    vi.advanceTimersByTime(31_000 + LARGE / 16)
    await until(() => connections().length === 1)
  } finally {
    vi.useRealTimers()
  }
})

test('a kernel that does not tell ends nothing, and is asked again', async () => {
  const others = new Set<number | undefined>()
  let failures = 0
  const { opened, asked, logged } = await crowded(others, () => {
    failures += 1
    if (failures === 1) throw new Error('too many open files')
  })
  for (let n = 0; n < 320; n++) others.add((await opened(BUSY)).localPort)
  await expect.poll(() => logged.some(line => line.includes('connections could not be looked at'))).toBe(true)
  others.add((await opened(BUSY)).localPort)
  await expect.poll(() => asked().catch(() => ''), { timeout: 20_000 }).toBe('here')
})
