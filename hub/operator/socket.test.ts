/** What an operator reads where the running hub does not answer. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { orderRunningHub } from './socket.ts'

let directory: string
let server: Server | undefined

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-hub-socket-'))
})
afterEach(() => {
  server?.close()
  server = undefined
  rmSync(directory, { recursive: true })
})

/** Somebody who holds the socket of a hub, and does this with every connection. */
async function holding(take: (socket: Socket) => void): Promise<void> {
  const held = createServer({ allowHalfOpen: true }, take)
  server = held
  await new Promise<void>(done => held.listen(join(directory, 'operator.sock'), done))
}
const order = () => orderRunningHub(directory, { command: 'running' })

test('where no hub runs there is no answer', async () => expect(await order()).toBe(undefined))

test.each<[string, (socket: Socket) => void]>([
  ['dies before it answers', socket => socket.resume().once('end', () => socket.destroy())],
  ['ends the connection without a word', socket => socket.resume().once('end', () => socket.end())],
  ['dies within its answer', socket => socket.resume().once('end', () => socket.end('{"ok":tr'))],
])('an operator whose hub %s reads that nobody knows, and to repeat the command', async (_, take) => {
  await holding(take)
  await expect(order()).rejects.toThrow(
    'the hub that runs there gave no answer, so nobody knows whether it did that; repeat the command',
  )
})
