/** The directory: buckets, listings and counters (hub API §4.2, §4.3). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { openBox } from '../../protocol/identity/directory.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { KeyStateNotice, noticeAgrees } from '../../protocol/identity/keyset.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import { MODE_SETTING } from '../core/membership/admission.ts'
import {
  callRoute,
  type Reply,
  random,
  registeredAgent,
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

const servedLog = async (agent: TestAgent) => {
  const reply = await callRoute(hub, 'agentKel', undefined, { params: { aid: agent.aid } })
  return verifyKel(decodeKel(fromBase64url(reply.json['kel'] as string)))
}

describe('directory', () => {
  test('hides everybody in one bucket while there are few, and refuses narrower ones', async () => {
    const agent = await registeredAgent(hub)
    const bucket = await callRoute(hub, 'directoryBucket', { prefix: '', bits: 0 })
    const entries = bucket.json['entries'] as { h: string; box: string }[]
    expect(entries.map(entry => entry.h)).toEqual([...entries.map(entry => entry.h)].sort(byBytes))
    const mine = entries.flatMap(entry => {
      try {
        return [openBox(agent.aid, fromBase64url(entry.box))]
      } catch {
        return []
      }
    })
    expect(mine.length).toBe(1)
    const log = verifyKel(mine[0]?.kel ?? [])
    expect(log.aid).toBe(agent.aid)
    const narrow = await callRoute(hub, 'directoryBucket', {
      prefix: toBase64url(new Uint8Array(2)),
      bits: 10,
    })
    expectRefusal(narrow, 'bucket_too_narrow', { max_bits: 0 })
    expectRefusal(await callRoute(hub, 'directoryBucket', { prefix: 'AA', bits: 0 }), 'bad_request')
  })

  test('gives narrower buckets as the hub grows, page by page, each agent once', async () => {
    const own = await startTestHub()
    const { store } = own.running.hub.context
    const template = (await store.findAgent((await registeredAgent(own)).aid)) ?? raise()
    for (let i = 0; i < 600; i++) {
      const entry = { h: random(32), box: random(64) }
      await store.putAgent({
        row: { ...template, aid: `agent ${i}`, version: 0 },
        entry,
        terms: [],
      })
    }
    own.clock.advance(MINUTE_MS)
    const identity = await callRoute(own, 'hubIdentity', undefined)
    expect(identity.json['dir_max_bits']).toBe(4)
    const seen: string[] = []
    for (let first = 0; first < 2; first++) {
      let cursor: string | undefined
      do {
        const prefix = toBase64url(Uint8Array.of(first << 7))
        const page = await callRoute(own, 'directoryBucket', { prefix, bits: 1, ...(cursor && { cursor }) })
        seen.push(...(page.json['entries'] as { h: string }[]).map(entry => entry.h))
        cursor = page.json['next'] as string | undefined
      } while (cursor !== undefined)
    }
    expect(new Set(seen).size).toBe(601)
    expect(seen.length).toBe(601)
    await own.close()
  })

  test('cuts a bucket of large entries, and says where it goes on', async () => {
    const own = await startTestHub()
    const { store } = own.running.hub.context
    const template = (await store.findAgent((await registeredAgent(own)).aid)) ?? raise()
    for (let i = 0; i < 7; i++) {
      const entry = { h: random(32), box: random(200 * 1024) }
      await store.putAgent({ row: { ...template, aid: `agent ${i}`, version: 0 }, entry, terms: [] })
    }
    const sizes: number[] = []
    let cursor: string | undefined
    do {
      const { json } = await callRoute(own, 'directoryBucket', {
        prefix: '',
        bits: 0,
        ...present({ cursor }),
      })
      sizes.push((json['entries'] as unknown[]).length)
      cursor = json['next'] as string | undefined
    } while (cursor !== undefined)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(8)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(3)
    await own.close()
  })

  test('lists agents in AID order with a cursor, and finds text', async () => {
    const own = await startTestHub()
    const agents = []
    for (let i = 0; i < 5; i++) agents.push(await registeredAgent(own))
    await agents[2]?.call('updateProfile', { summary: 'Knows HARBOURS' })
    const list = (query: Record<string, string>) => callRoute(own, 'a2aAgents', undefined, { query })
    const aidsOf = (reply: Reply) => (reply.json['agents'] as { aid: string }[]).map(agent => agent.aid)
    const first = await list({ limit: '3' })
    const rest = await list({ limit: '3', cursor: first.json['next'] as string })
    expect([...aidsOf(first), ...aidsOf(rest)]).toEqual(agents.map(agent => agent.aid).sort())
    expect(rest.json['next']).toBeUndefined()
    expect(aidsOf(await list({ q: 'harbours' }))).toEqual([agents[2]?.aid])
    expectRefusal(await list({ limit: '0' }), 'bad_request')
    expectRefusal(await list({ cursor: 'nonsense' }), 'bad_request')
    await own.close()
  })

  test('finds agents by capability: exact, one of several, or a family', async () => {
    const own = await startTestHub()
    const [painter, baker] = [await registeredAgent(own), await registeredAgent(own)]
    await painter.call('updateProfile', { caps: ['paint.wall', 'paint_door'] })
    await baker.call('updateProfile', { caps: ['bake.bread'] })
    const find = async (cap: string) => {
      const reply = await callRoute(own, 'agents', undefined, { query: { cap } })
      return (reply.json['agents'] as { aid: string }[] | undefined)?.map(agent => agent.aid) ?? reply.status
    }
    const both = [painter.aid, baker.aid].sort()
    expect(await find('paint.wall')).toEqual([painter.aid])
    expect(await find('paint')).toEqual([])
    expect(await find('paint.*')).toEqual([painter.aid])
    expect(await find('paint.*,bake.bread')).toEqual(both)
    expect(await find('*')).toEqual(both)
    for (const wrong of ['', 'a,', 'a b']) expect(await find(wrong)).toBe(400)
    await baker.call('updateProfile', { caps: [] })
    expect(await find('bake.bread')).toEqual([])
    await own.close()
  })

  test('shows coarse times, and a notice that agrees with the log', async () => {
    const agent = await registeredAgent(hub)
    await agent.poll()
    const reply = await callRoute(hub, 'agent', undefined, { params: { aid: agent.aid } })
    const { lastSeen, registered_at, key_state_notice, quiet } = reply.json as unknown as Shown
    expect([lastSeen % HOUR_MS, registered_at % DAY_MS, quiet]).toEqual([0, 0, false])
    const notice = KeyStateNotice.decode(fromBase64url(key_state_notice))
    expect(noticeAgrees(notice, await servedLog(agent), hub.running.hub.context.identity.kel)).toBe(true)
    const polled = await agent.poll()
    expect(KeyStateNotice.decode(fromBase64url(polled.key_state_notice)).body.aid).toBe(agent.aid)
  })
})

test('counters tell agents and those that collected mail in the last hour', async () => {
  const own = await startTestHub()
  const agent = await registeredAgent(own)
  await registeredAgent(own)
  await agent.poll()
  await own.running.hub.context.store.putSetting(MODE_SETTING, 'closed')
  own.clock.advance(MINUTE_MS)
  const reply = await callRoute(own, 'stats', undefined)
  expect(reply.json).toMatchObject({ agents: 2, online_nodes: 1, federated_agents: 0, reviews: 0 })
  await own.close()
})

type Shown = { lastSeen: number; registered_at: number; key_state_notice: string; quiet: boolean }

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, 'base64url'), Buffer.from(b, 'base64url'))
}

function raise(): never {
  throw new Error('the agent is missing')
}
