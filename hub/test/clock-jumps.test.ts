/** The hub's clock jumps by an hour and by a day, both ways, while it runs and over a restart. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import { registeredAgent, request, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'

const PAST_FLOOR_MS = 10_000
const POLL = '/relay/poll'

let hub: TestHub
beforeAll(async () => {
  hub = await startTestHub()
})
afterAll(() => hub.close())

type Signed = { headers: Record<string, string>; body: Uint8Array }

function signPoll(agent: TestAgent, ts?: number): Signed {
  const body = utf8('{"limit": 10}')
  const signed = agent.sign('poll', 'POST', POLL, body, ts === undefined ? {} : { ts })
  return { headers: { 'Content-Type': 'application/json', ...signed }, body }
}

async function offer(given: Signed): Promise<{ code: unknown; floor: number; ids: number[] }> {
  const { status, json } = await request(`${hub.url}${POLL}`, 'POST', given)
  const messages = (json['messages'] ?? []) as { id: number }[]
  return {
    code: status === 200 ? 'accepted' : json['reason'],
    floor: Number(json['floor']),
    ids: messages.map(({ id }) => id),
  }
}

async function send(agent: TestAgent): Promise<unknown> {
  const reply = await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability()))
  return reply.json['status'] ?? reply.json['reason']
}

async function jump(ms: number, across: boolean): Promise<void> {
  hub.clock.advance(ms)
  if (across) await hub.restart()
}

const jumps = [
  ['an hour', HOUR_MS],
  ['a day', DAY_MS],
] as const
const places = [
  ['while it runs', false],
  ['over a restart', true],
] as const
const cases = jumps.flatMap(([name, ms]) =>
  places.map(([where, across]) => [name, where, ms, across] as const),
)

describe('the clock goes forward', () => {
  test.each(cases)(
    'by %s %s: mail stays, no request works twice, sessions end',
    async (_, __, ms, across) => {
      const agent = await registeredAgent(hub)
      const sender = await registeredAgent(hub)
      const session = await sender.openSession()
      expect(await send(agent)).toBe('queued')
      const accepted = signPoll(agent)
      const { ids } = await offer(accepted)
      const probationMs = (await hub.running.hub.context.store.findAgent(agent.aid))?.probationUntilMs

      await jump(ms, across)
      expect((await offer(accepted)).code).toMatch(/^(replayed|ts_stale)$/)
      const late = await sendEnvelope(hub, sealedForStranger(agent), session)
      expect(late.json['reason']).toBe('session_invalid')
      expect(await send(agent)).toBe('queued')
      const after = await offer(signPoll(agent))
      expect([after.code, after.ids.slice(0, 1)]).toEqual(['accepted', ids])
      expect(after.ids[1]).toBeGreaterThan(ids[0] as number)
      const row = await hub.running.hub.context.store.findAgent(agent.aid)
      expect(row?.probationUntilMs).toBe(probationMs)
    },
  )

  test('a signer whose own clock is right is told the floor, and is taken above it', async () => {
    const agent = await registeredAgent(hub)
    const right = hub.clock.now()
    hub.clock.advance(HOUR_MS)
    const refused = await offer(signPoll(agent, right + 1000))
    expect([refused.code, refused.floor]).toEqual(['ts_stale', expect.any(Number)])
    expect(refused.floor).toBeGreaterThan(right + HOUR_MS - 1000)
    expect((await offer(signPoll(agent, refused.floor + 1))).code).toBe('accepted')
  })
})

describe('the clock goes back', () => {
  test.each(cases)(
    'by %s %s: no floor falls, mail goes on, and all is well once it has caught up',
    async (_, __, ms, across) => {
      const agent = await registeredAgent(hub)
      expect(await send(agent)).toBe('queued')
      const accepted = signPoll(agent)
      const { ids } = await offer(accepted)

      await jump(-ms, across)
      expect((await offer(accepted)).code).toMatch(/^(replayed|ts_stale)$/)
      const refused = await offer(signPoll(agent, hub.clock.now()))
      expect(refused.code).toBe('ts_stale')
      expect((await offer(signPoll(agent, refused.floor + 1))).code).toBe('unauthorized')
      // Senders under a capability need no clock but that of the envelope.
      expect(await send(agent)).toBe('queued')

      hub.clock.advance(ms + PAST_FLOOR_MS)
      expect((await offer(accepted)).code).toMatch(/^(replayed|ts_stale|unauthorized)$/)
      const after = await offer(signPoll(agent, hub.clock.now()))
      expect([after.code, after.ids.length, after.ids[0]]).toEqual(['accepted', 2, ids[0]])
      expect(after.ids[1]).toBeGreaterThan(ids[0] as number)
    },
  )

  test('and what has expired before does not come back', async () => {
    const agent = await registeredAgent(hub)
    const expMs = Math.ceil(hub.clock.now() / HOUR_MS) * HOUR_MS
    const envelope = sealedUnderCapability(agent, agent.capability(), { expMs })
    expect((await sendEnvelope(hub, envelope)).status).toBe(200)
    hub.clock.advance(2 * HOUR_MS)
    while (await hub.running.hub.mailboxes.sweep(100));
    hub.clock.advance(-2 * HOUR_MS)
    await hub.restart()
    hub.clock.advance(2 * HOUR_MS)
    expect((await offer(signPoll(agent, hub.clock.now()))).ids).toEqual([])
  })
})
