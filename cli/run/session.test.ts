/** A session of tools among several identities of one user, over real nodes. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { chooseIdentity } from '../../daemon/home/home.ts'
import { type Node, startNode } from '../../daemon/node.ts'
import { processIo } from '../io.ts'
import { Session } from './session.ts'

const open: Node[] = []
afterEach(async () => {
  for (const node of open.splice(0)) await node.stop()
})

function machine() {
  const place = mkdtempSync(join(tmpdir(), 'svc-session-'))
  const env = { HOME: place, SVC_RUNTIME_DIR: join(place, 'run') }
  const home = join(place, '.svc')
  const start = async (name: string) => {
    const dir = name === 'default' ? home : join(home, 'ids', name)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
    const node = await startNode({ dir, name, env })
    open.push(node)
    return { node, dir }
  }
  return { env, start, io: { ...processIo(), env } }
}

test('goes on as the identity with which it began, whatever is chosen or runs meanwhile', async () => {
  const { env, start, io } = machine()
  const { node } = await start('default')
  const session = new Session(io, { id: undefined })
  const aid = async () => (await (await session.connect(io)).call('status')).aid
  expect(await aid()).toBe(node.aid)
  await start('work')
  chooseIdentity(env, 'work')
  expect(await aid()).toBe(node.aid)
  await node.stop()
  // the other one, which runs, is no business of this session
  await expect(aid()).rejects.toMatchObject({
    message: expect.stringMatching(/^no node answers at \S+ \(data directory \S+\)$/),
    next: 'svc up default',
  })
})

test('begins with no other node than that of its home, though it is the only one that runs', async () => {
  const { start, io } = machine()
  await start('work')
  await expect(new Session(io, { id: undefined }).connect(io)).rejects.toThrow(/there is no identity in/)
})

test('serves no other identity that stands in its directory later', async () => {
  const { start, io } = machine()
  const first = await start('work')
  const session = new Session(io, { id: 'work' })
  await session.connect(io)
  await first.node.stop()
  rmSync(first.dir, { recursive: true })
  const { node } = await start('work')
  await expect(session.connect(io)).rejects.toThrow(
    `this session began as ${first.node.aid}, and now another identity answers in ${first.dir} (${node.aid})`,
  )
})

test('looks for its node again only where the socket is another one', async () => {
  const { start, io } = machine()
  const { node } = await start('work')
  const session = new Session(io, { id: 'work' })
  const { target } = await session.connect(io)
  expect((await session.connect(io)).target).toBe(target)
  await node.stop()
  const again = await start('work')
  expect((await session.connect(io)).target).toMatchObject({
    entry: { aid: node.aid, control_addr: again.node.controlAddress },
  })
})
