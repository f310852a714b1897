/** The client of a node among other users of the machine, over real sockets. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { announceDaemon, runtimeDirectories } from '../../daemon/home/home.ts'
import { markMoved } from '../../daemon/home/moved.ts'
import { type Node, startNode } from '../../daemon/node.ts'
import { processIo } from '../io.ts'
import { connect, explain, findTarget, patience, UnreachableNode, unreachable } from './control.ts'
import { NoAnswer } from './loopback.ts'

const open: (Server | Node)[] = []
afterEach(async () => {
  for (const one of open.splice(0)) {
    if ('stop' in one) await one.stop()
    else one.close()
  }
})

function home() {
  const dir = mkdtempSync(join(tmpdir(), 'svc-door-'))
  const env = { SVC_DATA_DIR: dir, SVC_RUNTIME_DIR: join(dir, 'run') }
  writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
  return { dir, env, io: { ...processIo(), env } }
}

async function running() {
  const given = home()
  const node = await startNode({ dir: given.dir, env: given.env })
  open.push(node)
  return { ...given, node }
}

/** A program of somebody else that answers on a port, and what was sent to it. */
async function stranger(answer: (url: string) => Promise<string> | string) {
  const heard: string[] = []
  const server = createServer(async (request, response) => {
    heard.push(`${request.url} ${JSON.stringify(request.headers)}`)
    response.end(await answer(request.url ?? ''))
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  open.push(server)
  return { heard, address: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test('whoever listens on the port of a stopped node gets no token', async () => {
  const { dir, io } = home()
  writeFileSync(join(dir, 'control_token.txt'), 'secret-token\n')
  const { heard, address } = await stranger(() => '{"ok":true,"proof":"made up"}')
  writeConfig(dir, { ...readConfig(dir), control_addr: address })
  await expect(connect(io, { id: undefined }).call('status')).rejects.toThrow(/was sent no token/)
  expect(heard.length).toBe(1)
  expect(heard.join()).not.toMatch(/secret-token|authorization/i)
})

test('who passes the question on to the node cannot pass on its proof', async () => {
  const { dir, io, node } = await running()
  const { heard, address } = await stranger(async url =>
    (await fetch(`http://${node.controlAddress}${url}`)).text(),
  )
  rmSync(join(dir, 'control.sock'))
  const control = connect(io, { id: undefined })
  Object.assign(control.target, { address })
  await expect(control.call('status')).rejects.toThrow(/was sent no token/)
  expect(heard.join()).not.toMatch(/authorization/i)
})

test('the socket is used where it is there, also without a token file; else the address with the token', async () => {
  const { dir, io, node } = await running()
  const status = () => connect(io, { id: undefined }).call('status')
  expect((await status()).aid).toBe(node.aid)
  rmSync(join(dir, 'control.sock'))
  expect((await status()).aid).toBe(node.aid)
  rmSync(join(dir, 'control_token.txt'))
  await expect(status()).rejects.toThrow(/no node answers/)
})

test('a node whose token file is gone can still be asked to stop', async () => {
  const { dir, io } = await running()
  rmSync(join(dir, 'control_token.txt'))
  expect(await connect(io, { id: undefined }).call('shutdown', {})).toEqual({ state: 'stopping' })
  expect(existsSync(join(dir, 'control_token.txt'))).toBe(false)
})

test('a command that waits longer than a second says for what', async () => {
  const { dir, io } = home()
  const said: string[] = []
  const socket = join(dir, 'control.sock')
  const server = createServer((_request, response) => {
    setTimeout(() => response.end('{"items":[]}'), 1200)
  }).listen(socket)
  await new Promise(resolve => server.once('listening', resolve))
  chmodSync(socket, 0o600)
  open.push(server)
  const asked = connect({ ...io, onTerminal: true, err: text => said.push(text) }, { id: undefined })
  await asked.call('inbox', {})
  expect(said).toEqual(['svc: waiting for mail …\n'])
})

test('nodes that run are named by commands that reach them from anywhere, three at most', async () => {
  const { dir, io } = home()
  const other = mkdtempSync(join(tmpdir(), 'svc other home '))
  const env = { SVC_HOME: dir, SVC_RUNTIME_DIR: join(dir, 'run') }
  const places: [string | null, string][] = [
    ['work', join(dir, 'ids', 'work')],
    ['play', join(other, 'ids', 'play')],
    ['default', other],
    [null, join(dir, 'elsewhere')],
    [null, join(dir, 'nowhere')],
  ]
  const sleepers = places.map(() => spawn('sleep', ['60']))
  const [folder = ''] = runtimeDirectories(env)
  for (const [n, [id, data_dir]] of places.entries())
    announceDaemon(folder, {
      pid: sleepers[n]?.pid as number,
      control_addr: `127.0.0.1:${n + 1}`,
      data_dir,
      id,
      aid: 'A',
      started_at: n,
    })
  const { message } = unreachable({ ...io, env }, findTarget({ ...io, env }, { id: 'absent' }))
  for (const sleeper of sleepers) sleeper.kill()
  expect(message).toMatch(
    `; if you meant another node of yours that runs:\n  svc --id work status\n  SVC_HOME='${other}' svc --id play status\n  SVC_HOME='${other}' svc --id default status\n  and 2 more`,
  )
})

test('who names an identity talks to its own node only; who names none finds the one that runs', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-explicit-'))
  const env = { SVC_HOME: home, SVC_RUNTIME_DIR: join(home, 'run') }
  const [folder = ''] = runtimeDirectories(env)
  const elsewhere = join(home, 'elsewhere')
  announceDaemon(folder, {
    pid: process.pid,
    control_addr: '127.0.0.1:7',
    data_dir: elsewhere,
    id: null,
    aid: 'A',
    started_at: 1,
  })
  const target = (given: Record<string, string>, id?: string) =>
    findTarget({ ...processIo(), env: { SVC_RUNTIME_DIR: join(home, 'run'), HOME: home, ...given } }, { id })
  expect(target({}).dataDir).toBe(elsewhere)
  for (const [given, id] of [
    [{}, 'work'],
    [{ SVC_ID: 'work' }],
    [{ SVC_HOME: home }],
    [{ SVC_DATA_DIR: join(home, 'mine') }],
  ] as const)
    expect(target(given, id)).toMatchObject({ entry: undefined, address: '127.0.0.1:39811' })
})

/** Two homes of one user, and the node of the second. */
async function beside() {
  const place = mkdtempSync(join(tmpdir(), 'svc-beside-'))
  const env = (HOME: string) => ({ HOME: join(place, HOME), SVC_RUNTIME_DIR: join(place, 'run') })
  const dirs = { mine: join(place, 'mine', '.svc'), other: join(place, 'other', '.svc') }
  for (const dir of Object.values(dirs)) {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
  }
  const start = async (name: 'mine' | 'other') => {
    const node = await startNode({ dir: dirs[name], name: 'default', env: env(name) })
    open.push(node)
    return node
  }
  return { dirs, start, other: await start('other'), io: { ...processIo(), env: env('mine') } }
}

test('a home without an identity reads the only node that runs, and changes nothing there', async () => {
  const { dirs, other, io } = await beside()
  const control = connect(io, { id: undefined })
  expect((await control.call('status')).aid).toBe(other.aid)
  for (const [name, body] of [
    ['shutdown', {}],
    ['autoReplyOff', {}],
    ['delegate', { to: 'bob', task: 'x' }],
  ] as const)
    await expect(control.call(name, body)).rejects.toMatchObject({
      message: expect.stringContaining(`the only node that runs is that of ${dirs.other}`),
      next: `SVC_HOME=${dirs.other} svc --id default status\nto make an identity here, instead:\nsvc up`,
    })
  expect((await control.call('status')).aid).toBe(other.aid)
})

test('a home with an identity never reaches the node of another home, not even one that was exported', async () => {
  const { dirs, start, io } = await beside()
  await (await start('mine')).stop()
  const status = () => connect(io, { id: undefined }).call('status')
  await expect(status()).rejects.toThrow(/no node answers .*\/mine\//)
  rmSync(join(dirs.mine, 'identity.kel'))
  markMoved(dirs.mine, { atMs: 0, archive: '/x.tar' })
  await expect(status()).rejects.toThrow(/was exported/)
})

test('silence of a node that is announced is told as a hanging one, else as none', async () => {
  const { io, node } = await running()
  const silent = new NoAnswer('no answer within 5 s')
  const target = findTarget(io, { id: undefined })
  expect(explain(io, target, silent).message).toMatch(/runs \(pid \d+\) but does not answer/)
  await node.stop()
  expect(explain(io, findTarget(io, { id: undefined }), silent)).toBeInstanceOf(UnreachableNode)
})

test('an answer may take as long as the call asked to wait, and a while', () => {
  expect(patience('thread', { interaction_id: 'x', wait_s: 45 }, {})).toBe(75_000)
  expect(patience('results', undefined, { wait_s: '45' })).toBe(75_000)
  expect(patience('inbox', { wait_s: 45 }, {})).toBe(75_000)
  expect([patience('thread', {}, {}), patience('status', undefined, {})]).toEqual([30_000, 5_000])
})
