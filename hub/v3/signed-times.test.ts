/** Times of signed requests: replays, floors and restarts (hub API §5.1). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { headers } from '../../protocol/wire3/headers.ts'
import { DAY_MS } from '../core/limits.ts'
import {
  random,
  registeredAgent,
  request,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'

const MINUTE_MS = 60_000

let hub: TestHub

beforeAll(async () => {
  hub = await startTestHub()
})
afterAll(() => hub.close())

describe('times of signed requests', () => {
  const signedPoll = (agent: TestAgent, ts: number) => {
    const body = Buffer.from('{}')
    const signed = agent.sign('poll', 'POST', '/relay/poll', body, { ts })
    return request(`${hub.url}/relay/poll`, 'POST', { headers: signed, body })
  }

  test('refuses the same signature twice, and a time that does not rise, telling the floor', async () => {
    const agent = await registeredAgent(hub)
    const ts = hub.clock.now()
    expect((await signedPoll(agent, ts)).status).toBe(200)
    expectRefusal(await signedPoll(agent, ts), 'replayed')
    const earlier = await signedPoll(agent, ts - 1)
    expectRefusal(earlier, 'ts_stale', { floor: ts })
    expect(earlier.headers.get(headers.floor)).toBe(String(ts))
    expect((await signedPoll(agent, ts + 1)).status).toBe(200)
  })

  test('refuses times more than five minutes off, the late ones with a floor', async () => {
    const agent = await registeredAgent(hub)
    hub.clock.advance(20 * MINUTE_MS)
    const late = await signedPoll(agent, hub.clock.now() - 6 * MINUTE_MS)
    expect([late.status, late.json['reason']]).toEqual([401, 'ts_stale'])
    expect(Math.abs((late.json['floor'] as number) - hub.clock.now())).toBeLessThan(MINUTE_MS)
    expect((await signedPoll(agent, hub.clock.now() + 4 * MINUTE_MS)).status).toBe(200)
    const ahead = await signedPoll(agent, hub.clock.now() + 6 * MINUTE_MS)
    expectRefusal(ahead, 'unauthorized')
    expect(ahead.headers.get(headers.floor)).toBeNull()
    expect(ahead.json['error']).toContain('clock')
  })

  test('tells no floor to who has no valid signature', async () => {
    const agent = await registeredAgent(hub)
    agent.seed = random(32)
    const reply = await signedPoll(agent, 1)
    expectRefusal(reply, 'unauthorized')
    expect(reply.headers.get(headers.floor)).toBeNull()
  })

  test('accepts nothing again after a restart, neither late nor early times', async () => {
    const own = await startTestHub()
    const agent = await registeredAgent(own)
    const body = Buffer.from('{}')
    const poll = (ts: number) =>
      request(`${own.url}/relay/poll`, 'POST', {
        headers: agent.sign('poll', 'POST', '/relay/poll', body, { ts }),
        body,
      })
    const plain = own.clock.now()
    expect((await poll(plain)).status).toBe(200)
    const ahead = own.clock.now() + 4 * MINUTE_MS
    expect((await poll(ahead)).status).toBe(200)
    await own.restart()
    expect((await poll(plain)).json['reason']).toBe('ts_stale')
    expect((await poll(ahead)).json).toMatchObject({ reason: 'ts_stale', floor: ahead })
    expect((await poll(ahead + 1)).status).toBe(200)
    own.clock.advance(-DAY_MS)
    await own.restart()
    expect((await poll(own.clock.now())).json['reason']).toBe('ts_stale')
    await own.close()
  })
})
