/** The control socket of a data directory: whose it is, and which start made it. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { controlSocket, ownSocket, socketMark } from './socket.ts'

let dir: string
const env = () => ({ HOME: dir, SVC_RUNTIME_DIR: join(dir, 'run') })
const open: Server[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svc-s-'))
})
afterEach(() => {
  for (const server of open.splice(0)) server.close()
  rmSync(dir, { recursive: true })
})

async function listen(mode = 0o600): Promise<Server> {
  const path = controlSocket(env(), dir)
  const server = createServer().listen(path)
  open.push(server)
  await new Promise(resolve => server.once('listening', resolve))
  chmodSync(path, mode)
  return server
}

test('a socket of this user alone is its own, and marked until another start makes it anew', async () => {
  expect([ownSocket(env(), dir), socketMark(env(), dir)]).toEqual([undefined, undefined])
  const first = await listen()
  const mark = socketMark(env(), dir)
  expect([ownSocket(env(), dir), socketMark(env(), dir)]).toEqual([controlSocket(env(), dir), mark])
  await new Promise(resolve => first.close(resolve))
  await listen()
  expect(socketMark(env(), dir)).not.toBe(mark)
})

test('what others can open, or what is no socket, is none', async () => {
  await listen(0o660)
  expect([ownSocket(env(), dir), socketMark(env(), dir)]).toEqual([undefined, undefined])
  const folder = join(dir, 'other')
  writeFileSync(folder, '')
  expect([ownSocket(env(), folder), socketMark(env(), folder)]).toEqual([undefined, undefined])
})

test('a path too long for a socket leads to one in the runtime directory', () => {
  const long = join(dir, 'a'.repeat(100))
  expect(controlSocket(env(), long)).toMatch(new RegExp(`^${join(dir, 'run')}/[0-9a-f]{24}\\.sock$`))
  expect(controlSocket(env(), dir)).toBe(join(dir, 'control.sock'))
})
