/** The directory of wire 1: who is shown, how each was reviewed, and who is at another hub. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromBase64, toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { documentCid } from '../../protocol/proof/documents.ts'
import { wire1Routes } from '../../protocol/wire1/routes.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { type OpenReviewOptions, openReviewUpload } from '../testing/open-reviews.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

const DAY_MS = 86_400_000
const FIGURES_LIFE_MS = 10_000
let hub: TestHub
let client: Wire1Client
let peer: OpenAgent

beforeAll(async () => {
  hub = await startTestHub({ wires: [1], wire1Federation: { tells: false } })
  client = new Wire1Client(hub)
  peer = new OpenAgent(client)
  const url = 'http://127.0.0.1:9'
  hub.running.hub.context.peers.replace([{ aid: peer.aid, url, openUrl: url, log: peer.log }])
})
afterAll(() => hub.close())

type Entry = { aid: string; home_hub?: string }
const get = async (path: string) => (await client.get(path)).json
const status = async (path: string) => (await client.get(path)).status
const listed = async (query = '') => (await get(`/agents${query}`))['agents'] as Entry[]
const review = async (by: OpenAgent, of: OpenAgent, options: OpenReviewOptions = {}) => {
  const upload = openReviewUpload(by, of, options)
  expect((await client.post('/reviews', upload)).status).toBe(200)
  return upload
}
/** An agent that the peer told of. */
const told = async (caps: string[]) => {
  const agent = new OpenAgent(client)
  const card = {
    aid: agent.aid,
    name: 'far',
    caps,
    summary: 'far away',
    kel: encodeKel(agent.log.events),
    card: '{}',
    seq: 1,
  }
  const given = { hub: peer.aid, agents: [card], fedSeq: 1, max: 10 }
  await hub.running.hub.context.store.takeOpenAgents(given)
  return agent
}

describe('an agent', () => {
  test('is shown with all its reviews and the texts of their documents', async () => {
    const [alice, bob] = [await client.registered(), await client.registered()]
    const interactionId = new Uint8Array(16).fill(3)
    const upload = await review(alice, bob, {
      rating: 4,
      body: { interactionId },
      goal: 'count',
      answer: '3 äpfel',
    })
    await review(alice, bob, { rating: 1 })
    const json = await get(`/agents/${bob.aid}`)
    expect(wire1Routes.agent.reply.parse(json)).toEqual(json)
    expect(json['agent']).toMatchObject({ aid: bob.aid, avg_rating: 2.5, review_count: 2 })
    expect((json['reviews'] as unknown[])[0]).toEqual({
      ...{ interaction_id: toBase64url(interactionId), rating: 4, goal: 'count', deliverable: '3 äpfel' },
      request_cid: documentCid(fromBase64(upload.request_doc)),
      result_cid: documentCid(fromBase64(upload.deliverable)),
    })
    expect(json['reviews']).toHaveLength(2)
    expect((await get(`/agents/${alice.aid}`))['agent']).toMatchObject({ avg_rating: 0, review_count: 0 })
  })

  test('has members that are unknown left out, and others once they are known', async () => {
    const agent = await client.registered()
    const entry = async () => (await get(`/agents/${agent.aid}`))['agent'] as Record<string, unknown>
    for (const name of ['last_seen', 'quiet', 'home_hub']) expect(await entry()).not.toHaveProperty(name)
    await agent.poll()
    expect(Date.parse(String((await entry())['last_seen']))).toBeGreaterThan(0)
    hub.clock.advance(DAY_MS)
    expect((await entry())['quiet']).toBe(true)
  })

  test('that only a peer told of has its home, a note, and no reviews', async () => {
    const far = await told(['far.work'])
    const json = await get(`/agents/${far.aid}`)
    expect(json).toEqual({
      agent: expect.objectContaining({ aid: far.aid, name: 'far', registered: false, home_hub: peer.aid }),
      reviews: [],
      note: expect.stringContaining('another hub'),
    })
    expect(wire1Routes.agent.reply.parse(json)).toEqual(json)
    expect(await status(`/agents/${new OpenAgent(client).aid}`)).toBe(404)
  })

  test('that never asked for mail is not taken for gone', async () => {
    const agent = await client.registered()
    hub.clock.advance(31 * DAY_MS)
    expect((await listed()).some(({ aid }) => aid === agent.aid)).toBe(true)
  })
})

describe('a capability', () => {
  test('finds agents here first, then those of peers with their home, which words never find', async () => {
    const [near, far] = [await client.registered({ caps: ['rare.near'] }), await told(['rare.far'])]
    expect((await listed('?cap=rare.*')).map(({ aid, home_hub: home }) => [aid, home])).toEqual([
      [near.aid, undefined],
      [far.aid, peer.aid],
    ])
    expect((await listed('?cap=none,rare.far')).map(({ aid }) => aid)).toEqual([far.aid])
    expect(await listed('?cap=rare')).toEqual([])
    expect((await listed('?q=rare.')).map(({ aid }) => aid)).toEqual([near.aid])
    expect((await listed()).map(({ aid }) => aid)).not.toContain(far.aid)
  })

  test('finds an agent of a peer that has come here once, as one of here', async () => {
    const agent = await client.registered({ caps: ['both.here'] })
    const kel = encodeKel(agent.log.events)
    const card = { name: 'b', caps: ['both.here'], summary: '', kel, card: '{}', seq: 1 }
    const given = { hub: peer.aid, agents: [{ aid: agent.aid, ...card }], fedSeq: 2, max: 10 }
    await hub.running.hub.context.store.takeOpenAgents(given)
    expect((await listed('?cap=both.here')).map(({ home_hub: home }) => home)).toEqual([undefined])
  })

  test('and words exclude each other', async () => {
    expect(await status('/agents?cap=a&q=b')).toBe(400)
  })
})

test.each([
  ['/agents', 'agents'],
  ['/agents?cap=zz.no', 'agents'],
  ['/graph', 'nodes'],
  ['/p2p/peers', 'peers'],
  ['/agents/{aid}', 'reviews'],
])('the listing %s is written as it is read, of no length that is known before', async (path, member) => {
  const { aid } = await client.registered()
  const answer = await fetch(`${client.url}${path.replace('{aid}', aid)}`)
  expect(answer.headers.get('content-length')).toBeNull()
  expect(await answer.json()).toMatchObject({ [member]: expect.any(Array) })
})

test.each(['/agents', '/agents?cap=many.*', '/graph', '/p2p/peers'])(
  'the listing %s asks its store no more for more agents of a page',
  async path => {
    const { store } = hub.running.hub.context
    let asked = 0
    const counted = async () => {
      asked = 0
      const { status } = await client.get(path)
      expect(status).toBe(200)
      return asked
    }
    const own = { ...store }
    for (const [name, real] of Object.entries(own)) {
      if (typeof real !== 'function') continue
      const counting = (...given: never[]) => {
        asked += 1
        return (real as (...given: never[]) => unknown)(...given)
      }
      Object.assign(store, { [name]: counting })
    }
    try {
      await client.registered({ caps: ['many.a'] })
      const before = await counted()
      for (let n = 0; n < 5; n++) await client.registered({ caps: ['many.a'] })
      expect(await counted()).toBe(before)
    } finally {
      Object.assign(store, own)
    }
  },
)

describe('a reputation', () => {
  test('tells what this hub verified, what each peer attests, and how much comes from one source', async () => {
    const [alice, bob, carol] = [
      await client.registered(),
      await client.registered(),
      await client.registered(),
    ]
    const interactionId = new Uint8Array(16).fill(5)
    await review(alice, carol, { rating: 5, body: { interactionId } })
    await review(bob, carol, { rating: 2 })
    const items = [1, 5].map(fill => ({
      ...{ provider: carol.aid, interaction: new Uint8Array(16).fill(fill), rating: 3 },
    }))
    await hub.running.hub.context.store.takePeerReviews({ hub: peer.aid, items, fedSeq: 1, max: 10 })
    const json = await get(`/agents/${carol.aid}/reputation`)
    expect(json).toEqual({
      reputation: {
        aid: carol.aid,
        local: { reviews: 2, avg_rating: 3.5 },
        peers: [{ hub: peer.aid, reviews: 1, avg_rating: 3 }],
        combined: { reviews: 3, avg_rating: 3.33 },
        concentration: 1 / 3,
      },
      note: expect.any(String),
    })
    expect(await status(`/agents/${new OpenAgent(client).aid}/reputation`)).toBe(404)
  })

  test('of nobody has no source', async () => {
    const agent = await client.registered()
    const { reputation } = await get(`/agents/${agent.aid}/reputation`)
    expect(reputation).toMatchObject({ peers: [], combined: { reviews: 0, avg_rating: 0 }, concentration: 0 })
  })

  test('of an agent at a peer counts the reviews that were given here', async () => {
    const [alice, far] = [await client.registered(), await told(['x'])]
    await review(alice, far, { rating: 4 })
    const { reputation } = await get(`/agents/${far.aid}/reputation`)
    expect(reputation).toMatchObject({ local: { reviews: 1, avg_rating: 4 } })
    const { reviews, next } = await get('/federation/reviews')
    const last = (reviews as { fed_seq: number; provider_kel: string }[]).find(one => one.fed_seq === next)
    expect(last?.provider_kel).toBe(far.kel)
  })
})

describe('the graph', () => {
  test('has the directory, an edge for each review, and a node for whoever left', async () => {
    const [alice, bob] = [await client.registered(), await client.registered()]
    await review(alice, bob, { rating: 3 })
    await client.post(`/agents/${alice.aid}/deregister`, alice.sign('profile'))
    const json = await get('/graph')
    expect(wire1Routes.graph.reply.parse(json)).toEqual(json)
    const nodes = json['nodes'] as (Entry & { registered: boolean })[]
    const registeredOf = (aid: string) => nodes.filter(one => one.aid === aid).map(one => one.registered)
    expect([registeredOf(alice.aid), registeredOf(bob.aid)]).toEqual([[false], [true]])
    expect(json['edges']).toContainEqual({
      ...{ from: alice.aid, to: bob.aid, interaction_id: expect.any(String), rating: 3 },
    })
  })
})

describe('figures', () => {
  const figures = async () => {
    hub.clock.advance(FIGURES_LIFE_MS + 1)
    return await get('/stats')
  }

  test('count reviews with their average, and agents that peers told of', async () => {
    const before = await figures()
    const [alice, bob] = [await client.registered(), await client.registered()]
    await review(alice, bob, { rating: 1 })
    const after = await figures()
    expect(after['reviews']).toBe(Number(before['reviews']) + 1)
    const { store } = hub.running.hub.context
    const { reviews, ratings } = await store.openReviewTotals()
    expect(after['avg_rating']).toBeCloseTo(ratings / reviews, 1)
    await told(['y'])
    expect((await figures())['federated_agents']).toBe(Number(after['federated_agents']) + 1)
  })

  test('are read once for all who ask within ten seconds, on the page as well', async () => {
    const { store } = hub.running.hub.context
    let read = 0
    const { openAgents } = store
    store.openAgents = () => {
      read += 1
      return openAgents()
    }
    try {
      await figures()
      await Promise.all(Array.from({ length: 5 }, () => get('/stats')))
      await fetch(`${client.url}/`)
      expect(read).toBe(1)
      await figures()
      expect(read).toBe(2)
    } finally {
      store.openAgents = openAgents
    }
  })
})

describe('addresses and key histories', () => {
  test('list every direct address, and name the home of an agent that has none here', async () => {
    const [agent, far] = [await client.registered(), await told(['z'])]
    await client.post(`/agents/${agent.aid}/p2p`, { ...agent.sign('profile'), addr: 'host:7' })
    expect(await get('/p2p/peers')).toEqual({ peers: [{ aid: agent.aid, addr: 'host:7' }] })
    const answer = await client.get(`/agents/${far.aid}/p2p`)
    expect([answer.status, answer.json['home_hub']]).toEqual([404, peer.aid])
    const other = await client.registered()
    const none = await client.get(`/agents/${other.aid}/p2p`)
    expect([none.status, none.json]).toEqual([404, { error: expect.any(String) }])
  })

  test('say where a key history comes from', async () => {
    const far = await told(['z'])
    const [own, here] = [await get(`/agents/${hub.aid}/kel`), await client.registered()]
    expect(own).toMatchObject({ source: 'local', role: 'hub' })
    expect(await get(`/agents/${here.aid}/kel`)).toEqual({ aid: here.aid, kel: here.kel, source: 'local' })
    expect(await get(`/agents/${far.aid}/kel`)).toEqual({ aid: far.aid, kel: far.kel, source: 'federated' })
    expect(await get(`/agents/${peer.aid}/kel`)).toEqual({
      ...{ aid: peer.aid, kel: toBase64(encodeKel(peer.log.events)), source: 'peer-hub', role: 'hub' },
    })
    expect(await status(`/agents/${new OpenAgent(client).aid}/kel`)).toBe(404)
  })
})
