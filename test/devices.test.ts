// project: programs

/** A device of bob's as alice calls it: a hub, two nodes and an adapter, each a program of its own, as the documents say. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const WAIT_MS = 60_000
type Effect = {
  status: string
  message: string
  verifiable?: boolean
  metrics?: Record<string, number>
  evidence: Record<string, unknown>
}

let world: World
let adapter: ChildProcess
let socket: string
let control: string
const aids = { alice: '', bob: '' }

beforeAll(async () => {
  world = new World({ svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') })
  const hub = await world.startHub()
  for (const name of ['alice', 'bob'] as const) {
    aids[name] = String((await world.startNode(name))['aid'])
    await world.hub('admit', aids[name])
    await world.svc(name, 'hub-register', hub.url)
  }
  await world.svc('alice', 'contact', 'add', aids.bob, 'bob')
  await world.svc('bob', 'contact', 'add', aids.alice, 'alice')
  const { data_dir } = await world.svc('bob', 'status')
  const config = join(String(data_dir), 'config.json')
  await world.svc('bob', 'stop')
  const capabilities = {
    'boiler/temperature': { readers: [aids.alice] },
    'boiler/target': { allow: [aids.alice] },
  }
  const settings = JSON.parse(readFileSync(config, 'utf8')) as object
  writeFileSync(config, JSON.stringify({ ...settings, modules: { svclink: { capabilities } } }))
  await world.startNode('bob')
  socket = join(String(data_dir), 'devices.sock')
  control = join(String((await world.svc('alice', 'status'))['data_dir']), 'control.sock')
})
afterAll(async () => {
  adapter.kill('SIGKILL')
  await world[Symbol.asyncDispose]()
})

async function startAdapter(): Promise<void> {
  adapter = spawn(world.node, [join(root, 'examples/boiler/boiler.mjs'), socket], { stdio: 'inherit' })
  await until(
    'the boiler is online',
    async () => (await tried('device.read', TEMPERATURE)).status !== 'UNAVAILABLE',
  )
}
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; ) {
    if (await isSo()) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`did not happen: ${what}`)
}

const TEMPERATURE = { device: 'boiler', capability: 'temperature' }
const TARGET = { device: 'boiler', capability: 'target' }
async function tried(capability: string, args: object): Promise<Effect> {
  const given = ['capability', 'test', capability, '--args', JSON.stringify(args)]
  return JSON.parse((await world.run(world.programs.svc, given, world.env('bob'))).stdout) as Effect
}

/** Calls as alice does, over the control interface of her node, and waits for the effect. */
async function called(capability: string, args: object): Promise<Effect> {
  const headers = { 'Content-Type': 'application/json' }
  const asking = request({ socketPath: control, path: '/delegate', method: 'POST', headers })
  asking.end(JSON.stringify({ to: 'bob', capability, args, wait_s: 30 }))
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  const { effect } = JSON.parse(await textOf(answer)) as { effect: Effect }
  return effect
}

test('the socket is a file of the data directory that only its owner may open', () => {
  expect(statSync(socket).mode & 0o777).toBe(0o600)
})

test('a device that no adapter has described is unavailable', async () => {
  expect(await tried('device.read', TEMPERATURE)).toMatchObject({
    ...{ status: 'UNAVAILABLE', message: 'boiler has not described itself' },
  })
})

describe('another node', () => {
  test('reads what it may read, as OK with a metric and evidence', async () => {
    await startAdapter()
    expect(await called('device.read', TEMPERATURE)).toMatchObject({
      status: 'OK',
      metrics: { temperature: 61.5 },
      evidence: { protocol: 'simulated', requested: 'temperature', verify_trust: 2, auth_trust: 0 },
    })
  })

  test('writes, and is told what was read back; where that differs the write failed', async () => {
    expect(await called('device.write', { ...TARGET, value: 70 })).toMatchObject({
      status: 'OK',
      metrics: { target: 70 },
      evidence: { requested: 'target=70', native_ack: true },
    })
    expect(await called('device.write', { ...TARGET, value: 78 })).toMatchObject({
      ...{ status: 'FAILED', message: 'wrote 78, the device reports 75' },
    })
  })

  test('reaches nothing beside its list, and the refusal is recorded', async () => {
    expect(await called('device.write', { ...TEMPERATURE, value: 1 })).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: 'this caller is not allowed' },
    })
    const { records } = (await world.svc('bob', 'evidence', '--type', 'svc.device.refused')) as {
      records: { payload: object }[]
    }
    expect(records.map(({ payload }) => payload)).toEqual([
      {
        ...{ caller: aids.alice, capability: 'device.write', of: 'boiler/temperature' },
        reason: 'this caller is not allowed',
      },
    ])
  })

  test('is told that the device is offline once its adapter was killed, and reads again after it came back', async () => {
    adapter.kill('SIGKILL')
    await once(adapter, 'exit')
    expect(await called('device.read', TEMPERATURE)).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: 'device offline' },
    })
    await startAdapter()
    expect(await called('device.read', TEMPERATURE)).toMatchObject({ metrics: { temperature: 61.5 } })
  })

  test('reads after a restart of the node, to which the adapter connects by itself', async () => {
    await world.svc('bob', 'stop')
    expect(existsSync(socket)).toBe(false)
    await world.startNode('bob')
    await until(
      'it is described again',
      async () => (await tried('device.read', TEMPERATURE)).status === 'OK',
    )
    expect(await called('device.read', TEMPERATURE)).toMatchObject({ status: 'OK' })
  })
})
