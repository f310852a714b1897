import { beforeEach, describe, expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import type { HubClient } from '../hubs/hub.ts'
import { PeerAddresses } from './addresses.ts'

const MINUTE_MS = 60_000
const AT = 'agent.example:4001'

let timers: TestTimers
let addresses: PeerAddresses
let asked: string[]
let listed: () => string | undefined
beforeEach(() => {
  timers = new TestTimers()
  addresses = new PeerAddresses(timers)
  asked = []
  listed = () => AT
})

const hub = {
  direct: {
    async addressOf(aid: string) {
      asked.push(aid)
      return listed()
    },
  },
} as unknown as HubClient
const of = (aid = 'bob') => addresses.of(hub, aid)

describe('an address', () => {
  test('is asked of the hub once in ten minutes', async () => {
    expect([await of(), await of()]).toEqual([AT, AT])
    await timers.pass(10 * MINUTE_MS - 1)
    await of()
    expect(asked).toEqual(['bob'])
    await timers.pass(1)
    listed = () => undefined
    expect(await of()).toBeUndefined()
    expect(asked).toEqual(['bob', 'bob'])
  })

  test('that is not there is not asked for each time either', async () => {
    listed = () => undefined
    expect([await of(), await of()]).toEqual([undefined, undefined])
    expect(asked).toHaveLength(1)
  })

  test.each([
    '',
    'x',
    'host',
    'host:0',
    'host:65536',
    'a b:1',
    'user@host:1',
    'host:1/path',
    `${'a'.repeat(256)}:1`,
  ])('is none where the hub lists %j', async address => {
    listed = () => address
    expect(await of()).toBeUndefined()
  })

  test('stays what it was while the hub does not answer', async () => {
    await of()
    await timers.pass(11 * MINUTE_MS)
    listed = () => {
      throw new Error('no answer')
    }
    expect(await of()).toBe(AT)
    expect(await of('carol')).toBeUndefined()
  })

  test('that took nothing rests for a minute, and is asked for again', async () => {
    await of()
    addresses.rest('bob')
    expect(await of()).toBeUndefined()
    await timers.pass(MINUTE_MS - 1)
    expect(await of()).toBeUndefined()
    expect(await of('carol')).toBe(AT)
    await timers.pass(1)
    listed = () => 'elsewhere.example:1'
    expect(await of()).toBe('elsewhere.example:1')
  })

  test('of somebody never asked about does not rest', async () => {
    addresses.rest('bob')
    expect(await of()).toBe(AT)
  })

  test('is kept of a thousand, and the oldest is forgotten', async () => {
    for (let i = 0; i <= 1000; i++) await of(`agent-${i}`)
    await of('agent-1000')
    await of('agent-1')
    expect(asked).toHaveLength(1001)
    await of('agent-0')
    expect(asked).toHaveLength(1002)
  })
})
