/** The OPC UA adapter against a server of node-opcua, over the real protocol and a real node. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AdapterWorld, freePort } from './world.ts'

describe('a plant behind OPC UA', () => {
  const world = new AdapterWorld()
  let plant: ChildProcess
  let port: number
  const startPlant = (variant = 'A1') => {
    plant = world.program('opcua', 'plant.mjs', [String(port), variant])
  }

  beforeAll(async () => {
    port = await freePort()
    startPlant()
    await world.open()
    const names = ['Temperature', 'Target', 'Pump', 'Mode', 'Broken']
    const capabilities = names.map(name => ({ capability: name.toLowerCase(), node: `ns=1;s=${name}` }))
    const devices = [{ device: 'plant', capabilities }]
    const endpoint = `opc.tcp://127.0.0.1:${port}`
    world.adapter('opcua', world.settings({ endpoint, timeout_ms: 1500, poll_ms: 200, devices }))
    await world.until('plant', 'temperature', 'OK')
  })
  afterAll(() => world.close())

  test('is described as the server has it: kinds, and what may be written', async () => {
    expect(await world.described('plant', () => true)).toMatchObject({
      ...{ protocol: 'opcua', online: true, verify_trust: 2, auth_trust: 0 },
      capabilities: [
        { capability: 'temperature', kind: 'number', access: ['read', 'subscribe'] },
        { capability: 'target', kind: 'number', access: ['read', 'subscribe', 'write'] },
        { capability: 'pump', kind: 'boolean' },
        { capability: 'mode', kind: 'text' },
      ],
    })
  })

  test('is read and written; what is read back counts', async () => {
    expect(await world.read('plant', 'temperature')).toMatchObject({
      ...{ status: 'OK', metrics: { temperature: 61.5 }, evidence: { protocol: 'opcua', native_ack: true } },
    })
    expect(await world.write('plant', 'target', 70.25)).toMatchObject({
      status: 'OK',
      metrics: { target: 70.25 },
    })
    expect(await world.write('plant', 'pump', true)).toMatchObject({ status: 'OK', metrics: { pump: 1 } })
    expect(await world.write('plant', 'mode', 'hand')).toMatchObject({
      ...{ status: 'UNVERIFIED', evidence: { observed_state: 'hand' } },
    })
    expect(await world.write('plant', 'target', 80)).toMatchObject({
      ...{ status: 'FAILED', message: 'wrote 80, the device reports 75' },
    })
    expect(await world.write('plant', 'temperature', 1)).toMatchObject({
      ...{ status: 'FAILED', message: 'temperature of plant has no write' },
    })
  })

  test('tells changes to who watches', async () => {
    const asked = { device: 'plant', capability: 'target' }
    const first = await world.call('watch', asked)
    const next = world.call('watch', { ...asked, after: first.metrics?.['sequence'] })
    await world.write('plant', 'target', 44)
    expect(await next).toMatchObject({ status: 'OK', metrics: { target: 44 } })
  })

  test('that hangs gives no answer in time, and is back once it answers', async () => {
    plant.kill('SIGSTOP')
    expect(await world.write('plant', 'target', 50)).toMatchObject({
      message: expect.stringMatching(
        /^(no answer within 1.5 s; whether it took effect is not known|device offline)$/,
      ),
    })
    await world.until('plant', 'temperature', 'UNAVAILABLE')
    plant.kill('SIGCONT')
    await world.until('plant', 'temperature', 'OK')
  })

  test('that was replaced is described anew: its target may not be written any more', async () => {
    plant.kill('SIGKILL')
    await once(plant, 'exit')
    await world.until('plant', 'temperature', 'UNAVAILABLE')
    startPlant('B2')
    await world.until('plant', 'temperature', 'OK')
    expect(await world.write('plant', 'target', 50)).toMatchObject({
      ...{ status: 'FAILED', message: 'target of plant has no write' },
    })
  })
})

describe('a plant behind OPC UA that wants a user, and everything encrypted', () => {
  const world = new AdapterWorld()
  let port: number
  const pki = join(world.folder, 'pki')
  const devices = [{ device: 'plant', capabilities: [{ capability: 'target', node: 'ns=1;s=Target' }] }]
  const settings = (more: object = {}) =>
    world.settings({
      ...{ endpoint: `opc.tcp://127.0.0.1:${port}`, timeout_ms: 5000, poll_ms: 200, devices },
      ...{ security: 'encrypt', certificates: pki, username: 'engineer', password: 'secret', ...more },
    })
  const trust = () => {
    for (const name of readdirSync(join(pki, 'rejected')))
      renameSync(join(pki, 'rejected', name), join(pki, 'trusted', 'certs', name))
  }
  let plant: ChildProcess
  const startPlant = () => {
    plant = world.program('opcua', 'plant.mjs', [String(port), 'A1', 'encrypt'])
  }

  beforeAll(async () => {
    port = await freePort()
    startPlant()
    await world.open()
  }, 60_000)
  afterAll(() => world.close())

  test('is served once a person trusted its certificate, as one that proved who it is', async () => {
    const adapter = world.adapter('opcua', settings())
    await world.says(adapter, /does not trust the certificate.*rejected.*trusted\/certs/)
    expect(await world.read('plant', 'target')).toMatchObject({ status: 'UNAVAILABLE' })
    trust()
    await world.until('plant', 'target', 'OK')
    expect(await world.write('plant', 'target', 70)).toMatchObject({ status: 'OK', metrics: { target: 70 } })
    expect(await world.described('plant', () => true)).toMatchObject({ auth_trust: 2 })
  }, 60_000)

  test('with another certificate is another one, and is refused', async () => {
    plant.kill('SIGKILL')
    await once(plant, 'exit')
    await world.until('plant', 'target', 'UNAVAILABLE')
    startPlant()
    await new Promise(resolve => setTimeout(resolve, 4000))
    expect((await world.read('plant', 'target')).status).toBe('UNAVAILABLE')
    trust()
    await world.until('plant', 'target', 'OK')
  }, 60_000)

  test.each([
    ['a word that is none', { security: 'full' }, /security is full; use one of: none, sign, encrypt/],
    ['no folder', { certificates: undefined }, /security encrypt needs certificates/],
    ['a password in the clear', { security: 'none' }, /a username needs security sign or encrypt/],
    ['a wrong password', { password: 'wrong' }, /BadUserAccessDenied|BadIdentityToken/],
  ])(
    'settings with %s are told',
    async (_, more, message) => {
      await world.says(world.adapter('opcua', settings(more)), message)
    },
    60_000,
  )
})
