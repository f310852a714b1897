/** Each limit of what a device may have and say, at its edge and one above. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestNode, TestWorld } from '../../testing/node.ts'
import { limits } from './limits.ts'
import { type Line, type LinkWorld, openLink, THERMOSTAT } from './testing.ts'

const world = new TestWorld()
let node: TestNode
let link: LinkWorld
beforeAll(async () => {
  node = await world.node('bob')
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(async () => {
  link = await openLink(node)
})
afterEach(() => link.ending.abort())

/** A device with so many capabilities, each of which may be watched. */
const deviceOf = (device: string, count: number): Line => ({
  ...{ ...THERMOSTAT, device },
  capabilities: Array.from({ length: count }, (_, n) => ({
    capability: `c${n}`,
    access: ['read', 'subscribe'],
    kind: 'number',
  })),
})
async function reads(reading: Line) {
  const asked = link.call('read', { device: 'kitchen', capability: 'temperature' })
  await link.adapter.answer('read', { value: 21, ...reading })
  return await asked
}
const metricsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]))

test('a device has so many capabilities, and with one more it is not described', async () => {
  const { value } = limits.capabilities
  await link.adapter.describes(deviceOf('full', value))
  const asked = link.call('read', { device: 'full', capability: `c${value - 1}` })
  await link.adapter.answer('read', { value: 1 })
  expect(await asked).toMatchObject({ status: 'OK' })
  link.adapter.say(deviceOf('fuller', value + 1))
  expect(await link.adapter.next('refused')).toMatchObject({ error: expect.stringContaining('capabilities') })
})

/** An answer that says more than it may counts as none, and the next one is taken. */
async function refuses(reading: Line, words: string): Promise<void> {
  const { status, message } = await reads(reading)
  expect([status, message]).toEqual(['FAILED', expect.stringContaining(words)])
  expect(await link.adapter.next('refused')).toMatchObject({ error: expect.stringContaining(words) })
  expect((await reads({})).status).toBe('OK')
}

test('a reading has so many metrics, and with one more it is refused', async () => {
  const { value } = limits.metrics
  const most = await reads({ metrics: metricsOf(value) })
  expect([most.status, most.record?.metrics?.[`m${value - 1}`]]).toEqual(['OK', value - 1])
  await refuses({ metrics: metricsOf(value + 1) }, `expected at most ${value} metrics`)
})

test('an observed state has so many bytes, and with one more it is refused', async () => {
  const { value } = limits.observedBytes
  expect((await reads({ observed_state: 'x'.repeat(value) })).status).toBe('OK')
  await refuses({ observed_state: 'x'.repeat(value + 1) }, 'observed_state')
})

test('a snapshot that is longer than a caller gets whole is named, and not given', async () => {
  const { value } = limits.contentBytes
  const given = async (bytes: number) => {
    const asked = link.call('read', { device: 'kitchen', capability: 'picture', content: true })
    const content = Buffer.alloc(bytes).toString('base64')
    await link.adapter.answer('read', { snapshot: { media_type: 'image/png', content } })
    const { record, evidence } = await asked
    return [record?.artifacts?.[0]?.sizeBytes, evidence?.observedState === content]
  }
  expect(await given(value)).toEqual([value, true])
  expect(await given(value + 1)).toEqual([value + 1, false])
})

test('so many subscriptions are kept for callers, and one more is refused until one ends', async () => {
  const devices = Math.ceil(limits.watches.value / limits.capabilities.value) + 1
  for (let n = 0; n < devices; n++) await link.adapter.describes(deviceOf(`d${n}`, limits.capabilities.value))
  const watch = (n: number) => {
    const [device, capability] = [Math.floor(n / limits.capabilities.value), n % limits.capabilities.value]
    return link.call('watch', { device: `d${device}`, capability: `c${capability}`, wait_s: 0 })
  }
  const kept: Promise<unknown>[] = []
  for (let n = 0; n < limits.watches.value; n++) {
    kept.push(watch(n))
    await link.adapter.next('subscribe')
  }
  const more = watch(limits.watches.value)
  expect(await more).toMatchObject({
    status: 'UNAVAILABLE',
    message: `there are ${limits.watches.value} subscriptions already`,
  })
  await link.timers.pass(limits.watchIdleMs.value)
  await Promise.all(kept)
  void watch(limits.watches.value)
  expect(await link.adapter.next('subscribe')).toMatchObject({ type: 'subscribe' })
})
