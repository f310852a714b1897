import { request as rawHttp } from 'node:http'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { callRoute, random, registeredAgent, request, startTestHub } from '../testing/hub.ts'
import { addressBucket, addressRange, clientAddress, isProxy } from './address.ts'
import { RateBuckets } from './in-process/rates.ts'
import { WindowCounts } from './in-process/window-counts.ts'

describe('rate buckets', () => {
  test('give a burst at once and then one an interval', () => {
    const buckets = new RateBuckets({ perSecond: 10, burst: 3 })
    const taken = [0, 0, 0, 0, 100, 100, 1000].map(nowMs => buckets.take('a', nowMs))
    expect(taken).toEqual([0, 0, 0, 100, 0, 100, 0])
    expect(buckets.take('b', 0)).toBe(0)
  })

  test('never give more than rate and burst allow, whenever one asks', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(500), { maxLength: 200 }), steps => {
        const buckets = new RateBuckets({ perSecond: 5, burst: 4 })
        let nowMs = 0
        let given = 0
        for (const step of steps) {
          nowMs += step
          if (buckets.take('a', nowMs) === 0) given += 1
        }
        return given <= 4 + (nowMs / 1000) * 5 + 1e-6
      }),
    )
  })

  test('hold a bounded number of keys, those that were used last, however many ask', () => {
    const buckets = new RateBuckets({ perSecond: 0.001, burst: 1 }, 20_000)
    for (let i = 0; i < 200_000; i++) buckets.take(`address ${i}`, 0)
    expect([buckets.size <= 20_000, buckets.size > 15_000]).toEqual([true, true])
    expect([buckets.take('address 199999', 1), buckets.take('address 185000', 1)]).toEqual([999_999, 999_999])
    expect(buckets.take('address 1', 1)).toBe(0)
  })

  test('a window holds a bounded number of keys', () => {
    const counts = new WindowCounts(1000, 0, 2)
    for (const key of ['a', 'b', 'b', 'c']) counts.add(key, 1)
    expect(['a', 'b', 'c'].map(key => counts.used(key, 9, 1))).toEqual([0, 2, 1])
  })

  test('a window counts anew when the next begins', () => {
    const counts = new WindowCounts(1000, 0)
    counts.add('a', 10)
    counts.add('a', 990)
    expect([counts.used('a', 9, 999), counts.remainingMs(999), counts.used('a', 9, 1000)]).toEqual([2, 1, 0])
  })

  test('in the window in which another process counted before, half is used', () => {
    const counts = new WindowCounts(1000, 1999)
    counts.add('a', 1500)
    const used = (max: number, nowMs: number) => counts.used('a', max, nowMs)
    expect([used(4, 1999), used(5, 1999), used(1, 1999), used(5, 2000)]).toEqual([3, 3, 1, 0])
  })
})

describe('client addresses', () => {
  test.each([
    ['192.0.2.77', '192.0.2.77', '192.0.2'],
    ['::ffff:192.0.2.77', '192.0.2.77', '192.0.2'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2', '2001:db8:1'],
    ['2001:db8::1', '2001:db8:0:0', '2001:db8:0'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2', '2001:db8:1'],
    ['fe80::1%eth0', 'fe80:0:0:0', 'fe80:0:0'],
  ])('%s counts in the bucket %s and the range %s', (address, bucket, range) => {
    expect([addressBucket(address), addressRange(address)]).toEqual([bucket, range])
  })

  test('only a proxy on this machine may name another address, and only its own last word counts', () => {
    expect(clientAddress('127.0.0.1', '203.0.113.9, 198.51.100.7')).toBe('198.51.100.7')
    expect(clientAddress('::ffff:127.0.0.1', '2001:db8::1')).toBe('2001:db8::1')
    expect(clientAddress('203.0.113.9', '198.51.100.7')).toBe('203.0.113.9')
    expect(clientAddress('127.0.0.1', 'nonsense')).toBe('127.0.0.1')
    expect(clientAddress('127.0.0.2', '198.51.100.7')).toBe('127.0.0.2')
    const addresses = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '127.9.9.9', '10.0.0.1']
    expect(addresses.map(isProxy)).toEqual([true, true, true, false, false])
  })
})

describe('a hub that ends', () => {
  test('answers held polls and finishes requests under way', async () => {
    const hub = await startTestHub()
    const agent = await registeredAgent(hub)
    const held = agent.call('relayPoll', {}, { headers: { Prefer: 'wait=50' } })
    const found = await hub.running.hub.agents.find(agent.aid)
    while (!hub.running.hub.polls.holds(found?.row.number ?? 0))
      await new Promise(resolve => setTimeout(resolve, 5))
    await hub.close()
    expect((await held).json['messages']).toEqual([])
  })
})

test('an answer never holds the text of an unknown error', async () => {
  const hub = await startTestHub()
  Object.assign(hub.running.hub.context.store, {
    status: () => Promise.reject(new Error('secret inner text')),
  })
  const item = { rid: toBase64url(random(16)), handle: toBase64url(random(16)) }
  const reply = await callRoute(hub, 'relayStatus', { items: [item] })
  expect([reply.status, reply.json['reason']]).toEqual([500, 'internal'])
  expect(JSON.stringify(reply.json)).not.toContain('secret')
  expect(JSON.stringify(hub.alerts)).toContain('secret inner text')
  await hub.close()
})

test('answers over a kept connection after a refusal that left a body unread', async () => {
  const hub = await startTestHub()
  const statuses: number[] = []
  await new Promise<void>((resolve, reject) => {
    const sending = rawHttp(`${hub.url}/relay/poll`, {
      method: 'POST',
      headers: { 'X-Svc-Wire': '2', 'Content-Length': '1000' },
    })
    sending.on('error', reject)
    sending.on('response', response => {
      statuses.push(response.statusCode ?? 0)
      response.resume()
      response.on('end', resolve)
    })
    sending.end(Buffer.alloc(1000))
  })
  expect(statuses).toEqual([426])
  expect((await request(`${hub.url}/healthz`, 'GET')).status).toBe(200)
  await hub.close()
})
