/** The Modbus adapter against a plant of another implementation (python3-pymodbus), over the real protocol and a real node. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AdapterWorld, freePort, isThere } from './world.ts'

const PYTHON = '/usr/bin/python3'
const PLANT = fileURLToPath(new URL('plant.py', import.meta.url))
const has = isThere(PYTHON, '-c', 'import pymodbus')

describe.skipIf(!has)('a plant behind Modbus TCP', () => {
  const world = new AdapterWorld()
  let plant: ChildProcess
  let adapter: ChildProcess
  let port: number

  const startPlant = (model = 'A1') => {
    plant = world.start(PYTHON, [PLANT, String(port), model])
  }
  const settings = (more: object[] = []) =>
    world.settings({
      hosts: [
        {
          ...{ host: '127.0.0.1', port, timeout_ms: 500, poll_ms: 200 },
          devices: [
            {
              device: 'boiler',
              unit: 1,
              capabilities: [
                {
                  capability: 'temperature',
                  table: 'input',
                  address: 0,
                  type: 'int16',
                  scale: 0.1,
                  unit: '°C',
                },
                { capability: 'outside', table: 'input', address: 2, type: 'int16', scale: 0.1 },
                { capability: 'pressure', table: 'input', address: 4, type: 'float32', unit: 'bar' },
                { capability: 'energy', table: 'input', address: 6, type: 'uint32', words: 'little' },
                { capability: 'door', table: 'discrete', address: 0 },
                { capability: 'pump', table: 'coil', address: 0, write: true },
                { capability: 'target', table: 'holding', address: 10, scale: 0.1, write: true },
                { capability: 'flow', table: 'holding', address: 20, type: 'float32', write: true },
                { capability: 'nowhere', table: 'holding', address: 5000, write: true },
                ...more,
              ],
            },
          ],
        },
      ],
    })

  beforeAll(async () => {
    port = await freePort()
    startPlant()
    await world.open()
    adapter = world.adapter('modbus', settings())
    await world.until('boiler', 'temperature', 'OK')
  })
  afterAll(() => world.close())

  test('says what it is, by its own identification', async () => {
    expect(await world.described('boiler', () => true)).toMatchObject({
      ...{ protocol: 'modbus', vendor: 'Plants', model: 'A1', online: true, verify_trust: 2, auth_trust: 0 },
    })
  })

  test.each([
    ['temperature', 61.5],
    ['outside', -5.5],
    ['pressure', 1.25],
    ['energy', 123456],
    ['door', 1],
  ])('has %s as %d', async (capability, value) => {
    expect(await world.read('boiler', capability)).toMatchObject({
      status: 'OK',
      metrics: { [capability]: value },
      evidence: { protocol: 'modbus', native_ack: true, verify_trust: 2, requested: capability },
    })
  })

  test.each([
    ['target', 60.5],
    ['flow', 0.1],
    ['pump', 1],
    ['pump', 0],
  ])('takes %s=%d and reads it back', async (capability, value) => {
    expect(await world.write('boiler', capability, value)).toMatchObject({
      status: 'OK',
      metrics: { [capability]: value },
      evidence: { requested: `${capability}=${value}`, native_ack: true },
    })
  })

  test('that takes another value than was written is a failure that names both', async () => {
    expect(await world.write('boiler', 'target', 80)).toMatchObject({
      ...{ status: 'FAILED', message: 'wrote 80, the device reports 75' },
      metrics: { target: 75 },
    })
  })

  test('answers what it does not have with the exception of Modbus', async () => {
    expect(await world.read('boiler', 'nowhere')).toMatchObject({
      ...{ status: 'FAILED', message: expect.stringMatching(/^Modbus exception 2/) },
    })
    expect(await world.write('boiler', 'target', 9000)).toMatchObject({
      ...{ status: 'FAILED', message: '9000 does not fit into target' },
    })
  })

  test('tells changes to who watches', async () => {
    await world.write('boiler', 'pump', 0)
    const asked = { device: 'boiler', capability: 'pump' }
    const first = await world.call('watch', asked)
    expect(first).toMatchObject({ status: 'OK', metrics: { pump: 0 } })
    const next = world.call('watch', { ...asked, after: first.metrics?.['sequence'] })
    await world.write('boiler', 'pump', 1)
    expect(await next).toMatchObject({ status: 'OK', metrics: { pump: 1 } })
  })

  test('that hangs gives no answer in time; nobody knows of a write whether it took effect', async () => {
    plant.kill('SIGSTOP')
    expect(await world.write('boiler', 'target', 50)).toMatchObject({
      status: expect.stringMatching(/^(FAILED|UNAVAILABLE)$/),
      message: expect.stringMatching(
        /^(no answer within 0.5 s; whether it took effect is not known|device offline)$/,
      ),
    })
    expect(await world.until('boiler', 'temperature', 'UNAVAILABLE')).toMatchObject({
      message: 'device offline',
    })
    plant.kill('SIGCONT')
    expect(await world.until('boiler', 'temperature', 'OK')).toMatchObject({ metrics: { temperature: 61.5 } })
  })

  test('that was replaced by another model describes itself anew, over a new connection', async () => {
    plant.kill('SIGKILL')
    await once(plant, 'exit')
    await world.until('boiler', 'temperature', 'UNAVAILABLE')
    startPlant('B2')
    await world.until('boiler', 'temperature', 'OK')
    expect(await world.described('boiler', ({ model }) => model === 'B2')).toMatchObject({ online: true })
  })

  test('has another description once its settings changed', async () => {
    settings([{ capability: 'alarm', table: 'coil', address: 7 }])
    adapter.kill('SIGHUP')
    await world.until('boiler', 'alarm', 'OK')
    expect((await world.read('boiler', 'temperature')).status).toBe('OK')
  })

  test('is offline once its adapter was killed, and back with the next one', async () => {
    adapter.kill('SIGKILL')
    await once(adapter, 'exit')
    await world.until('boiler', 'temperature', 'UNAVAILABLE')
    adapter = world.adapter('modbus', settings())
    await world.until('boiler', 'temperature', 'OK')
  })
})
