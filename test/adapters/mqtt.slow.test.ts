/** The MQTT adapter at a real broker (mosquitto), with a bridge in the form of zigbee2mqtt and a real node. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AdapterWorld, freePort, isThere } from './world.ts'

const BROKER = '/usr/sbin/mosquitto'
const LAMP = '0x00124b0000000001'
const SENSOR = '0x00124b0000000002'
const has = isThere('/bin/sh', '-c', `test -x ${BROKER}`)

describe.skipIf(!has)('a lamp and a sensor behind a bridge', () => {
  const world = new AdapterWorld()
  let broker: ChildProcess
  let bridge: ChildProcess
  let url: string

  const startBroker = () => {
    broker = world.start(BROKER, ['-c', join(world.folder, 'broker.conf')])
  }
  const startBridge = (...more: string[]) => {
    bridge = world.program('mqtt', 'bridge.mjs', [url, ...more])
  }

  beforeAll(async () => {
    const port = await freePort()
    url = `mqtt://127.0.0.1:${port}`
    writeFileSync(
      join(world.folder, 'broker.conf'),
      `listener ${port} 127.0.0.1\nallow_anonymous true\nlog_type none\n`,
    )
    startBroker()
    startBridge()
    await world.open()
    world.adapter('mqtt', world.settings({ url, timeout_ms: 1500 }))
    await world.until(LAMP, 'brightness', 'OK')
  })
  afterAll(() => world.close())

  test('are described as the bridge exposes them', async () => {
    expect(await world.described(LAMP, () => true)).toMatchObject({
      ...{ protocol: 'zigbee', name: 'lamp', vendor: 'Lamps', model: 'LED1', online: true, auth_trust: 1 },
      capabilities: [
        { capability: 'state', kind: 'boolean', access: ['read', 'subscribe', 'write'] },
        { capability: 'brightness', kind: 'number', minimum: 0, maximum: 254 },
        { capability: 'effect', kind: 'text', values: ['blink', 'none'], quirks: ['echoed-state'] },
      ],
    })
    expect(await world.described(SENSOR, () => true)).toMatchObject({
      ...{ name: 'hall/sensor', model: 'T1' },
    })
  })

  test('take a write, which is read back from the device', async () => {
    expect(await world.write(LAMP, 'brightness', 150)).toMatchObject({
      ...{ status: 'OK', metrics: { brightness: 150 } },
      evidence: {
        requested: 'brightness=150',
        protocol: 'zigbee',
        native_ack: true,
        verify_trust: 2,
        auth_trust: 1,
      },
    })
    expect(await world.write(LAMP, 'state', true)).toMatchObject({
      ...{ status: 'OK', metrics: { state: 1 }, evidence: { observed_state: 'true' } },
    })
  })

  test('that take another value than was written have failed, although the bridge told the one that was written', async () => {
    expect(await world.write(LAMP, 'brightness', 250)).toMatchObject({
      ...{ status: 'FAILED', message: 'wrote 250, the device reports 200' },
    })
  })

  test('that can only be asked at the bridge are V1, with the quirk that says so', async () => {
    expect(await world.read(SENSOR, 'temperature')).toMatchObject({
      status: 'UNVERIFIED',
      metrics: { temperature: 21.5 },
      evidence: { verify_trust: 1, quirk: 'cached-state' },
    })
    expect(await world.read(SENSOR, 'contact')).toMatchObject({ metrics: { contact: 1 } })
    expect(await world.write(LAMP, 'effect', 'blink')).toMatchObject({
      ...{
        status: 'UNVERIFIED',
        evidence: { verify_trust: 1, quirk: 'echoed-state', observed_state: 'blink' },
      },
    })
  })

  test('tell changes to who watches', async () => {
    const asked = { device: LAMP, capability: 'brightness' }
    const next = world.call('watch', asked)
    await world.write(LAMP, 'brightness', 33)
    expect(await next).toMatchObject({ status: 'OK', metrics: { brightness: 33 } })
  })

  test('behind a bridge that hangs give no answer in time', async () => {
    bridge.kill('SIGSTOP')
    expect(await world.read(LAMP, 'brightness')).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: 'no answer of the device within 1.5 s' },
    })
    expect(await world.write(LAMP, 'brightness', 10)).toMatchObject({
      status: 'FAILED',
      message: 'no answer of the device within 1.5 s; whether it took effect is not known',
    })
    bridge.kill('SIGCONT')
    await world.until(LAMP, 'brightness', 'OK')
  })

  test('are offline with their bridge, and described anew by the next one under the same address', async () => {
    bridge.kill('SIGKILL')
    await once(bridge, 'exit')
    expect(await world.until(LAMP, 'brightness', 'UNAVAILABLE')).toMatchObject({ message: 'device offline' })
    startBridge('desk lamp', 'LED2')
    expect(await world.described(LAMP, ({ model }) => model === 'LED2')).toMatchObject({ name: 'desk lamp' })
    await world.until(LAMP, 'brightness', 'OK')
  })

  test('are offline with the broker, and come back with it', async () => {
    broker.kill('SIGKILL')
    await once(broker, 'exit')
    await world.until(LAMP, 'brightness', 'UNAVAILABLE')
    startBroker()
    await world.until(LAMP, 'brightness', 'OK')
  })
})
