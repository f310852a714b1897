/** The contract of the store on agents that hubs tell each other of. */
import { expect } from 'vitest'
import type { PeerCard } from '../../store/peer-card-port.ts'
import type { AgentRow } from '../../store/port.ts'
import { agentRow, bytes, type Rule, rule, type World } from './world.ts'

const PEER = 'hub-peer'

/** What peers read after a number: cards as the first byte of their keys, what is withdrawn as the agent. */
async function told({ store }: World, after = 0): Promise<(number | string | undefined)[]> {
  const { told: all } = await store.toldCards({ after, limit: 100, bytesMax: 1e6 })
  return all.map(one => ('withdrawn' in one ? one.withdrawn : one.keys[0]))
}

const newest = async ({ store }: World): Promise<number> =>
  (await store.toldCards({ after: 0, limit: 100, bytesMax: 1e6 })).told.at(-1)?.fedSeq ?? 0

/** Writes an agent over what stands of it. */
async function put(world: World, aid: string, more: Partial<AgentRow>): Promise<void> {
  const held = await world.store.findAgent(aid)
  await world.put({ ...(held ?? agentRow(aid)), ...more })
}

const reviewOf = (n: number) => ({
  provider: 'bob',
  interaction: bytes(16, n),
  reviewer: bytes(16, 1),
  rating: 5,
  receipt: bytes(8, n),
  review: bytes(8, n),
  attestation: bytes(8, n),
  kel: bytes(8, 9),
  home: PEER,
})
const card = (aid: string) => ({ aid, kel: bytes(9, 9) })
const known = (n: number) => ({ visibility: 'federated', keys: bytes(9, n) }) as const

export const peerCardRules: readonly Rule[] = [
  rule(
    'tells peers of agents that are federated or public and have keys, in the order of the last change',
    async world => {
      await put(world, 'agent-one', { keys: bytes(9, 1) })
      await put(world, 'agent-bare', { visibility: 'public' })
      await put(world, 'agent-aside', { ...known(2), registered: false })
      await put(world, 'agent-seen', known(3))
      await put(world, 'agent-shown', { ...known(4), visibility: 'public' })
      expect(await told(world)).toEqual([3, 4])
      await put(world, 'agent-seen', { keys: bytes(9, 5) })
      expect(await told(world)).toEqual([4, 5])
    },
  ),

  rule('tells an agent anew for other keys or another key history, and for nothing else', async world => {
    await put(world, 'agent-seen', known(1))
    const after: boolean[] = []
    for (const change of [
      { name: 'other' },
      { visibility: 'public' },
      { kel: bytes(11, 2) },
      known(2),
    ] as const) {
      const before = await newest(world)
      await put(world, 'agent-seen', change)
      after.push((await newest(world)) > before)
    }
    expect(after).toEqual([false, false, true, true])
  }),

  rule('withdraws an agent that narrows or leaves, once, and only if it was told', async world => {
    await put(world, 'agent-one', { visibility: 'hub-local' })
    for (const change of [{ visibility: 'hub-local' }, { registered: false }, { keys: undefined }] as const) {
      const aid = `agent-${Object.keys(change)[0]}`
      await put(world, aid, known(1))
      const before = await newest(world)
      await put(world, aid, change)
      await put(world, aid, { ...change, name: 'other' })
      expect(await told(world, before)).toEqual([aid])
    }
    await put(world, 'agent-registered', { registered: true })
    expect(await told(world)).toEqual(['agent-visibility', 'agent-keys', 1])
  }),

  rule('goes on with cards after a number, without a gap, as many as a page holds', async world => {
    for (const n of [1, 2, 3, 4, 5]) await put(world, `agent-${n}`, known(n))
    const seen: number[] = []
    let after = 0
    for (let more = true; more; ) {
      const page = await world.store.toldCards({ after, limit: 2, bytesMax: 1e6 })
      seen.push(page.told.length)
      after = page.told.at(-1)?.fedSeq ?? after
      more = page.more
    }
    expect(seen).toEqual([2, 2, 1])
    const counts = async (bytesMax: number) =>
      (await world.store.toldCards({ after: 0, limit: 9, bytesMax })).told.length
    // a card has 10 bytes of key history and 9 of keys
    expect([await counts(1), await counts(38), await counts(95)]).toEqual([1, 2, 5])
  }),

  rule(
    'keeps which agents a peer told of, once each, and how far it was read, over a restart',
    async world => {
      const { store } = world
      await store.takePeerCards({ hub: PEER, items: [card('bob'), card('eve')], fedSeq: 4, max: 9 })
      await store.takePeerCards({ hub: PEER, items: [card('bob')], fedSeq: 2, max: 9 })
      await world.reopen()
      expect([await world.store.peerCardsRead(PEER), await world.store.peerCardsRead('other')]).toEqual([
        4, 0,
      ])
      expect([await world.store.peerAgents([PEER, 'other']), await world.store.peerAgents([])]).toEqual([
        2, 0,
      ])
      await world.store.takePeerCards({ hub: PEER, items: [{ withdrawn: 'bob' }], fedSeq: 5, max: 9 })
      await world.store.takePeerCards({ hub: PEER, items: [{ withdrawn: 'bob' }], fedSeq: 6, max: 9 })
      expect(await world.store.peerAgents([PEER])).toBe(1)
    },
  ),

  rule(
    'keeps so many cards of a peer, says how many found no room, and has room again after a withdrawal',
    async world => {
      const take = (fedSeq: number, ...aids: string[]) =>
        world.store.takePeerCards({ hub: PEER, items: aids.map(card), fedSeq, max: 2 })
      expect([await take(3, 'a', 'b', 'c'), await take(4, 'a')]).toEqual([{ left: 1 }, { left: 0 }])
      await world.store.takePeerCards({ hub: PEER, items: [{ withdrawn: 'a' }], fedSeq: 5, max: 2 })
      expect([await take(6, 'c'), await world.store.peerAgents([PEER])]).toEqual([{ left: 0 }, 2])
    },
  ),

  rule(
    'tells all peers of the reviews of an agent elsewhere while its home tells of it, and then its home alone',
    async world => {
      const { store } = world
      const reads = async (peer: string, after = 0) =>
        (await store.toldReviews({ peer, after, limit: 9, bytesMax: 1e6 })).told.map(one =>
          'withdrawn' in one ? one.withdrawn : one.receipt[0],
        )
      const last = async () =>
        (await store.toldReviews({ peer: 'third', after: 0, limit: 9, bytesMax: 1e6 })).told.at(-1)?.fedSeq ??
        0
      const take = (fedSeq: number, item: PeerCard) =>
        store.takePeerCards({ hub: PEER, items: [item], fedSeq, max: 9 })
      await store.addReview(reviewOf(1))
      expect([await reads(PEER), await reads('third')]).toEqual([[1], []])
      await take(1, card('bob'))
      await store.addReview(reviewOf(2))
      expect([await reads(PEER), await reads('third')]).toEqual([
        [1, 2],
        [1, 2],
      ])
      for (const narrow of [() => take(2, { withdrawn: 'bob' }), () => store.forgetPeerCards(PEER)]) {
        const before = await last()
        await narrow()
        await store.addReview(reviewOf(3))
        expect([await reads('third', before), (await reads(PEER, before)).slice(0, 3)]).toEqual([
          ['bob'],
          ['bob', 1, 2],
        ])
        await take(3, card('bob'))
        expect(await reads('third')).toEqual([1, 2, 3])
      }
    },
  ),

  rule('goes by the last word of a page, and by another home that tells of the agent', async world => {
    const { store } = world
    await store.addReview(reviewOf(1))
    const reads = async (after = 0) =>
      (await store.toldReviews({ peer: 'third', after, limit: 9, bytesMax: 1e6 })).told
    const items = [card('bob'), { withdrawn: 'bob' }, card('bob'), { withdrawn: 'bob' }]
    await store.takePeerCards({ hub: PEER, items, fedSeq: 4, max: 9 })
    expect(await reads()).toEqual([])
    for (const hub of [PEER, 'hub-next'])
      await store.takePeerCards({ hub, items: [card('bob')], fedSeq: 5, max: 9 })
    const [told] = await reads()
    await store.takePeerCards({ hub: PEER, items: [{ withdrawn: 'bob' }], fedSeq: 6, max: 9 })
    expect(await reads()).toEqual([told])
  }),

  rule('forgets the cards of a peer, however many, and reads it from the start', async world => {
    const { store } = world
    const many = Array.from({ length: 1001 }, (_, n) => card(`agent-${n}`))
    for (const hub of [PEER, 'other']) await store.takePeerCards({ hub, items: many, fedSeq: 5, max: 2000 })
    await store.forgetPeerCards(PEER)
    expect([await store.peersWithCards(), await store.peerCardsRead(PEER)]).toEqual([['other'], 0])
    expect([await store.peerAgents([PEER]), await store.peerAgents(['other'])]).toEqual([0, 1001])
  }),
]
