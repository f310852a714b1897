/** Adapters that flood, lie, break off and die: each harms itself alone. A good one beside them is served all the while. */
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { seed } from '../../../protocol/testing/slow.ts'
import { type TestNode, TestWorld } from '../../testing/node.ts'
import { limits } from './limits.ts'
import { type Line, type LinkWorld, openLink, TestAdapter, THERMOSTAT } from './testing.ts'

const RUNS = 150
const HELLO = { type: 'hello', version: 1, adapter: 'bad' }
const world = new TestWorld()
let node: TestNode
let link: LinkWorld
let bad: TestAdapter

beforeAll(async () => {
  node = await world.node('bob')
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(async () => {
  link = await openLink(node)
  bad = await TestAdapter.open(link.path, 'bad')
})
afterEach(async () => {
  await isServed()
  link.ending.abort()
})

const read = (more: Line = {}) => link.call('read', { device: 'kitchen', capability: 'temperature', ...more })

/** The good adapter answers, and its answer arrives. */
async function isServed(): Promise<void> {
  const asked = read()
  await link.adapter.answer('read', { value: 21 })
  expect(await asked).toMatchObject({ status: 'OK', record: { metrics: { temperature: 21 } } })
}
const over = (adapter: TestAdapter) => vi.waitFor(() => expect(adapter.isOver).toBe(true))
async function refusedWith(error: unknown, adapter = bad): Promise<void> {
  expect(await adapter.next('refused')).toEqual({ type: 'refused', error })
  await over(adapter)
}

const SAMPLES: Line[] = [
  HELLO,
  { ...THERMOSTAT, device: 'other' },
  { type: 'state', device: 'other', online: false },
  { type: 'forget', device: 'other' },
  { type: 'result', id: 1, status: 'OK', value: 1, metrics: { a: 1 }, quirk: 'tenths', verify_trust: 'V4' },
  { type: 'event', id: 1, value: 'x', snapshot: { media_type: 'image/png', content: 'AAAA' } },
  { type: 'ended', id: 1, message: 'x' },
]

describe('lines', () => {
  const anyValue = fc.jsonValue({ maxDepth: 3 })
  const hostile = fc.oneof(
    fc.string(),
    anyValue.map(value => JSON.stringify(value)),
    fc
      .tuple(
        fc.constantFrom(...SAMPLES),
        fc.constantFrom('type', 'id', 'device', 'value', 'metrics', '__proto__'),
        anyValue,
      )
      .map(([line, member, value]) => JSON.stringify({ ...line, [member]: value })),
    fc.tuple(fc.constantFrom(...SAMPLES), fc.nat(100)).map(([line, at]) => JSON.stringify(line).slice(0, at)),
  )

  test('of any kind end a connection or say something, and nothing else happens', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostile, { maxLength: 5 }), fc.boolean(), async (lines, isGreeted) => {
        const adapter = isGreeted ? await TestAdapter.open(link.path) : await TestAdapter.connect(link.path)
        adapter.raw(`${lines.join('\n')}\n`)
        await isServed()
        adapter.end()
      }),
      { numRuns: RUNS, seed },
    )
  })

  test('of any bytes are no JSON or no frame', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async bytes => {
        const adapter = await TestAdapter.open(link.path)
        adapter.raw(bytes)
        adapter.raw('\n\x00\n')
        await over(adapter)
      }),
      { numRuns: RUNS, seed },
    )
  })

  test('mean the same wherever they are cut', async () => {
    const text = SAMPLES.slice(1, 3)
      .map(line => `${JSON.stringify(line)}\n`)
      .join('')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 6 }), async cuts => {
        const places = [0, ...cuts.sort((a, b) => a - b), text.length]
        for (const [at, from] of places.slice(0, -1).entries()) {
          bad.raw(text.slice(from, places[at + 1]))
          await new Promise(setImmediate)
        }
        await bad.describes({ type: 'state', device: 'other', online: true })
        const { evidence } = await link.call('list')
        expect(JSON.parse(evidence?.observedState ?? '')).toMatchObject([
          { device: 'kitchen' },
          { device: 'other', online: true },
        ])
      }),
      { numRuns: 30, seed },
    )
  })

  test.each([
    ['x', 'a line is no JSON: JSON at 0: value is not one of JSON'],
    ['[1]', 'the line: expected an object'],
    ['{"type":"result","id":1,"status":"OK","value":1e999}', expect.stringContaining('a line is no JSON')],
    ['{"type":"state","type":"state"}', expect.stringContaining('a line is no JSON')],
    ['{"type":"nothing"}', 'type: expected another type'],
    [JSON.stringify(HELLO), 'hello was said already'],
  ])('%s is refused: %s', async (line, error) => {
    bad.raw(`${line}\n`)
    await refusedWith(error)
  })

  test.each([
    ['{"type":"result","id":1,"status":"OK","trust":4}', 'unknown member: trust'],
    [
      '{"type":"result","id":1,"status":"PAYMENT_REQUIRED"}',
      expect.stringContaining('status: expected OK or'),
    ],
    [
      '{"type":"result","id":1,"status":"OK","value":null}',
      'value: expected a number, true or false, or a text',
    ],
    ['{"type":"event","id":1,"value":[]}', expect.stringContaining('value: expected a number')],
    [JSON.stringify({ ...THERMOSTAT, device: 'odd', name: '\u3164lamp' }), expect.stringContaining('name: ')],
  ])('%s is refused alone: %s', async (line, error) => {
    await bad.describes({ ...THERMOSTAT, device: 'innocent' })
    bad.raw(`${line}\n`)
    expect(await bad.next('refused')).toMatchObject({ error })
    const asked = link.call('read', { device: 'innocent', capability: 'temperature' })
    await bad.answer('read', { value: 7 })
    expect(await asked).toMatchObject({ status: 'OK' })
  })

  test('before hello are refused, as is another version', async () => {
    const silent = await TestAdapter.connect(link.path)
    silent.say(THERMOSTAT)
    await refusedWith('begin with hello', silent)
    const later = await TestAdapter.connect(link.path)
    later.say({ ...HELLO, version: 2 })
    await refusedWith('version: expected 1', later)
  })
})

describe('an adapter that takes too much', () => {
  test('of a line is refused before the line ends', async () => {
    bad.raw('x'.repeat(limits.lineBytes.value + 1))
    await refusedWith(`a line has more than ${limits.lineBytes.value} bytes`)
  })

  test('time for a line is refused', async () => {
    bad.raw('{"type":')
    await isServed()
    await link.timers.pass(limits.lineMs.value)
    await refusedWith('a line did not end within 10 s')
  })

  test('time for its hello is refused', async () => {
    const silent = await TestAdapter.connect(link.path)
    await isServed()
    await link.timers.pass(limits.helloMs.value)
    await refusedWith('no hello within 5 s', silent)
  })

  test('of lines is refused, and one that keeps to the rate is not', async () => {
    const line = `${JSON.stringify({ type: 'result', id: 9, status: 'OK' })}\n`
    bad.raw(line.repeat(limits.burst.value - 10))
    await isServed()
    await link.timers.pass(1000)
    bad.raw(line.repeat(limits.linesPerSecond.value))
    await isServed()
    expect(bad.isOver).toBe(false)
    bad.raw(line.repeat(limits.burst.value))
    await refusedWith('more than 200 lines a second')
  })

  test('places is not let in', async () => {
    const more = Array.from({ length: limits.connections.value }, () => TestAdapter.connect(link.path))
    const all = await Promise.all(more)
    await vi.waitFor(() => expect(all.filter(one => one.isOver).length).toBe(2))
    for (const one of all) one.end()
  })

  test('devices keeps those that it has', async () => {
    const lamp = (device: string) => ({ ...THERMOSTAT, device, capabilities: [] })
    for (let n = 0; n <= limits.devices.value; n += 1) bad.say(lamp(`lamp-${n}`))
    expect(await bad.next('refused')).toEqual({
      ...{ type: 'refused', device: `lamp-${limits.devices.value}` },
      error: `an adapter may describe ${limits.devices.value} devices`,
    })
    expect(bad.isOver).toBe(false)
  })

  test('by coming and going pushes out what is offline, and nothing that is there', async () => {
    bad.end()
    const rounds = limits.devicesAll.value / limits.devices.value + 1
    for (let round = 0; round < rounds; round += 1) {
      const adapter = await TestAdapter.open(link.path, `round ${round}`)
      for (let n = 0; n < limits.devices.value - 1; n += 1)
        adapter.say({ ...THERMOSTAT, device: `lamp-${round}-${n}`, capabilities: [] })
      await adapter.describes({ ...THERMOSTAT, device: `last-${round}`, capabilities: [] })
      adapter.end()
      await over(adapter)
    }
    const { evidence } = await link.call('list')
    const listed = JSON.parse(evidence?.observedState ?? '') as { device: string }[]
    expect(listed).toHaveLength(limits.devicesAll.value)
    expect(listed.map(({ device }) => device)).toContain('kitchen')
    expect(listed.map(({ device }) => device)).not.toContain('lamp-0-0')
  })

  test('and reads nothing is left alone', async () => {
    await bad.describes({ ...THERMOSTAT, device: 'deaf' })
    bad.stall()
    for (let round = 0; round < 200 && !bad.isOver; round += 1) {
      const asked = Array.from({ length: limits.pending.value }, () => read({ device: 'deaf' }))
      await link.timers.pass(limits.readMs.value)
      const statuses = new Set((await Promise.all(asked)).map(({ status }) => status))
      if (statuses.has('UNAVAILABLE')) return
    }
    throw new Error('it was waited for without end')
  })
})

describe('answers', () => {
  test("with ids that nobody asked, of calls of others, or late, are nobody's", async () => {
    await bad.describes({ ...THERMOSTAT, device: 'liar' })
    const asked = read()
    const { id } = await link.adapter.next('read')
    for (const wrong of [Number(id), Number(id) + 1, 7, 2 ** 31 - 1])
      bad.say({ type: 'result', id: wrong, status: 'OK', value: 99 })
    await bad.describes({ type: 'state', device: 'liar', online: true })
    await link.timers.pass(limits.readMs.value)
    expect(await asked).toMatchObject({
      status: 'FAILED',
      message: 'the adapter of kitchen gave no answer within 10 s',
      evidence: { verifyTrust: 0 },
    })
    link.adapter.say({ type: 'result', id, status: 'OK', value: 98 })
  })

  test('come in any order, each to its own call', async () => {
    const asked = [1, 2, 3].map(() => read())
    const ids = [
      await link.adapter.next('read'),
      await link.adapter.next('read'),
      await link.adapter.next('read'),
    ]
    for (const [n, { id }] of [...ids.entries()].reverse())
      link.adapter.say({ type: 'result', id, status: 'OK', value: n })
    const values = (await Promise.all(asked)).map(({ record }) => record?.metrics?.['temperature'])
    expect(values).toEqual([0, 1, 2])
  })

  test('of an adapter that dies are told at once, all that wait for it; more than it may have wait for none', async () => {
    await bad.describes({ ...THERMOSTAT, device: 'mortal' })
    const asked = Array.from({ length: limits.pending.value }, () => read({ device: 'mortal' }))
    expect(await read({ device: 'mortal' })).toMatchObject({
      ...{ status: 'UNAVAILABLE', message: '64 calls wait for the adapter of mortal already' },
    })
    await bad.next('read')
    bad.end()
    const effects = await Promise.all(asked)
    expect(new Set(effects.map(({ message }) => message))).toEqual(new Set(['device offline']))
  })

  test('are not waited for when the caller leaves', async () => {
    const leaving = new AbortController()
    const asked = link.call('read', { device: 'kitchen', capability: 'mode' }, { signal: leaving.signal })
    await link.adapter.next('read')
    leaving.abort()
    expect(await asked).toMatchObject({ status: 'FAILED', message: 'the call was ended' })
  })
})
