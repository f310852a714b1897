/** The contract of the store on reviews of agents with open mail. */
import { expect } from 'vitest'
import type { AddOpenReview } from '../../store/open-review-port.ts'
import { agentRow, bytes, type Rule, rule, type World } from './world.ts'

const KEL = 10
const blocks = { receipt: bytes(3, 1), review: bytes(4, 2), request: bytes(5, 3), deliverable: bytes(6, 4) }
const BLOCK_BYTES = 18
const review = (n: number, more: Partial<AddOpenReview> = {}): AddOpenReview => ({
  ...{ provider: 'agent-one', interaction: bytes(16, n), reviewer: 'agent-two', rating: 5 },
  ...{ ...blocks, providerKel: undefined, bytesMax: 1_000_000 },
  ...more,
})
const add = async ({ store }: World, one: AddOpenReview) => (await store.addOpenReview(one)).outcome
const all = { provider: undefined, after: 0, limit: 100, bytesMax: 1_000_000 }

export const openReviewRules: readonly Rule[] = [
  rule('keeps one review of a task, of whomever it is', async world => {
    expect(await add(world, review(1))).toBe('stored')
    expect(await add(world, review(1))).toBe('exists')
    expect(await add(world, review(1, { reviewer: 'agent-three', rating: 1 }))).toBe('exists')
    expect(await add(world, review(1, { provider: 'agent-far' }))).toBe('stored')
    expect(await world.store.openReviewer('agent-one', bytes(16, 1))).toBe('agent-two')
    expect(await world.store.openReviewer('agent-one', bytes(16, 2))).toBeUndefined()
    expect(await world.store.openReviewTotals()).toEqual({ reviews: 2, ratings: 10 })
  }),

  rule('gives reviews byte for byte, in the order in which they came, with the newest logs', async world => {
    await world.put(agentRow('agent-two', { kel: bytes(KEL, 2) }))
    await add(world, review(2))
    await add(world, review(1, { provider: 'agent-far', providerKel: bytes(KEL, 9), rating: 2 }))
    await world.reopen()
    const { bytesMax: _, ...told } = review(2)
    const [first, second, ...more] = await world.store.openReviews(all)
    expect(more).toEqual([])
    expect(first).toEqual({
      ...told,
      ...{ fedSeq: expect.any(Number), providerKel: bytes(KEL, 1), reviewerKel: bytes(KEL, 2) },
    })
    expect(second).toMatchObject({ provider: 'agent-far', rating: 2, providerKel: bytes(KEL, 9) })
    expect(second?.fedSeq).toBeGreaterThan(first?.fedSeq ?? 0)
    await world.put(agentRow('agent-far', { kel: bytes(KEL, 8) }))
    expect((await world.store.openReviews({ ...all, after: first?.fedSeq ?? 0 }))[0]?.providerKel).toEqual(
      bytes(KEL, 8),
    )
  }),

  rule('gives no more than was asked for, but one at least', async world => {
    for (const n of [1, 2, 3]) await add(world, review(n, { provider: n === 2 ? 'agent-far' : 'agent-one' }))
    const many = async (more: Partial<typeof all>) =>
      (await world.store.openReviews({ ...all, ...more })).map(({ interaction }) => interaction[0])
    expect(await many({ limit: 2 })).toEqual([1, 2])
    expect(await many({ bytesMax: 1 })).toEqual([1])
    expect(
      (await world.store.openReviews({ ...all, provider: 'agent-one' })).map(one => one.interaction[0]),
    ).toEqual([1, 3])
    const edges = await world.store.openReviewEdges({ after: 0, limit: 2 })
    expect(edges.map(({ provider, reviewer }) => [reviewer, provider])).toEqual([
      ['agent-two', 'agent-one'],
      ['agent-two', 'agent-far'],
    ])
    expect(await world.store.openReviewEdges({ after: edges[1]?.fedSeq ?? 0, limit: 2 })).toHaveLength(1)
  }),

  rule('counts reviews of an agent, and those of the reviewer with the most', async world => {
    const none = { reviews: 0, ratings: 0, reviewers: 0, mostOfOne: 0 }
    expect(await world.store.openReputation('agent-one')).toEqual(none)
    for (const n of [1, 2]) await add(world, review(n))
    await add(world, review(3, { reviewer: 'agent-three', rating: 1 }))
    await add(world, review(4, { provider: 'agent-far' }))
    const counted = { reviews: 3, ratings: 11, reviewers: 2, mostOfOne: 2 }
    expect(await world.store.openReputation('agent-one')).toEqual(counted)
  }),

  rule('sums up the reviews of many agents at once, and leaves out who has none', async world => {
    for (const n of [1, 2]) await add(world, review(n))
    await add(world, review(3, { reviewer: 'agent-three', rating: 1 }))
    await add(world, review(4, { provider: 'agent-far', rating: 2 }))
    await add(world, review(5, { provider: 'agent-other' }))
    const asked = ['agent-far', 'agent-none', 'agent-one', 'agent-far']
    expect(await world.store.openSums(asked)).toEqual(
      new Map([
        ['agent-far', { reviews: 1, ratings: 2 }],
        ['agent-one', { reviews: 3, ratings: 11 }],
      ]),
    )
    expect(await world.store.openSums([])).toEqual(new Map())
  }),

  rule('keeps no more bytes of reviews than it may', async world => {
    const bytesMax = 2 * BLOCK_BYTES + KEL
    expect(await add(world, review(1, { bytesMax, providerKel: bytes(KEL, 1) }))).toBe('stored')
    expect(await add(world, review(2, { bytesMax: bytesMax - 1 }))).toBe('full')
    expect(await add(world, review(2, { bytesMax }))).toBe('stored')
    expect(await add(world, review(3, { bytesMax }))).toBe('full')
    expect(await add(world, review(2, { bytesMax }))).toBe('exists')
  }),
]
