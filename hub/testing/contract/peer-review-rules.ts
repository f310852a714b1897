/** The contract of the store on reviews that travel: what peers are told, and what is kept of what they tell. */
import { expect } from 'vitest'
import type { AgentRow, StoredReview } from '../../store/port.ts'
import { agentRow, bytes, type Rule, rule, type World } from './world.ts'

const PEER = 'hub-peer'
const OTHER = 'hub-other'

const review = (provider: string, n: number, more: Partial<StoredReview> = {}): StoredReview => ({
  provider,
  interaction: bytes(16, n),
  reviewer: bytes(16, 1),
  rating: 5,
  receipt: bytes(8, n),
  review: bytes(8, n),
  attestation: bytes(8, n),
  kel: bytes(8, 9),
  home: undefined,
  ...more,
})

/** What a peer reads after a number: reviews as their interaction's byte, what is withdrawn as the agent. */
async function told({ store }: World, peer = PEER, after = 0): Promise<(number | string | undefined)[]> {
  const { told: all } = await store.toldReviews({ peer, after, limit: 100, bytesMax: 1e6 })
  return all.map(one => ('withdrawn' in one ? one.withdrawn : one.receipt[0]))
}

async function newest({ store }: World, peer = PEER): Promise<number> {
  const { told: all } = await store.toldReviews({ peer, after: 0, limit: 100, bytesMax: 1e6 })
  return all.at(-1)?.fedSeq ?? 0
}

/** Writes an agent over what stands of it. */
async function put(world: World, aid: string, more: Partial<AgentRow>): Promise<void> {
  const held = await world.store.findAgent(aid)
  await world.put({ ...(held ?? agentRow(aid)), ...more })
}

const items = (...given: [provider: string, n: number, rating?: number][]) =>
  given.map(([provider, n, rating = 5]) => ({ provider, interaction: bytes(16, n), rating }))

export const peerReviewRules: readonly Rule[] = [
  rule('tells peers of a review where its agent is federated or public, and of no other', async world => {
    for (const [n, visibility] of (['hub-local', 'federated', 'public'] as const).entries()) {
      await put(world, `seen-${n}`, { visibility })
      await world.store.addReview(review(`seen-${n}`, n))
    }
    await put(world, 'set-aside', { registered: false, visibility: 'public' })
    await world.store.addReview(review('set-aside', 7))
    expect(await told(world)).toEqual([1, 2])
  }),

  rule('numbers reviews in the order in which they came, and pages go on without a gap', async world => {
    await put(world, 'agent-one', { visibility: 'federated' })
    await Promise.all([1, 2, 3, 4, 5].map(n => world.store.addReview(review('agent-one', n))))
    const seen: (number | undefined)[] = []
    let after = 0
    for (let more = true; more; ) {
      const page = await world.store.toldReviews({ peer: PEER, after, limit: 2, bytesMax: 1e6 })
      seen.push(...page.told.map(one => ('withdrawn' in one ? undefined : one.receipt[0])))
      expect(page.told.every(({ fedSeq }, at) => fedSeq > (page.told[at - 1]?.fedSeq ?? after))).toBe(true)
      after = page.told.at(-1)?.fedSeq ?? after
      more = page.more
    }
    expect(seen).toEqual([1, 2, 3, 4, 5])
  }),

  rule('gives in a page as many as its bytes hold, and a larger one alone', async world => {
    await put(world, 'agent-one', { visibility: 'federated' })
    for (const n of [1, 2, 3]) await world.store.addReview(review('agent-one', n))
    const counts = async (bytesMax: number) => {
      const page = await world.store.toldReviews({ peer: PEER, after: 0, limit: 10, bytesMax })
      return [page.told.length, page.more]
    }
    // three fields of 8 bytes, and the 10 of the agent's key history
    expect([await counts(1), await counts(68), await counts(102)]).toEqual([
      [1, true],
      [2, true],
      [3, false],
    ])
  }),

  rule('withdraws the reviews of an agent once, whether it narrows or leaves', async world => {
    for (const change of [{ visibility: 'hub-local' }, { registered: false }] as const) {
      const aid = `agent-${Object.keys(change)[0]}`
      await put(world, aid, { visibility: 'federated' })
      const before = await newest(world)
      for (const n of [1, 2]) await world.store.addReview(review(aid, n))
      await put(world, aid, change)
      await put(world, aid, { ...change, name: 'other' })
      await world.store.addReview(review(aid, 3))
      expect(await told(world, PEER, before)).toEqual([aid])
    }
  }),

  rule('says nothing of an agent whose reviews were never told', async world => {
    await world.store.addReview(review('agent-one', 1))
    await put(world, 'agent-one', { registered: false })
    await put(world, 'agent-two', { visibility: 'federated' })
    await put(world, 'agent-two', { visibility: 'hub-local' })
    expect(await told(world)).toEqual([])
  }),

  rule(
    'tells all reviews of an agent anew when it widens, under numbers that were never given',
    async world => {
      await put(world, 'agent-one', { visibility: 'federated' })
      for (const n of [1, 2]) await world.store.addReview(review('agent-one', n))
      await put(world, 'agent-one', { visibility: 'hub-local' })
      const withdrawn = await newest(world)
      await world.store.addReview(review('agent-one', 3))
      await put(world, 'agent-one', { visibility: 'public' })
      expect([await told(world), await told(world, PEER, withdrawn)]).toEqual([
        [1, 2, 3],
        [1, 2, 3],
      ])
      await put(world, 'agent-one', { visibility: 'federated' })
      expect(await told(world, PEER, await newest(world))).toEqual([])
    },
  ),

  rule('gives no number twice, also over a restart', async world => {
    await put(world, 'agent-one', { visibility: 'federated' })
    await world.store.addReview(review('agent-one', 1))
    const seen = [await newest(world)]
    for (const visibility of ['hub-local', 'federated', 'hub-local'] as const) {
      await put(world, 'agent-one', { visibility })
      await world.reopen()
      seen.push(await newest(world))
    }
    expect(new Set(seen).size).toBe(4)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  }),

  rule(
    'tells of an agent that is registered elsewhere its home alone, with its longest key history',
    async world => {
      const kels = [bytes(8, 1), bytes(9, 2), bytes(8, 3)]
      for (const [n, kel] of kels.entries())
        await world.store.addReview(review('agent-away', n, { kel, home: PEER }))
      await world.store.addReview(review('agent-homeless', 7))
      expect([await told(world), await told(world, OTHER)]).toEqual([[0, 1, 2], []])
      const { told: all } = await world.store.toldReviews({ peer: PEER, after: 0, limit: 9, bytesMax: 1e6 })
      expect(all.map(one => ('withdrawn' in one ? undefined : one.kel))).toEqual([kels[1], kels[1], kels[1]])
    },
  ),

  rule('withdraws what an agent’s former home was told once it registers here', async world => {
    await world.store.addReview(review('agent-moves', 1, { home: PEER }))
    await put(world, 'agent-moves', {})
    expect([await told(world), await told(world, OTHER)]).toEqual([['agent-moves'], []])
    await put(world, 'agent-moves', { visibility: 'federated' })
    expect([await told(world), await told(world, OTHER)]).toEqual([[1], [1]])
  }),

  rule('keeps what a peer told, and how far it was read, over a restart', async world => {
    await world.store.takePeerReviews({ hub: PEER, items: items(['bob', 1, 4]), fedSeq: 7, max: 10 })
    await world.reopen()
    expect([await world.store.peerReviewsRead(PEER), await world.store.peerReviewsRead(OTHER)]).toEqual([
      7, 0,
    ])
    expect(await world.store.peerReputation('bob', [PEER])).toEqual([{ hub: PEER, reviews: 1, ratings: 4 }])
  }),

  rule('counts what is told again once, and never reads a peer from further back', async world => {
    const page = { hub: PEER, items: items(['bob', 1, 4], ['bob', 2, 2]), fedSeq: 7, max: 10 }
    await world.store.takePeerReviews(page)
    await world.store.takePeerReviews({ ...page, items: items(['bob', 1, 1]), fedSeq: 3 })
    expect(await world.store.peerReviewsRead(PEER)).toBe(7)
    expect(await world.store.peerReputation('bob', [PEER])).toEqual([{ hub: PEER, reviews: 2, ratings: 6 }])
  }),

  rule(
    'counts a review that two peers tell for the first, and for the other where that one is listed no more',
    async world => {
      for (const [fedSeq, hub] of [PEER, OTHER].entries())
        await world.store.takePeerReviews({ hub, items: items(['bob', 1, 4]), fedSeq, max: 10 })
      const counted = async (...hubs: string[]) =>
        (await world.store.peerReputation('bob', hubs)).map(({ hub, reviews }) => `${hub} ${reviews}`)
      expect([
        await counted(OTHER, PEER),
        await counted(PEER),
        await counted(OTHER),
        await counted('hub-third'),
        await counted(),
      ]).toEqual([[`${PEER} 1`], [`${PEER} 1`], [`${OTHER} 1`], [], []])
    },
  ),

  rule('counts a review that this hub has itself for no peer', async world => {
    await world.store.takePeerReviews({
      hub: PEER,
      items: items(['agent-one', 1], ['agent-one', 2]),
      fedSeq: 2,
      max: 9,
    })
    await world.store.addReview(review('agent-one', 1))
    expect(await world.store.peerReputation('agent-one', [PEER])).toEqual([
      { hub: PEER, reviews: 1, ratings: 5 },
    ])
    expect((await world.store.reputation('agent-one')).reviews).toBe(1)
  }),

  rule('forgets what a peer withdraws, of that agent and of that peer alone', async world => {
    for (const hub of [PEER, OTHER])
      await world.store.takePeerReviews({ hub, items: items(['bob', 1], ['eve', 2]), fedSeq: 2, max: 10 })
    await world.store.takePeerReviews({ hub: PEER, items: [{ withdrawn: 'bob' }], fedSeq: 3, max: 10 })
    const hubs = async (aid: string) =>
      (await world.store.peerReputation(aid, [PEER, OTHER])).map(({ hub }) => hub)
    expect([await hubs('bob'), await hubs('eve')]).toEqual([[OTHER], [PEER]])
  }),

  rule(
    'keeps so many reviews of a peer, says how many found no room, and has room again after a withdrawal',
    async world => {
      const take = (fedSeq: number, ...given: Parameters<typeof items>) =>
        world.store.takePeerReviews({ hub: PEER, items: items(...given), fedSeq, max: 2 })
      expect(await take(3, ['bob', 1], ['bob', 2], ['eve', 3])).toEqual({ left: 1 })
      expect(await take(4, ['bob', 1])).toEqual({ left: 0 })
      expect(await world.store.peerReviewsRead(PEER)).toBe(4)
      await world.store.takePeerReviews({ hub: PEER, items: [{ withdrawn: 'bob' }], fedSeq: 5, max: 2 })
      expect(await take(7, ['eve', 4], ['eve', 5])).toEqual({ left: 0 })
      expect(await world.store.peerReputation('eve', [PEER])).toEqual([
        { hub: PEER, reviews: 2, ratings: 10 },
      ])
    },
  ),

  rule('forgets the reviews of a peer, however many, and reads it from the start', async world => {
    const { store } = world
    const many = items(...Array.from({ length: 1001 }, (_, n) => [`agent-${n}`, 1] as [string, number]))
    for (const hub of [PEER, OTHER]) await store.takePeerReviews({ hub, items: many, fedSeq: 5, max: 2000 })
    await store.forgetPeerReviews(PEER)
    expect([await store.peerReviewsRead(PEER), await store.peerReviewsRead(OTHER)]).toEqual([0, 5])
    for (const n of [0, 500, 1000])
      expect(await store.peerReputation(`agent-${n}`, [PEER, OTHER])).toMatchObject([{ hub: OTHER }])
    await store.takePeerReviews({ hub: PEER, items: items(['eve', 1]), fedSeq: 1, max: 1 })
    expect(await store.peerReputation('eve', [PEER])).toMatchObject([{ reviews: 1 }])
  }),
]
