/** One store, both lines open: an agent has sealed mail or open mail, and neither line shows the other's. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

describe('a hub that serves wire 3 and wire 1', () => {
  let hub: TestHub
  let client: Wire1Client
  let sealed: TestAgent
  let open: OpenAgent
  beforeAll(async () => {
    hub = await startTestHub({
      wire1: { listen: { host: '127.0.0.1', port: 0 }, baseUrl: 'https://old.example' },
    })
    client = new Wire1Client(hub)
    sealed = new TestAgent(hub)
    await hub.running.order({ command: 'admit', aid: sealed.aid })
    expect((await sealed.register()).status).toBe(200)
    open = await client.registered()
  })
  afterAll(() => hub.close())

  test('has an address for each, and its own URL', async () => {
    expect(hub.running.wire1).toMatchObject({ baseUrl: 'https://old.example' })
    expect(hub.running.wire1?.url).not.toBe(hub.url)
    const versions = [hub.url, client.url].map(async url =>
      (await fetch(`${url}/healthz`)).headers.get('X-Svc-Wire'),
    )
    expect(await Promise.all(versions)).toEqual(['3', '1'])
  })

  test('knows no agent with sealed mail over wire 1', async () => {
    const send = { to_aid: sealed.aid, from_aid: open.aid, kind: 'message', payload: 'AA==' }
    expect((await client.post('/relay/send', send)).status).toBe(404)
    expect((await client.get(`/agents/${sealed.aid}`)).status).toBe(404)
    const { json } = await client.get('/agents')
    expect((json['agents'] as { aid: string }[]).map(({ aid }) => aid)).toEqual([open.aid])
  })

  test('knows no agent with open mail over wire 3', async () => {
    const found = await fetch(`${hub.url}/agents/${open.aid}`, { headers: { 'X-Svc-Wire': '3' } })
    expect(found.status).toBe(404)
  })

  test.each([
    ['/agents', 'agents'],
    ['/graph', 'nodes'],
  ])('lists in %s those of each line alone', async (path, member) => {
    const over = async (url: string, wire: string) => {
      const answer = await fetch(`${url}${path}`, { headers: { 'X-Svc-Wire': wire } })
      const { [member]: agents } = (await answer.json()) as Record<string, { aid: string }[]>
      return agents?.map(({ aid }) => aid)
    }
    expect([await over(client.url, '1'), await over(hub.url, '3')]).toEqual([[open.aid], [sealed.aid]])
  })

  test('counts those of each line alone', async () => {
    const stats = async (url: string, wire: string) =>
      await (await fetch(`${url}/stats`, { headers: { 'X-Svc-Wire': wire } })).json()
    expect(await stats(client.url, '1')).toMatchObject({ agents: 1, reviews: 0 })
    expect(await stats(hub.url, '3')).toMatchObject({ agents: 1, reviews: 0 })
  })

  test('lets an agent seal its mail, which is then open to nobody again', async () => {
    const agent = new TestAgent(hub)
    const before = new OpenAgent(client, agent)
    await hub.running.order({ command: 'admit', aid: agent.aid })
    expect((await before.register()).status).toBe(200)
    const earlier = { to_aid: agent.aid, from_aid: open.aid, kind: 'message', payload: 'AA==' }
    expect((await client.post('/relay/send', earlier)).status).toBe(200)
    expect((await agent.register()).status).toBe(200)
    before.log = agent.log
    const { status, json } = await before.register()
    expect([status, json['hint']]).toEqual([
      403,
      'register over wire 3 instead: svc hub-register <url> without --wire',
    ])
    expect((await client.post('/relay/send', earlier)).status).toBe(404)
    // what came before is its own
    const messages = (await before.poll()).json['messages'] as { id: string }[]
    expect(messages).toHaveLength(1)
    const ids = messages.map(({ id }) => id)
    expect((await client.post('/relay/ack', { ...before.sign('ack'), ids })).json).toEqual({ acked: 1 })
  })

  test('ends both in order', async () => {
    const { url } = client
    await hub.restart()
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
    expect((await client.get('/healthz')).status).toBe(200)
    expect((await open.poll()).status).toBe(200)
  })
})
