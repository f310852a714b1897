/** Devices over the real socket: what an adapter says becomes an effect that claims no more than it may (node §2.2–§3.1). */
import { statSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { cidText, contentId } from '../../../protocol/crypto/hash.ts'
import { toBase64, utf8 } from '../../../protocol/encoding/bytes.ts'
import { type Effect, renderEffect } from '../../../protocol/proof/effect.ts'
import { anyAid } from '../../../protocol/testing/agents.ts'
import { Publication } from '../../hubs/publication.ts'
import { type TestNode, TestWorld } from '../../testing/node.ts'
import { limits } from './limits.ts'
import { module as svclink } from './module.ts'
import { type Line, type LinkWorld, openLink, TestAdapter, THERMOSTAT } from './testing.ts'

const [ALICE, CAROL] = fc.sample(anyAid, { numRuns: 2, seed: 1 }) as [string, string]
const SETTINGS = {
  capabilities: {
    'kitchen/temperature': { readers: [ALICE] },
    'kitchen/target': { allow: [ALICE] },
    'cellar/temperature': { readers: [ALICE] },
  },
}
const world = new TestWorld()
let node: TestNode
let link: LinkWorld
let adapter: TestAdapter

beforeAll(async () => {
  node = await world.node('bob')
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(async () => {
  await open()
  return () => link.ending.abort()
})

async function open(settings: object = {}): Promise<void> {
  link?.ending.abort()
  link = await openLink(node, { ...SETTINGS, ...settings })
  adapter = link.adapter
}
const describes = (line: Line, by = adapter) => by.describes(line)

type Given = { caller?: string; signal?: AbortSignal }
const call: LinkWorld['call'] = (...given) => link.call(...given)
const read = (capability: string, more: Line = {}, given: Given = {}) =>
  call('read', { device: 'kitchen', capability, ...more }, given)
const write = (capability: string, value: unknown) => call('write', { device: 'kitchen', capability, value })
async function answered(asked: Promise<Effect>, type: 'read' | 'write', reading: Line): Promise<Effect> {
  await adapter.answer(type, reading)
  return await asked
}
const reads = (capability: string, reading: Line, more: Line = {}) =>
  answered(read(capability, more), 'read', reading)
const writes = (capability: string, value: unknown, reading: Line) =>
  answered(write(capability, value), 'write', reading)

describe('the socket', () => {
  test('is a file that only its owner may open, and goes with the node', async () => {
    expect(statSync(link.path).mode & 0o777).toBe(0o600)
    link.ending.abort()
    await vi.waitFor(() => expect(adapter.isOver).toBe(true))
    expect(() => statSync(link.path)).toThrow('ENOENT')
  })

  test('is not there, nor any capability, where nothing is set', () => {
    const ground = { ...node.ctx, config: {}, publication: new Publication() }
    expect(svclink?.open(ground)).toEqual([])
  })
})

describe('a reading', () => {
  test('is a metric of its capability, under the trust of its description', async () => {
    const effect = await reads('temperature', { value: 21.5, native_ack: true, metrics: { humidity: 40 } })
    expect(JSON.parse(renderEffect(effect))).toEqual({
      status: 'OK',
      message: '',
      verifiable: true,
      metrics: { temperature: 21.5, humidity: 40 },
      evidence: {
        ...{ verify_trust: 2, auth_trust: 1, protocol: 'modbus' },
        ...{ requested: 'temperature', native_ack: true },
      },
    })
  })

  test('has only numbers as metrics; a text and a truth value are observed state, which nobody can check', async () => {
    expect(await reads('mode', { value: 'heat' })).toMatchObject({
      ...{ status: 'UNVERIFIED', message: 'executed, but nothing can be checked' },
      evidence: { observedState: 'heat' },
    })
    const lamp = await reads('lamp', { value: true })
    expect([lamp.record, lamp.evidence?.observedState]).toEqual([undefined, 'true'])
  })

  test('of another kind than described is a failure', async () => {
    expect(await reads('temperature', { value: 'warm' })).toMatchObject({
      ...{
        status: 'FAILED',
        message: 'the adapter answered temperature with a text, and described it as a number',
      },
    })
  })

  test.each([
    ['FAILED', 'sensor broken', 'FAILED', 'sensor broken'],
    ['FAILED', undefined, 'FAILED', 'the adapter says that it failed'],
    ['UNAVAILABLE', undefined, 'UNAVAILABLE', 'device offline'],
    ['UNVERIFIED', undefined, 'UNVERIFIED', 'executed, but below the trust that OK needs'],
  ])('that the adapter calls %s (%s) is %s: %s', async (status, message, expected, words) => {
    const more = message === undefined ? {} : { message }
    expect(await reads('temperature', { status, value: 1, ...more })).toMatchObject({
      ...{ status: expected, message: words },
    })
  })

  test('whose evidence claims what the node knows better has the word of the node', async () => {
    const claims = { requested: 'everything', protocol: 'shell', latency_ms: 1e9 }
    const { evidence } = await reads('temperature', { value: 1, ...claims })
    expect(evidence).toMatchObject({ requested: 'temperature', protocol: 'modbus', latencyMs: 0 })
  })
})

describe('trust', () => {
  test('is never more than the description, nor than the owner grants', async () => {
    const claims = { value: 1, verify_trust: 4, auth_trust: 'A4' }
    expect((await reads('temperature', claims)).evidence).toMatchObject({ verifyTrust: 2, authTrust: 1 })
    await describes({ ...THERMOSTAT, verify_trust: 4, auth_trust: 4 })
    expect((await reads('temperature', claims)).evidence).toMatchObject({ verifyTrust: 2, authTrust: 1 })
    await open({ verify_trust: 4, auth_trust: 3 })
    await describes({ ...THERMOSTAT, verify_trust: 'T3', auth_trust: 4 })
    expect((await reads('temperature', claims)).evidence).toMatchObject({ verifyTrust: 3, authTrust: 3 })
  })

  test('below V2 turns OK into UNVERIFIED, with the words of that or those of the adapter', async () => {
    await describes({ ...THERMOSTAT, verify_trust: 'V1' })
    expect(await reads('temperature', { value: 1 })).toMatchObject({
      ...{ status: 'UNVERIFIED', message: 'executed, but below the trust that OK needs' },
      record: { metrics: { temperature: 1 } },
    })
    expect(await reads('temperature', { value: 1, message: 'by radio' })).toMatchObject({
      ...{ status: 'UNVERIFIED', message: 'by radio' },
    })
  })

  test('is lowered by a quirk of the device, and by one that the adapter applied', async () => {
    const lamp = await reads('lamp', { value: true, metrics: { lamp: 1 } })
    expect(lamp).toMatchObject({ status: 'UNVERIFIED', evidence: { verifyTrust: 1, quirk: 'echoed-state' } })
    const own = await reads('temperature', { value: 1, quirk: 'of-the-vendor, assumed-state' })
    expect(own).toMatchObject({ evidence: { verifyTrust: 0, quirk: 'of-the-vendor,assumed-state' } })
  })
})

describe('a quirk', () => {
  test('corrects what is read and what is written, and stands in the evidence', async () => {
    expect(await reads('valve', { value: 30 })).toMatchObject({
      ...{ status: 'OK', record: { metrics: { valve: 70 } }, evidence: { quirk: 'inverted-percent' } },
    })
    const asked = write('valve', 70)
    expect(await adapter.answer('write', { value: 30 })).toMatchObject({ value: 30 })
    expect(await asked).toMatchObject({ status: 'OK', record: { metrics: { valve: 70 } } })
  })

  test('that nobody knows is no description', async () => {
    const [valve] = THERMOSTAT.capabilities
    adapter.say({ ...THERMOSTAT, capabilities: [{ ...valve, quirks: ['unheard-of'] }] })
    expect(await adapter.next('refused')).toMatchObject({
      error: expect.stringContaining('capabilities.0.quirks.0: expected a quirk: inverted-percent, '),
    })
  })
})

describe('a write', () => {
  test('that reads back as written is OK, and says what was asked', async () => {
    expect(await writes('target', 21, { value: 21.05, native_ack: true })).toMatchObject({
      status: 'OK',
      record: { metrics: { target: 21.05 } },
      evidence: { requested: 'target=21', nativeAck: true, verifyTrust: 2 },
    })
  })

  test.each([
    ['target', 21, 19, 'wrote 21, the device reports 19'],
    ['target', 21, 21.2, 'wrote 21, the device reports 21.2'],
    ['mode', 'heat', 'off', 'wrote heat, the device reports off'],
    ['lamp', true, false, 'wrote true, the device reports false'],
    ['valve', 70, 70, 'wrote 70, the device reports 30'],
  ])(
    'of %s that reads back otherwise is FAILED and names both: %s, %s',
    async (name, value, back, message) => {
      expect(await writes(name, value, { value: back })).toMatchObject({ status: 'FAILED', message })
    },
  )

  test('that is acknowledged and not read back is V1, and one without even that V0', async () => {
    const metrics = { effort: 3 }
    expect(await writes('target', 21, { native_ack: true, metrics })).toMatchObject({
      ...{ status: 'UNVERIFIED', evidence: { verifyTrust: 1 } },
    })
    expect(await writes('target', 21, { metrics })).toMatchObject({
      ...{ status: 'UNVERIFIED', evidence: { verifyTrust: 0 } },
    })
  })

  test.each([
    ['target', 4, 'expected value: 5 to 30 for target'],
    ['target', '21', 'expected value: a number for target'],
    ['target', undefined, 'expected value: a number for target'],
    ['mode', 'cool', 'expected value: heat or off'],
    ['lamp', 1, 'expected value: a boolean for lamp'],
    ['temperature', 1, 'temperature of kitchen has no write'],
    ['none', 1, 'kitchen has no none'],
  ])('of %s as %j never reaches the adapter: %s', async (capability, value, message) => {
    expect(await write(capability, value)).toMatchObject({ status: 'FAILED', message })
  })

  test('waits for no other one: the second is to be tried later', async () => {
    const first = write('target', 20)
    const asked = await adapter.next('write')
    expect(await write('target', 25)).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: 'another call writes target now' },
    })
    adapter.say({ type: 'result', id: asked['id'], status: 'OK', value: 20 })
    expect((await first).status).toBe('OK')
  })

  test('whose adapter dies or is late may have taken effect, and says so', async () => {
    const late = write('target', 20)
    await adapter.next('write')
    await link.timers.pass(limits.writeMs.value)
    expect(await late).toMatchObject({
      status: 'FAILED',
      message: 'the adapter of kitchen gave no answer within 20 s; whether it took effect is not known',
      evidence: { verifyTrust: 0, requested: 'target=20' },
    })
    const lost = write('target', 20)
    await adapter.next('write')
    adapter.end()
    expect(await lost).toMatchObject({
      ...{ status: 'FAILED', message: 'device offline; whether it took effect is not known' },
    })
  })
})

describe('a snapshot', () => {
  const frame = utf8('a picture')
  const snapshot = { media_type: 'image/jpeg', content: toBase64(frame) }

  test('is an artifact whose id the node computes', async () => {
    expect(await reads('picture', { snapshot })).toMatchObject({
      status: 'OK',
      record: {
        artifacts: [
          { path: 'snapshot', sizeBytes: 9, mediaType: 'image/jpeg', contentCid: contentId(frame) },
        ],
      },
    })
    const shown = JSON.parse(renderEffect(await reads('picture', { snapshot }))) as { artifacts: unknown }
    expect(shown.artifacts).toEqual([
      { path: 'snapshot', size_bytes: 9, media_type: 'image/jpeg', content_cid: cidText(contentId(frame)) },
    ])
  })

  test('is given whole where the caller asks for it', async () => {
    const effect = await reads('picture', { snapshot }, { content: true })
    expect(effect.evidence?.observedState).toBe(snapshot.content)
  })

  test('of an empty frame is not attached', async () => {
    const empty = await reads('picture', { snapshot: { ...snapshot, content: '' } })
    expect([empty.status, empty.record]).toEqual(['UNVERIFIED', undefined])
  })

  test('that is no base64, or too long, is a failure', async () => {
    const long = toBase64(new Uint8Array(limits.snapshotBytes.value + 1))
    expect(await reads('picture', { snapshot: { ...snapshot, content: '=' } })).toMatchObject({
      ...{ status: 'FAILED', message: 'the adapter answered with a snapshot that is no base64' },
    })
    expect(await reads('picture', { snapshot: { ...snapshot, content: long } })).toMatchObject({
      ...{ status: 'FAILED', message: `the snapshot has more than ${limits.snapshotBytes.value} bytes` },
    })
  })
})

test('a stream is an artifact whose path is its address, of media type RTSP and without content', async () => {
  const effect = await reads('film', { stream: 'rtsp://camera.example/1' })
  expect(effect.record).toEqual({ artifacts: [{ path: 'rtsp://camera.example/1', mediaType: 'RTSP' }] })
  adapter.say({ type: 'result', id: 1, status: 'OK', stream: 'rtsp://user:secret@camera.example/1' })
  expect(await adapter.next('refused')).toMatchObject({
    error: 'stream: expected an address such as rtsp://host/path, without a password',
  })
})

describe('a device', () => {
  test('that is not described, or offline, is UNAVAILABLE', async () => {
    const cellar = { device: 'cellar', capability: 'temperature' }
    expect(await call('read', cellar)).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: 'cellar has not described itself' },
      evidence: { verifyTrust: 0, authTrust: 0 },
    })
    await describes({ type: 'state', device: 'kitchen', online: false })
    expect(await read('temperature')).toMatchObject({ status: 'UNAVAILABLE', message: 'device offline' })
    await describes({ type: 'state', device: 'kitchen', online: true })
    expect((await reads('temperature', { value: 1 })).status).toBe('OK')
    await describes({ type: 'forget', device: 'kitchen' })
    expect(await read('temperature')).toMatchObject({ message: 'kitchen has not described itself' })
  })

  test('belongs to the adapter that described it, until that one ends', async () => {
    const other = await TestAdapter.open(link.path, 'other')
    other.say(THERMOSTAT)
    expect(await other.next('refused')).toEqual({
      ...{ type: 'refused', device: 'kitchen' },
      error: 'kitchen is described by the adapter test; give it another id',
    })
    other.say({ type: 'forget', device: 'kitchen' })
    other.say({ type: 'state', device: 'kitchen', online: false })
    for (const _ of ['forget', 'state'])
      expect(await other.next('refused')).toMatchObject({ error: 'describe kitchen first' })
    expect((await reads('temperature', { value: 1 })).status).toBe('OK')
    adapter.end()
    await vi.waitFor(async () => expect((await read('temperature')).message).toBe('device offline'))
    await describes(THERMOSTAT, other)
    const asked = read('temperature')
    await other.answer('read', { value: 2 })
    expect(await asked).toMatchObject({ record: { metrics: { temperature: 2 } } })
  })

  test('may change what it is', async () => {
    const capabilities = [{ capability: 'level', access: ['read'], kind: 'number' }]
    await describes({ ...THERMOSTAT, capabilities })
    expect(await read('temperature')).toMatchObject({
      status: 'FAILED',
      message: 'kitchen has no temperature',
    })
    expect((await reads('level', { value: 1 })).record).toEqual({ metrics: { level: 1 } })
  })

  test.each(['taskboard', 'shell', 'http'])(
    'of the protocol %s belongs to another module',
    async protocol => {
      adapter.say({ ...THERMOSTAT, protocol })
      expect(await adapter.next('refused')).toMatchObject({
        error: expect.stringContaining('taskboard, shell, http belong to other modules'),
      })
    },
  )
})

describe('a caller from afar', () => {
  const refused = { status: 'UNAVAILABLE', message: 'this caller is not allowed' }
  const records = () => node.ctx.chain.read({ eventType: 'svc.device.refused' }).map(one => one['payload'])

  test('reaches what the list of a capability says, and nothing else', async () => {
    const alice = { caller: ALICE }
    const asked = read('temperature', {}, alice)
    expect(await adapter.answer('read', { value: 1 })).toEqual({
      ...{ type: 'read', id: expect.any(Number), device: 'kitchen', capability: 'temperature' },
      timeout_ms: limits.readMs.value,
    })
    expect((await asked).status).toBe('OK')
    expect(await read('temperature', {}, { caller: CAROL })).toMatchObject(refused)
    expect(await read('mode', {}, alice)).toMatchObject(refused)
    const target = { device: 'kitchen', capability: 'target', value: 20 }
    const written = call('write', target, alice)
    await adapter.answer('write', { value: 20 })
    expect((await written).status).toBe('OK')
    expect(await call('write', { ...target, capability: 'temperature' }, alice)).toMatchObject(refused)
  })

  test('is not told which devices there are, and is recorded', async () => {
    expect(await call('read', { device: 'nowhere', capability: 'x' }, { caller: CAROL })).toMatchObject(
      refused,
    )
    expect(records().at(-1)).toEqual({
      ...{ caller: CAROL, capability: 'device.read', of: 'nowhere/x', reason: 'this caller is not allowed' },
    })
  })

  test('is shown what it may read', async () => {
    const listed = async (caller: string | undefined) =>
      JSON.parse(
        (await call('list', {}, caller === undefined ? {} : { caller })).evidence?.observedState ?? '',
      )
    expect(await listed(ALICE)).toMatchObject([
      {
        device: 'kitchen',
        online: true,
        capabilities: [{ capability: 'temperature' }, { capability: 'target' }],
      },
    ])
    expect(await listed(CAROL)).toEqual([])
    expect((await listed(undefined))[0].capabilities).toHaveLength(THERMOSTAT.capabilities.length)
  })
})

describe('a watch', () => {
  const watch = (more: Line = {}) => call('watch', { device: 'kitchen', capability: 'temperature', ...more })
  const event = (id: unknown, value: number) => adapter.say({ type: 'event', id, value })

  test('gives each reading that was not told yet, with its number, over one subscription', async () => {
    const first = watch()
    const { id } = await adapter.next('subscribe')
    event(id, 20)
    expect((await first).record?.metrics).toEqual({ temperature: 20, sequence: 1 })
    event(id, 21)
    event(id, 22)
    await describes(THERMOSTAT)
    expect((await watch({ after: 1 })).record?.metrics).toEqual({ temperature: 22, sequence: 3 })
    const third = watch({ after: 3, wait_s: 10 })
    await link.timers.pass(10_000)
    expect(await third).toMatchObject({ status: 'UNVERIFIED', message: 'nothing new within 10 s' })
    await link.timers.pass(limits.watchIdleMs.value)
    expect(await adapter.next('unsubscribe')).toEqual({ type: 'unsubscribe', id })
  })

  test('ends when the adapter ends it, or dies', async () => {
    const ended = watch()
    const { id } = await adapter.next('subscribe')
    adapter.say({ type: 'ended', id, message: 'no more' })
    expect(await ended).toMatchObject({ status: 'FAILED', message: 'no more' })
    const lost = watch()
    await adapter.next('subscribe')
    adapter.end()
    expect(await lost).toMatchObject({ status: 'UNAVAILABLE', message: 'device offline' })
  })

  test('judges what it hears by the description that holds then', async () => {
    const first = watch()
    const { id } = await adapter.next('subscribe')
    await describes({ ...THERMOSTAT, verify_trust: 0 })
    event(id, 20)
    expect(await first).toMatchObject({ status: 'UNVERIFIED', evidence: { verifyTrust: 0 } })
  })

  test.each([
    [{ wait_s: 31 }, 'expected wait_s: 0 to 30'],
    [{ after: 'x' }, 'expected after: a number'],
    [{ since: 1 }, 'unexpected argument: since; accepted: device, capability, after, wait_s'],
  ])('%j is refused: %s', async (more, message) => {
    expect(await watch(more)).toMatchObject({ status: 'FAILED', message })
  })
})
