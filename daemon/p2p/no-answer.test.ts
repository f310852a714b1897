/** An address that answers with what is no answer: whoever calls it is told so, and waits for nothing. */
import type { AddressInfo, Socket } from 'node:net'
import * as net from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { callWithEnvelope } from './call.ts'

const HOST = '127.0.0.1'
let opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened) close()
  opened = []
})

test('somebody who changes the protocol has taken nothing', async () => {
  const open: Socket[] = []
  const server = net.createServer(socket => {
    open.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write('HTTP/1.1 101 Now\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'))
  })
  await new Promise<void>(done => server.listen(0, HOST, done))
  opened.push(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const ended = new AbortController()
  const called = callWithEnvelope({
    address: `${HOST}:${(server.address() as AddressInfo).port}`,
    envelope: new Uint8Array(100),
    hosts: [HOST],
    timers: systemTimers,
    signal: ended.signal,
  }).then(
    () => 'taken',
    () => 'not taken',
  )
  const waits = new Promise(resolve => setTimeout(() => resolve('waits'), 1_000))
  expect(await Promise.race([called, waits])).toBe('not taken')
  ended.abort()
})
