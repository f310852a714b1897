/** The path of the socket, and devices that are odd or change while they are asked. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import { checkConfig } from '../../home/config.ts'
import { Publication } from '../../hubs/publication.ts'
import { type TestNode, TestWorld } from '../../testing/node.ts'
import { module as svclink } from './module.ts'
import { openLink, TestAdapter, THERMOSTAT } from './testing.ts'

const world = new TestWorld()
let node: TestNode
beforeAll(async () => {
  node = await world.node('bob')
})
afterAll(() => world[Symbol.asyncDispose]())

/** Opens the module at a path of its own choice. */
function openAt(socket: string): AbortController {
  const ending = new AbortController()
  const config = checkConfig({ modules: { svclink: { socket } } }).modules ?? {}
  const log = pino({ level: 'silent' })
  const timers = new TestTimers()
  svclink?.open({ ...node.ctx, config, log, publication: new Publication(), timers, ending: ending.signal })
  return ending
}
const folder = () => mkdtempSync(join(tmpdir(), 'svc-found-'))
const turns = async () => {
  for (let n = 0; n < 20; n++) await nextTurn()
}

describe('the path of the socket', () => {
  test('holds a file that is no socket: it is left as it is', async () => {
    const path = join(folder(), 'notes.txt')
    writeFileSync(path, 'precious')
    const ending = openAt(path)
    await turns()
    ending.abort()
    expect(readFileSync(path, 'utf8')).toBe('precious')
  })

  test('holds a folder: the node works on without the socket', () => {
    const path = join(folder(), 'folder')
    mkdirSync(path)
    expect(() => openAt(path).abort()).not.toThrow()
  })

  test('is in use by another node: that one keeps it, and the second works on without', async () => {
    const path = join(folder(), 'devices.sock')
    const first = openAt(path)
    await vi.waitFor(() => expect(existsSync(path)).toBe(true))
    const { ino } = statSync(path)
    const second = openAt(path)
    await turns()
    second.abort()
    await turns()
    expect(statSync(path).ino).toBe(ino)
    await TestAdapter.open(path)
    first.abort()
  })

  test('has a socket at which nobody listens any more: it is replaced', async () => {
    const path = join(folder(), 'devices.sock')
    const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    spawnSync(process.execPath, ['-e', script])
    expect(existsSync(path)).toBe(true)
    const ending = openAt(path)
    await vi.waitFor(async () => void (await TestAdapter.open(path)))
    ending.abort()
  })
})

test('every refusal of a caller is in the evidence chain, whatever it named', async () => {
  const link = await openLink(node)
  const length = node.ctx.chain.length
  const device = `${'a'.repeat(128)}😀`
  const effect = await link.call('read', { device, capability: 'x' }, { caller: node.ctx.identity.aid })
  link.ending.abort()
  expect([effect.status, effect.message]).toEqual(['UNAVAILABLE', 'this caller is not allowed'])
  expect(node.ctx.chain.length).toBe(length + 1)
})

const described = async (capability: object) => {
  const link = await openLink(node)
  await link.adapter.describes({ ...THERMOSTAT, device: 'own', capabilities: [capability] })
  return link
}

test.each([12.7, 0.1, 33.3])('an inverted percentage that took effect is OK: %d', async value => {
  const link = await described({
    ...{ capability: 'cover', access: ['read', 'write'], kind: 'number', quirks: ['inverted-percent'] },
  })
  const asked = link.call('write', { device: 'own', capability: 'cover', value })
  const line = await link.adapter.next('write')
  link.adapter.say({ type: 'result', id: line['id'], status: 'OK', value: line['value'] })
  const effect = await asked
  link.ending.abort()
  expect([effect.status, effect.message]).toEqual(['OK', ''])
})

test('a capability may not be called as the count of readings is', async () => {
  const link = await openLink(node)
  const capability = { capability: 'sequence', access: ['subscribe'], kind: 'number' }
  link.adapter.say({ ...THERMOSTAT, device: 'own', capabilities: [capability] })
  expect(await link.adapter.next('refused')).toMatchObject({
    device: 'own',
    error: expect.stringContaining('sequence counts readings'),
  })
  link.ending.abort()
})

test('the address of a stream, and a number that was not given, prove nothing', async () => {
  const link = await openLink(node)
  const read = async (capability: string, reading: object) => {
    const asked = link.call('read', { device: 'kitchen', capability })
    await link.adapter.answer('read', { ...reading })
    const { status, evidence } = await asked
    return [status, evidence?.verifyTrust]
  }
  expect(await read('film', { stream: 'rtsp://camera.example/1' })).toEqual(['UNVERIFIED', 1])
  expect(await read('temperature', { metrics: { other: 1 } })).toEqual(['UNVERIFIED', 1])
  expect(await read('temperature', { metrics: { temperature: 1 } })).toEqual(['OK', 2])
  link.ending.abort()
})

test('trust of a device that was let go while it was asked is none', async () => {
  const link = await described({ capability: 'flow', access: ['read'], kind: 'number' })
  const asked = link.call('read', { device: 'own', capability: 'flow' })
  const line = await link.adapter.next('read')
  link.adapter.say({ type: 'forget', device: 'own' })
  link.adapter.say({ type: 'result', id: line['id'], status: 'OK', value: 5 })
  const effect = await asked
  link.ending.abort()
  expect([effect.status, effect.evidence?.verifyTrust]).toEqual(['UNVERIFIED', 0])
})

test('devices as large as the limits allow are still listed', { timeout: 60_000 }, async () => {
  const link = await openLink(node)
  const values = Array.from({ length: 60 }, (_, n) => `${n}`.padEnd(250, 'x'))
  const capabilities = Array.from({ length: 64 }, (_, n) => ({
    ...{ capability: `c${n}`, access: ['read'], kind: 'text', values },
  }))
  const adapters = [
    link.adapter,
    await TestAdapter.open(link.path, 'two'),
    await TestAdapter.open(link.path, 'three'),
  ]
  for (const [a, adapter] of adapters.entries())
    for (let n = 0; n < 200; n++)
      await adapter.describes({ ...THERMOSTAT, device: `d${a}-${n}`, capabilities })
  const effect = await link.call('list')
  link.ending.abort()
  expect([effect.status, effect.message]).toEqual(['OK', ''])
})

test('trust is the least of what the description says when the answer comes', async () => {
  const capability = { capability: 'flow', access: ['read', 'write'], kind: 'number' }
  const link = await described(capability)
  const asked = link.call('write', { device: 'own', capability: 'flow', value: 5 })
  const line = await link.adapter.next('write')
  await link.adapter.describes({ ...THERMOSTAT, device: 'own', verify_trust: 0, capabilities: [capability] })
  link.adapter.say({ type: 'result', id: line['id'], status: 'OK', value: 5 })
  const effect = await asked
  link.ending.abort()
  expect([effect.status, effect.evidence?.verifyTrust]).toEqual(['UNVERIFIED', 0])
})

test('a text of 4096 bytes may be written, as the documents say', async () => {
  const link = await described({ capability: 'label', access: ['write'], kind: 'text' })
  const value = 'x'.repeat(4096)
  const asked = link.call('write', { device: 'own', capability: 'label', value })
  const sent = await Promise.race([link.adapter.next('write'), asked])
  link.ending.abort()
  expect(sent).toMatchObject({ type: 'write', value })
})
