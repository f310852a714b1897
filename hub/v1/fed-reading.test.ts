/** What a hub reads of peers over wire 1 and shows of it: all of it is verified again, and forgotten when it is told no more. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { incept, rotate } from '../../protocol/identity/kel.ts'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { systemTimers } from '../../protocol/timers.ts'
import type { PeerReading } from '../core/federation/read-peers.ts'
import { KeyLogs } from '../core/membership/key-logs.ts'
import { readOpenPeers } from '../core/open-federation/read.ts'
import { OpenMailCalls } from '../peers/open-mail-calls.ts'
import { random, startTestHub, type TestHub } from '../testing/hub.ts'
import { listOpenPeer, MadeUpHub, openCardText } from '../testing/open-peers.ts'
import { openReviewUpload } from '../testing/open-reviews.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

const MINUTE_MS = 60_000
const ROUND_MS = 15_000
const PASS_MS = 15 * MINUTE_MS

let here: TestHub
let client: Wire1Client
let timers: TestTimers
let reading: PeerReading
beforeEach(async () => {
  here = await startTestHub({ wires: [1], wire1Federation: { tells: true } })
  client = new Wire1Client(here)
  timers = new TestTimers(0)
  const { context, agents } = here.running.hub
  reading = readOpenPeers(
    { ...context, timers },
    {
      agents,
      keyLogs: new KeyLogs(context),
      calls: new OpenMailCalls({ ...context, timers: systemTimers }),
    },
  )
})
afterEach(async () => {
  await reading.stop()
  await here.close()
})

/** Lets the hub read, until what a test expects is so. */
const read = (expected: () => Promise<void> | void, afterMs = ROUND_MS) =>
  vi.waitFor(
    async () => {
      await timers.pass(afterMs)
      await expected()
    },
    { timeout: 20_000, interval: 100 },
  )
const capable = async (cap: string) =>
  (await client.get(`/agents?cap=${cap}`)).json['agents'] as Record<string, unknown>[]
const found = async (cap: string) => (await capable(cap)).map(({ aid }) => aid)
const skill = (id: string) => ({ skills: [{ id, name: 'Skill', description: 'Does it.', tags: ['x'] }] })

describe('an agent of a peer', () => {
  let there: TestHub
  let far: Wire1Client
  beforeEach(async () => {
    there = await startTestHub({ wires: [1], wire1Federation: { tells: true } })
    far = new Wire1Client(there)
    await listOpenPeer(here, { url: there.url, log: there.running.hub.context.identity.kel })
  })
  afterEach(() => there.close())

  async function shownThere(cap: string, visibility = 'federated'): Promise<OpenAgent> {
    const agent = await far.registered({ card: undefined })
    await agent.register({ card: openCardText(agent, 1, { name: 'Far', ...skill(cap) }) })
    await far.post(`/agents/${agent.aid}/visibility`, { ...agent.sign('profile'), visibility })
    return agent
  }

  test('is found by capability behind those here, with its home hub, and shown with a note', async () => {
    const near = await client.registered({ caps: ['dig'] })
    const agent = await shownThere('dig')
    const local = await shownThere('dig', 'hub-local')
    await read(async () => expect(await found('dig')).toEqual([near.aid, agent.aid]))
    const [, entry] = await capable('dig')
    expect(entry).toMatchObject({
      name: 'Far',
      caps: ['dig'],
      summary: 'Translates short texts.',
      home_hub: there.aid,
    })
    const { json } = await client.get(`/agents/${agent.aid}`)
    expect(json).toEqual({ agent: entry, reviews: [], note: expect.any(String) })
    expect((await client.get(`/agents/${agent.aid}/p2p`)).json['home_hub']).toBe(there.aid)
    const kel = (await client.get(`/agents/${agent.aid}/kel`)).json
    expect(kel).toEqual({ aid: agent.aid, kel: agent.kel, source: 'federated' })
    const card = async (url: string) => await (await fetch(`${url}/agents/${agent.aid}/card`)).text()
    expect(await card(here.url)).toBe(await card(there.url))
    expect((await client.get('/stats')).json['federated_agents']).toBe(1)
    expect((await client.get(`/agents/${local.aid}`)).status).toBe(404)
    expect((await client.get('/agents?q=Far')).json['agents']).toEqual([])
  })

  test('is found at once, and forgotten at once, where the operator has the peers read', async () => {
    const agent = await shownThere('dig')
    await reading.now()
    expect(await found('dig')).toEqual([agent.aid])
    await far.post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
    await reading.now()
    expect(await found('dig')).toEqual([])
  })

  test('is shown by its newest card and log, and its rotated key counts for no card', async () => {
    const agent = await shownThere('dig')
    await read(async () => expect(await found('dig')).toEqual([agent.aid]))
    agent.rotate()
    await agent.register({ card: openCardText(agent, 2, skill('weave')) })
    await read(async () => expect(await found('weave')).toEqual([agent.aid]))
    expect(await found('dig')).toEqual([])
    expect((await client.get(`/agents/${agent.aid}/kel`)).json['kel']).toBe(agent.kel)
  })

  test('is forgotten once its hub tells of it no more, and all of them when their hub is taken off', async () => {
    const [first, second, third] = [await shownThere('dig'), await shownThere('dig'), await shownThere('dig')]
    const all = [first, second, third].map(({ aid }) => aid)
    await read(async () => expect(await found('dig')).toEqual(all))
    await far.post(`/agents/${first.aid}/visibility`, { ...first.sign('profile'), visibility: 'hub-local' })
    await far.post(`/agents/${second.aid}/deregister`, second.sign('profile'))
    await read(async () => expect(await found('dig')).toEqual([third.aid]), PASS_MS)
    await here.running.order({ command: 'peers', remove: there.aid })
    expect(await found('dig')).toEqual([])
    expect((await client.get(`/agents/${third.aid}/kel`)).status).toBe(404)
    const { store } = here.running.hub.context
    await vi.waitFor(async () => expect(await store.hubsOfOpenAgents()).toEqual([]), { timeout: 15_000 })
  }, 30_000)

  test('is reviewed here by whoever is registered here, and by others there: a reputation tells which', async () => {
    const bob = await shownThere('dig')
    await read(async () => expect(await found('dig')).toEqual([bob.aid]))
    const [near, away] = [await client.registered(), await far.registered()]
    expect((await client.post('/reviews', openReviewUpload(near, bob, { rating: 2 }))).status).toBe(200)
    for (const rating of [4, 5] as const)
      expect((await far.post('/reviews', openReviewUpload(away, bob, { rating }))).status).toBe(200)
    await read(async () => {
      const { json } = await client.get(`/agents/${bob.aid}/reputation`)
      expect(json['reputation']).toEqual({
        ...{ aid: bob.aid, local: { reviews: 1, avg_rating: 2 }, combined: { reviews: 3, avg_rating: 3.67 } },
        ...{ peers: [{ hub: there.aid, reviews: 2, avg_rating: 4.5 }], concentration: 2 / 3 },
      })
    })
    await here.running.order({ command: 'peers', remove: there.aid })
    const { status } = await client.get(`/agents/${bob.aid}/reputation`)
    expect(status).toBe(404)
  })
})

describe('a peer that lies', () => {
  let liar: MadeUpHub
  let cards: Record<string, unknown>[]
  let reviews: Record<string, unknown>[]
  beforeEach(async () => {
    liar = new MadeUpHub(here.clock.now())
    ;[cards, reviews] = [[], []]
    liar.answer = ({ url = '' }) => {
      const after = Number(new URL(url, liar.url).searchParams.get('cursor'))
      const of = (all: Record<string, unknown>[]) => all.filter(one => Number(one['fed_seq']) > after)
      return url.includes('cards')
        ? { cursor: after, cards: of(cards) }
        : { cursor: after, reviews: of(reviews) }
    }
    await liar.listen()
    await listOpenPeer(here, liar)
  })
  afterEach(() => liar.close())

  const agent = () => new OpenAgent(client)
  const tell = (of: OpenAgent, number: number, more: Record<string, unknown> = {}, cap = 'lie') => {
    const fedSeq = cards.length + 1
    const card = openCardText(of, number, skill(cap))
    cards.push({ card, kel: of.kel, home: liar.aid, fed_seq: fedSeq, ...more })
  }
  const dropped = () =>
    here.alerts.filter(({ event }) => event.includes('do not hold')).map(({ facts }) => facts)

  test('about a card is not believed, and what holds beside it is', async () => {
    const [bob, carol, honest] = [agent(), agent(), agent()]
    const rotated = agent()
    const before = openCardText(rotated, 1)
    rotated.rotate()
    tell(bob, 1, { kel: carol.kel })
    tell(bob, 1, { home: here.aid })
    tell(bob, 1, { card: openCardText({ ...bob, aid: bob.aid, log: bob.log, seed: carol.seed }, 1) })
    tell(bob, 1, { card: '{}' })
    tell(bob, 1, { card: 'no JSON' })
    tell(bob, 1, { kel: toBase64(new Uint8Array(40)) })
    tell(rotated, 1, { card: before })
    tell(honest, 1)
    await read(async () => expect(await found('lie')).toEqual([honest.aid]))
    for (const { aid } of [bob, carol, rotated]) expect((await client.get(`/agents/${aid}`)).status).toBe(404)
    expect(dropped()).toMatchObject([{ peer: liar.url, dropped: 7 }])
  })

  test('with an older card, or an older log than the one shown before, changes nothing', async () => {
    const bob = agent()
    const [first, kel] = [openCardText(bob, 7, skill('early')), bob.kel]
    tell(bob, 5, {}, 'five')
    await read(async () => expect(await found('five')).toEqual([bob.aid]))
    tell(bob, 4, {}, 'four')
    bob.rotate()
    tell(bob, 6, {}, 'six')
    await read(async () => expect(await found('six')).toEqual([bob.aid]))
    tell(bob, 7, { card: first, kel })
    tell(agent(), 1, {}, 'last')
    await read(async () => expect(await found('last')).toHaveLength(1))
    for (const cap of ['four', 'five', 'early']) expect(await found(cap)).toEqual([])
    expect((await client.get(`/agents/${bob.aid}/kel`)).json['kel']).toBe(bob.kel)
  })

  test('is read from the start every 15 minutes, and less often where it has many agents', async () => {
    const { store } = here.running.hub.context
    const { openPeerCount } = store
    const passes = () => liar.asked.filter(path => path.endsWith('cards?cursor=0')).length
    tell(agent(), 1)
    await read(async () => expect(await found('lie')).toHaveLength(1))
    await read(async () => expect(await store.openAgentsRead(liar.aid)).toBe(1))
    // from one that has just begun: on a busy machine the look-ups above take minutes of this clock
    const earlier = passes()
    await read(() => expect(passes()).toBeGreaterThan(earlier), MINUTE_MS)
    const before = passes()
    for (let minutes = 0; minutes < 5; minutes++) await timers.pass(MINUTE_MS)
    expect(passes()).toBe(before)
    store.openPeerCount = async () => 36_000
    await read(() => expect(passes()).toBeGreaterThan(before), 2 * MINUTE_MS)
    const again = passes()
    // the clock may have gone on by half of the hour before the pass was seen
    for (let minutes = 0; minutes < 30; minutes += 5) await timers.pass(5 * MINUTE_MS)
    expect(passes()).toBe(again)
    store.openPeerCount = openPeerCount
  })

  test('about an agent that is here, or that names another hub, does not take it away', async () => {
    const near = await client.registered({ caps: ['lie'] })
    tell(near, 1)
    const [seed, nextSeed, ts] = [random(32), random(32), here.clock.now()]
    const next = { seed: nextSeed, nextSeed: random(32), ts }
    const elsewhere = rotate(incept({ seed, nextSeed, ts }), { ...next, home: here.aid })
    tell(new OpenAgent(client, { seed, nextSeed, log: elsewhere }), 1)
    const own = rotate(incept({ seed: nextSeed, nextSeed: seed, ts }), { ...next, seed, home: liar.aid })
    tell(new OpenAgent(client, { seed: nextSeed, nextSeed: seed, log: own }), 1, {}, 'last')
    await read(async () => expect(await found('last')).toHaveLength(1))
    expect(await capable('lie')).toMatchObject([{ aid: near.aid, name: 'bob' }])
    expect((await capable('lie'))[0]).not.toHaveProperty('home_hub')
  })

  test('about reviews is not believed', async () => {
    const [alice, bob, carol] = [agent(), agent(), agent()]
    const review = (options = {}, more: Record<string, unknown> = {}) =>
      reviews.push({
        ...openReviewUpload(alice, bob, options),
        ...{ provider_kel: bob.kel, reviewer_kel: alice.kel, fed_seq: reviews.length + 1, ...more },
      })
    tell(bob, 1)
    review({ providerSeed: carol.seed })
    review({ counterSigner: carol })
    review({}, { reviewer_kel: carol.kel })
    review({}, { provider_kel: carol.kel })
    review({}, { request_doc: toBase64(new Uint8Array(3)) })
    review({ review: { receiptDigest: new Uint8Array(32) } })
    review({ review: { ts: here.clock.now() + 10 * MINUTE_MS } })
    review({ rating: 3 })
    await read(async () => {
      const { json } = await client.get(`/agents/${bob.aid}/reputation`)
      expect(json['reputation']).toMatchObject({
        ...{ local: { reviews: 0 }, peers: [{ hub: liar.aid, reviews: 1, avg_rating: 3 }], concentration: 1 },
      })
    })
    expect(dropped()).toMatchObject([{ dropped: 7 }])
  })

  test('out of order, with too much, or with what is no page, is read on once it answers well', async () => {
    tell(agent(), 1, { fed_seq: 5 })
    tell(agent(), 1, { fed_seq: 2 })
    await read(() =>
      expect(here.alerts.map(({ event }) => event)).toContain('a peer tells its cards out of order'),
    )
    expect(await found('lie')).toEqual([])
    const { answer } = liar
    const wrong = [
      { cursor: 0, cards: Array.from({ length: 201 }, () => cards[0]) },
      { cursor: 0, cards: [{ ...cards[0], card: 'x'.repeat(70_000) }] },
      { cards: [] },
      'x'.repeat(33 * 1024 * 1024),
    ]
    for (const page of wrong) {
      const { length } = liar.asked
      liar.answer = () => page
      await read(() => expect(liar.asked.length).toBeGreaterThan(length + 1), 10 * MINUTE_MS)
    }
    cards = []
    tell(agent(), 1)
    liar.answer = answer
    await read(async () => expect(await found('lie')).toHaveLength(1), 10 * MINUTE_MS)
  }, 30_000)

  test('by answering without end is given up, and holds no other peer up', async () => {
    const honest = new MadeUpHub(here.clock.now())
    const bob = agent()
    honest.answer = ({ url = '' }) =>
      url.includes('cards?cursor=0')
        ? {
            cursor: 1,
            cards: [
              { card: openCardText(bob, 1, skill('well')), kel: bob.kel, home: honest.aid, fed_seq: 1 },
            ],
          }
        : { cursor: 1, cards: [], reviews: [] }
    await honest.listen()
    liar.answer = (_request, _body, response) => {
      const drip = setInterval(() => response.write(' '), 50)
      response.once('close', () => clearInterval(drip))
      return undefined
    }
    await reading.stop()
    const { context, agents } = here.running.hub
    reading = readOpenPeers(
      { ...context, timers },
      { agents, keyLogs: new KeyLogs(context), calls: new OpenMailCalls({ ...context, timers }) },
    )
    await read(() => expect(liar.asked.filter(path => path.includes('cards'))).toHaveLength(1))
    await listOpenPeer(here, honest)
    // a round waits for the slowest of those that it asks, and for no longer than it may take
    await read(async () => expect(await found('well')).toEqual([bob.aid]), 11_000)
    honest.close()
  }, 30_000)
})
