/** Agents at the operator's surface: seen, listed or not, archived with all that they have, and brought back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromBase64, toBase64, utf8 } from '../../../protocol/encoding/bytes.ts'
import { type AdminHub, expectAdminReply, startAdminHub } from '../../testing/admin.ts'
import { TestAgent } from '../../testing/hub.ts'
import { OpenAgent } from '../../testing/wire1.ts'

const MINUTE_MS = 60_000
let world: AdminHub

beforeAll(async () => {
  world = await startAdminHub()
})
afterAll(() => world.hub.close())

const ask: AdminHub['ask'] = (...given) => world.ask(...given)
const mail = (to: string, text: string, more: Record<string, unknown> = {}) => ({
  to_aid: to,
  from_aid: 'whoever',
  kind: 'message',
  interaction_id: 'i',
  payload: toBase64(utf8(text)),
  ...more,
})

describe('an agent that is archived', () => {
  test('is nowhere to be found, keeps its mail, and has all of it back once it is restored', async () => {
    const { client } = world
    const agent = await client.registered({
      name: 'ada',
      caps: ['text.sum'],
      summary: 'sums',
      pricing: 'free',
    })
    expect((await client.post('/relay/send', mail(agent.aid, 'kept'))).status).toBe(200)
    const before = (await ask('GET', `/admin/api/agents/${agent.aid}`)).json
    const archived = await ask('DELETE', `/admin/api/agents/${agent.aid}?reason=too+loud`)
    expectAdminReply('adminArchive', archived)
    expect(archived.json).toEqual({ aid: agent.aid, status: 'archived', waiting: 1 })
    expect((await client.get(`/agents/${agent.aid}`)).status).toBe(404)
    expect((await client.get('/agents?cap=text.sum')).json).toEqual({ agents: [] })
    expect((await client.post('/relay/send', mail(agent.aid, 'later'))).status).toBe(404)
    expect((await agent.poll()).status).toBe(401)
    expect((await client.get(`/agents/${agent.aid}/kel`)).status).toBe(200)
    const deleted = await ask('GET', '/admin/api/deleted')
    expectAdminReply('adminDeleted', deleted)
    expect(deleted.json['items']).toMatchObject([
      { aid: agent.aid, name: 'ada', reason: 'too loud', waiting: 1 },
    ])
    const restored = await ask('POST', `/admin/api/deleted/${agent.aid}/restore`)
    expectAdminReply('adminRestore', restored)
    expect((await ask('GET', `/admin/api/agents/${agent.aid}`)).json).toEqual(before)
    expect((await client.get('/agents?cap=text.sum')).json['agents']).toMatchObject([{ aid: agent.aid }])
    const { messages } = (await agent.poll()).json as { messages: { payload: string }[] }
    expect(messages.map(({ payload }) => Buffer.from(fromBase64(payload)).toString())).toEqual(['kept'])
    expect((await ask('GET', '/admin/api/deleted')).json).toEqual({ items: [] })
  })

  test('does not come back by registering, and is told whom to ask', async () => {
    const agent = await world.client.registered()
    expect((await ask('DELETE', `/admin/api/agents/${agent.aid}`)).status).toBe(200)
    const { status, json } = await agent.register()
    expect([status, json['hint']]).toEqual([403, `ask the operator to run: svc-hub unarchive ${agent.aid}`])
    await ask('POST', `/admin/api/deleted/${agent.aid}/restore`)
    expect((await agent.register()).status).toBe(200)
  })

  test('stays so over a restart, and archived again it is archived once', async () => {
    const agent = await world.client.registered()
    await ask('DELETE', `/admin/api/agents/${agent.aid}?reason=first`)
    await world.hub.restart()
    expect((await ask('DELETE', `/admin/api/agents/${agent.aid}?reason=second`)).status).toBe(200)
    expect((await ask('GET', '/admin/api/deleted')).json['items']).toMatchObject([
      { aid: agent.aid, reason: 'first' },
    ])
    expect((await agent.register()).status).toBe(403)
    await ask('POST', `/admin/api/deleted/${agent.aid}/restore`)
    expect((await agent.poll()).status).toBe(200)
  })
})

test('an archived agent does not dodge that over wire 3, and once back it may seal its mail and shows here no more', async () => {
  const both = await startAdminHub({
    wires: [3],
    wire1: { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined },
  })
  const sealing = new TestAgent(both.hub)
  const { aid } = sealing
  const open = new OpenAgent(both.client, sealing)
  await both.hub.running.order({ command: 'admit', aid })
  expect((await open.register()).status).toBe(200)
  expect((await both.ask('DELETE', `/admin/api/agents/${aid}`)).status).toBe(200)
  const refused = await sealing.register()
  expect([refused.status, refused.json['reason']]).toEqual([403, 'admission_required'])
  expect((await both.hub.running.order({ command: 'agent', aid }))['refused_lately']).toMatchObject({
    because: 'the operator archived it',
  })
  expect((await both.ask('POST', `/admin/api/deleted/${aid}/restore`)).status).toBe(200)
  expect((await sealing.register()).status).toBe(200)
  expect((await both.ask('GET', `/admin/api/agents/${aid}`)).status).toBe(404)
  expect((await both.ask('DELETE', `/admin/api/agents/${aid}`)).status).toBe(404)
  await both.hub.close()
})

describe('nobody archives', () => {
  test('the hub itself', async () => {
    for (const method of ['DELETE', 'GET']) {
      const { status, json } = await ask(method, `/admin/api/agents/${world.hub.aid}`)
      expect([status, json['error']]).toEqual([403, expect.stringContaining('the hub itself')])
    }
  })

  test('an agent whose mail is sealed, or one that nobody knows', async () => {
    const agent = await world.client.registered()
    await world.hub.running.hub.agents.update(agent.aid, held => {
      if (held === undefined) throw new Error('gone')
      return { ...held, row: { ...held.row, mail: 'sealed' } }
    })
    for (const aid of [agent.aid, new OpenAgent(world.client).aid])
      for (const [method, path] of [
        ['DELETE', `/admin/api/agents/${aid}`],
        ['GET', `/admin/api/agents/${aid}`],
        ['POST', `/admin/api/deleted/${aid}/restore`],
      ] as const)
        expect([path, (await ask(method, path)).status]).toEqual([path, 404])
    const { json } = await ask('GET', `/admin/api/agents?q=${agent.aid}`)
    expect(json).toEqual({ items: [] })
  })

  test('more than 5 agents in a minute', async () => {
    const fresh = await startAdminHub()
    const agents = await Promise.all(Array.from({ length: 6 }, () => fresh.client.registered()))
    const codes = []
    for (const { aid } of agents) codes.push((await fresh.ask('DELETE', `/admin/api/agents/${aid}`)).status)
    expect(codes).toEqual([200, 200, 200, 200, 200, 429])
    const { headers } = await fresh.ask('DELETE', `/admin/api/agents/${agents[5]?.aid}`)
    expect(Number(headers.get('Retry-After'))).toBeLessThanOrEqual(MINUTE_MS / 1000)
    await fresh.hub.close()
  })
})
