/** What the operator looks at: figures, agents, capabilities, the network, reviews, cards, and what was done here. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase64url } from '../../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../../protocol/identity/kel.ts'
import { ADMIN_GUESTS_MAX, type AdminRouteName } from '../../../protocol/wire1/routes/admin.ts'
import { GUEST_QUOTA_MAX } from '../../core/membership/open-joining.ts'
import { type AdminHub, expectAdminReply, startAdminHub } from '../../testing/admin.ts'
import { startTestHub, type TestHub } from '../../testing/hub.ts'
import { openReviewUpload } from '../../testing/open-reviews.ts'
import { OpenAgent } from '../../testing/wire1.ts'

let world: AdminHub
let peer: TestHub
let agents: OpenAgent[]
beforeAll(async () => {
  world = await startAdminHub()
  peer = await startTestHub()
  const kel = toBase64url(encodeKel(peer.running.hub.context.identity.kel.events))
  await world.hub.running.order({ command: 'peers', add: { url: peer.url, kel } })
  const own = toBase64url(encodeKel(world.hub.running.hub.context.identity.kel.events))
  await peer.running.order({ command: 'peers', add: { url: world.hub.url, kel: own } })
  agents = []
  for (const [name, caps] of [
    ['ada', ['x.one', 'x.two']],
    ['bob', ['x.two']],
    ['eve', []],
  ] as const)
    agents.push(await world.client.registered({ name, caps }))
  const [ada, bob] = agents as [OpenAgent, OpenAgent]
  for (const rating of [5, 3] as const)
    await world.client.post('/reviews', openReviewUpload(bob, ada, { rating }))
  for (const column of ['ready', 'draft', 'ready'])
    await world.client.post('/tasks/create', { ...ada.sign('task.create'), title: 'sums', column })
  for (const title of ['two', 'three'])
    await world.client.post('/tasks/create', { ...bob.sign('task.create'), title, column: 'ready' })
})
afterAll(async () => {
  await world.hub.close()
  await peer.close()
})

async function seen(name: AdminRouteName, path: string): Promise<Record<string, unknown>> {
  const answer = await world.ask('GET', `/admin/api/${path}`)
  expectAdminReply(name, answer)
  return answer.json
}

/** All pages of a list, two items each. */
async function paged(name: AdminRouteName, path: string): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = []
  for (let after = ''; ; ) {
    const page = await seen(name, `${path}${path.includes('?') ? '&' : '?'}limit=2${after}`)
    const own = page['items'] as Record<string, unknown>[]
    expect(own.length).toBeLessThanOrEqual(2)
    items.push(...own)
    if (page['next'] === undefined) return items
    after = `&after=${encodeURIComponent(String(page['next']))}`
  }
}

const aids = (items: Record<string, unknown>[]) => items.map(({ aid }) => aid)

describe('the overview', () => {
  test('says what is here', async () => {
    expect(await seen('adminOverview', 'overview')).toMatchObject({
      hub: world.hub.aid,
      admission: 'closed',
      token_published: false,
      agents: { registered: 3, archived: 0, official: 0, at_peers: 0 },
      guests: { open: false, sessions: 0 },
      tasks: { completed: 0 },
      reviews: { count: 2, avg_rating: 4 },
      credits: { issued: 300, redeemed: 0 },
      peers: 1,
      store: { full: false, locked: false, away: false, broken: false },
    })
  })

  test('and the store its room, what it holds, and that it is whole', async () => {
    const store = await seen('adminStore', 'store')
    expect(store).toMatchObject({ faults: [], open: { mailboxes: 3, messages: 0 }, sealed: { envelopes: 0 } })
    expect((store['room'] as { disk_bytes: number }).disk_bytes).toBeGreaterThan(0)
  })
})

describe('lists come page by page', () => {
  test('agents, found by their words as well', async () => {
    expect(aids(await paged('adminAgents', 'agents')).sort()).toEqual(agents.map(({ aid }) => aid).sort())
    expect(aids(await paged('adminAgents', 'agents?q=X.TWO')).sort()).toEqual(
      agents
        .slice(0, 2)
        .map(({ aid }) => aid)
        .sort(),
    )
  })

  test('capabilities with how many have each', async () => {
    expect(await paged('adminCapabilities', 'capabilities')).toEqual([
      { cap: 'x.one', agents: 1 },
      { cap: 'x.two', agents: 2 },
    ])
  })

  test('reviews without their documents', async () => {
    const [ada, bob] = agents
    const rated = { provider: ada?.aid, reviewer: bob?.aid }
    expect(await paged('adminReviews', 'reviews')).toMatchObject([
      { ...rated, rating: 5 },
      { ...rated, rating: 3 },
    ])
  })

  test('cards of the board, of one column where it is asked for', async () => {
    const all = await paged('adminTasks', 'tasks')
    expect(all.length).toBeGreaterThanOrEqual(4)
    const ready = await paged('adminTasks', 'tasks?column=ready')
    expect(ready).toEqual(all.filter(({ column }) => column === 'ready'))
    const { status, json } = await world.ask('GET', '/admin/api/tasks?column=nope')
    expect([status, json['error']]).toEqual([400, expect.stringContaining('column')])
  })

  test('what was done here, by whom and about whom, the newest first', async () => {
    const [ada] = agents
    await world.ask('POST', `/admin/api/agents/${ada?.aid}/quota`, { body: { guest_messages: 9 } })
    await world.ask('POST', `/admin/api/agents/${ada?.aid}/moderate`, {
      body: { listed: false, reason: 'loud' },
    })
    await world.ask('POST', `/admin/api/agents/${ada?.aid}/moderate`, { body: { listed: true } })
    expect(await paged('adminAudit', 'audit')).toMatchObject([
      { action: 'list', subject: ada?.aid, who: '127.0.0.1' },
      { action: 'unlist', subject: ada?.aid, detail: 'loud' },
      { action: 'quota', subject: ada?.aid, detail: 'takes 9 messages of a visitor' },
    ])
    expect((await world.client.get(`/agents/${ada?.aid}`)).json['agent']).toMatchObject({ guest_quota: 9 })
  })

  test('a failure leaves nothing in the audit, so nobody pushes out what was done', async () => {
    const before = (await paged('adminAudit', 'audit')).length
    await world.ask('POST', '/admin/api/login', { token: undefined, body: { token: 'wrong' } })
    await world.ask('POST', `/admin/api/agents/${world.hub.aid}/quota`, { body: { guest_messages: 1 } })
    expect((await paged('adminAudit', 'audit')).length).toBe(before)
  })

  test.each(['limit=0', 'limit=201', 'limit=x', 'limit=', 'after=x&limit=2'])(
    '%s is refused',
    async query => {
      expect((await world.ask('GET', `/admin/api/audit?${query}`)).status).toBe(400)
    },
  )
})

describe('one agent', () => {
  test('is listed or not as the operator says, and found by its AID all the same', async () => {
    const agent = await world.client.registered({ caps: ['own.cap'] })
    const moderate = (listed: boolean) =>
      world.ask('POST', `/admin/api/agents/${agent.aid}/moderate`, { body: { listed } })
    const found = async (query: string) =>
      aids((await world.client.get(`/agents${query}`)).json['agents'] as Record<string, unknown>[])
    expectAdminReply('adminModerate', await moderate(false))
    expect(await found('')).not.toContain(agent.aid)
    expect(await found('?cap=own.cap')).toEqual([agent.aid])
    expect((await seen('adminAgent', `agents/${agent.aid}`))['agent']).toMatchObject({ listed: false })
    await moderate(true)
    expect(await found('')).toContain(agent.aid)
  })

  test.each([-1, 101, 1.5, '5', undefined])('takes no quota of %s', async quota => {
    const path = `/admin/api/agents/${agents[2]?.aid}/quota`
    expect((await world.ask('POST', path, { body: { guest_messages: quota } })).status).toBe(400)
  })

  test('is set by the operator to no more than it may say itself', () => {
    expect(ADMIN_GUESTS_MAX).toBe(GUEST_QUOTA_MAX)
  })

  test.each([0, 100])('takes a quota of %i', async quota => {
    const path = `/admin/api/agents/${agents[2]?.aid}/quota`
    const answer = await world.ask('POST', path, { body: { guest_messages: quota } })
    expectAdminReply('adminQuota', answer)
    expect(answer.json['guest_messages']).toBe(quota)
  })
})

describe('the network', () => {
  test('is drawn with hub, peers, agents and who reviewed whom', async () => {
    const { nodes, edges, truncated } = await seen('adminVision', 'vision')
    const [ada, bob] = agents
    expect(nodes).toContainEqual({ id: world.hub.aid, kind: 'hub', name: 'this hub' })
    expect(nodes).toContainEqual({ id: peer.aid, kind: 'peer', name: peer.url })
    expect(nodes).toContainEqual({ id: ada?.aid, kind: 'agent', name: 'ada' })
    expect(edges).toContainEqual({ from: world.hub.aid, to: peer.aid, kind: 'peer', count: 1 })
    expect(edges).toContainEqual({ from: bob?.aid, to: ada?.aid, kind: 'review', count: 2, avg_rating: 4 })
    expect(truncated).toBe(false)
  })

  test('peers are read at once, and each says whether it answered', async () => {
    const harvest = () => world.ask('POST', '/admin/api/harvest')
    const first = await harvest()
    expectAdminReply('adminHarvest', first)
    expect(first.json['peers']).toEqual([{ hub: peer.aid, reached: true }])
    expect((await paged('adminAudit', 'audit'))[0]).toMatchObject({ action: 'harvest', detail: '1 peers' })
    await peer.running.listener.close()
    world.hub.clock.advance(1000)
    expect((await harvest()).json['peers']).toEqual([{ hub: peer.aid, reached: false }])
  })

  test('agents of peers are found by their capabilities', async () => {
    await world.hub.running.hub.context.store.takeOpenAgents({
      ...{ hub: peer.aid, fedSeq: 3, max: 9 },
      agents: ['one', 'two', 'three'].map(name => ({
        aid: new OpenAgent(world.client).aid,
        ...{ name, caps: [`p.${name}`], summary: 'far', kel: new Uint8Array(1), card: '{}', seq: 1 },
      })),
    })
    expect((await paged('adminDiscover', 'discover')).map(({ name }) => name)).toEqual([
      'one',
      'two',
      'three',
    ])
    expect(await paged('adminDiscover', 'discover?cap=p.two')).toMatchObject([
      { name: 'two', home_hub: peer.aid },
    ])
    expect((await world.ask('GET', '/admin/api/discover?cap=,')).status).toBe(400)
  })
})
