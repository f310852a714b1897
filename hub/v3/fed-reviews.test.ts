/** Reviews as peers are told them, and what is shown of those that peers tell (hub API §4.3, §4.6). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { Attestation, Receipt, Review, verifyReceipt } from '../../protocol/proof/receipt.ts'
import { callRoute, random, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { toldReview } from '../testing/peer-reviews.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { type ReviewOptions, reviewUpload } from '../testing/reviews.ts'
import { peerOf, sendRow } from '../testing/routes.ts'

type Told = Record<'receipt' | 'review' | 'attestation' | 'provider_kel' | 'aid', string> & {
  fed_seq: number
}

let hub: TestHub
let alice: TestAgent
beforeAll(async () => {
  hub = await startTestHub({ limits: { probationMs: 0 } })
  alice = await registeredAgent(hub)
})
afterAll(() => hub.close())

async function provider(visibility = 'federated'): Promise<TestAgent> {
  const made = await registeredAgent(hub)
  await setVisibility(made, visibility)
  return made
}
const setVisibility = (agent: TestAgent, visibility: string) =>
  agent.call('setVisibility', { visibility }, { params: { aid: agent.aid } })
const review = (of: TestAgent, options: ReviewOptions = {}) =>
  alice.call('uploadReview', reviewUpload(alice, of, options))

async function ask(cursor?: number): Promise<{ reviews: Told[]; next: number | undefined }> {
  const path = `/fed/v3/reviews${cursor === undefined ? '' : `?cursor=${cursor}`}`
  const { json } = await sendRow('fedReviews', alice, { path })
  return { reviews: json['reviews'] as Told[], next: json['next'] as number | undefined }
}
/** All that is told after a number. */
async function rest(after: number): Promise<Told[]> {
  const { reviews, next } = await ask(after)
  return next === undefined ? reviews : [...reviews, ...(await rest(next))]
}
const last = async (): Promise<number> => (await rest(0)).at(-1)?.fed_seq ?? 0

describe('what a peer is told', () => {
  test('is a receipt, a review and an attestation that hold, and nothing of who reviewed', async () => {
    const bob = await provider()
    const before = await last()
    await review(bob, { rating: 4 })
    const [told] = (await rest(before)) as [Told]
    expect(Object.keys(told).sort()).toEqual([
      'attestation',
      'fed_seq',
      'format',
      'provider_kel',
      'receipt',
      'review',
    ])
    const log = verifyKel(decodeKel(fromBase64url(told.provider_kel)))
    const receipt = Receipt.decode(fromBase64url(told.receipt))
    expect([log.aid, verifyReceipt(receipt, log)]).toEqual([bob.aid, receipt])
    expect(Review.decode(fromBase64url(told.review)).rating).toBe(4)
    const attestation = Attestation.decode(fromBase64url(told.attestation))
    expect(Attestation.verify(hub.running.hub.context.identity.kel.publicKey, attestation)).toBe(true)
    const bytes = Object.values(told).map(value => Buffer.from(String(value), 'base64url'))
    expect(bytes.some(one => one.includes(fromBase64url(alice.aid)))).toBe(false)
  })

  test('are a hundred a page at most, each once, and pages end', async () => {
    const bob = await provider()
    const before = await last()
    for (let n = 0; n < 205; n++) expect((await review(bob)).status).toBe(200)
    const sizes: number[] = []
    const numbers: number[] = []
    for (let after: number | undefined = before; after !== undefined; ) {
      const page: Awaited<ReturnType<typeof ask>> = await ask(after)
      sizes.push(page.reviews.length)
      numbers.push(...page.reviews.map(one => one.fed_seq))
      after = page.next
    }
    expect(sizes).toEqual([100, 100, 5])
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect(await ask(numbers.at(-1))).toEqual({ reviews: [], next: undefined })
  })

  test('of an agent that narrows or leaves is withdrawn, once', async () => {
    for (const narrow of [
      (bob: TestAgent) => setVisibility(bob, 'hub-local'),
      (bob: TestAgent) => bob.call('deregister', {}, { params: { aid: bob.aid } }),
    ]) {
      const bob = await provider()
      await review(bob)
      const before = await last()
      expect((await narrow(bob)).status).toBe(200)
      expect(await rest(before)).toEqual([{ aid: bob.aid, withdrawn: true, fed_seq: expect.any(Number) }])
      expect((await rest(0)).filter(one => one.aid === bob.aid)).toHaveLength(1)
    }
  })

  test('is nothing of an agent that stays at this hub', async () => {
    const bob = await provider('hub-local')
    const before = await last()
    await review(bob)
    expect(await rest(before)).toEqual([])
  })

  test('of an agent whose home is a peer is told to that peer alone', async () => {
    const before = await last()
    const [theirs, others] = [new TestAgent(hub), new TestAgent(hub)]
    theirs.rotate({ home: peerOf(alice).aid })
    others.rotate({ home: alice.aid })
    for (const one of [theirs, others, new TestAgent(hub)]) expect((await review(one)).status).toBe(200)
    const told = await rest(before)
    expect(told.map(one => verifyKel(decodeKel(fromBase64url(one.provider_kel))).aid)).toEqual([theirs.aid])
  })

  test.each(['-1', '1.5', '', 'x', '99999999999999999'])(
    'is nothing for a cursor that is none: %s',
    async cursor => {
      expectRefusal(
        await sendRow('fedReviews', alice, { path: `/fed/v3/reviews?cursor=${cursor}` }),
        'bad_request',
      )
    },
  )
})

describe('the reputation of an agent', () => {
  const reputation = async (aid: string) =>
    (await callRoute(hub, 'reputation', undefined, { params: { aid } })).json
  const take = (from: string, of: TestAgent, ...ratings: number[]) =>
    hub.running.hub.context.store.takePeerReviews({
      hub: from,
      items: ratings.map(rating => ({ provider: of.aid, interaction: random(16), rating })),
      fedSeq: 1,
      max: 100,
    })

  test('counts what peers attest by hub, and what all attest together', async () => {
    const bob = await provider()
    const peer = peerOf(alice)
    await review(bob, { rating: 2 })
    await take(peer.aid, bob, 5, 5, 4)
    expect(await reputation(bob.aid)).toMatchObject({
      local: { reviews: 1, avg_rating: 2 },
      peers: [{ hub: peer.aid, reviews: 3, avg_rating: 4.67 }],
      combined: { reviews: 4, avg_rating: 4 },
      concentration: 0.75,
      distinct_reviewers: 1,
    })
  })

  test('hides what a hub attests that is listed no more, and shows it once it is listed again', async () => {
    const bob = await provider()
    const { peers } = hub.running.hub.context
    peerOf(alice)
    const listed = peers.all
    await take(listed[0]?.aid ?? '', bob, 5)
    peers.replace([])
    expect(await reputation(bob.aid)).toMatchObject({ peers: [], combined: { reviews: 0, avg_rating: null } })
    peers.replace(listed)
    expect(await reputation(bob.aid)).toMatchObject({ combined: { reviews: 1, avg_rating: 5 } })
  })

  test('is told of an agent that only peers know, and of nobody else', async () => {
    const away = new TestAgent(hub)
    expect((await reputation(away.aid))['reason']).toBe('unknown_aid')
    await take(peerOf(alice).aid, away, 3)
    expect(await reputation(away.aid)).toMatchObject({
      aid: away.aid,
      local: { reviews: 0, avg_rating: null },
      combined: { reviews: 1, avg_rating: 3 },
      concentration: 1,
    })
  })
})

test('two hubs that read each other tell nothing on: each attests its own alone', async () => {
  const bob = await provider()
  const peer = peerOf(alice)
  const before = await last()
  const { context } = hub.running.hub
  const told = toldReview(peer, bob)
  const { provider: aid, interactionId: interaction } = Receipt.decode(told.receipt).body
  await context.store.takePeerReviews({
    hub: peer.aid,
    items: [{ provider: aid, interaction, rating: 5 }],
    fedSeq: 9,
    max: 9,
  })
  expect(await rest(before)).toEqual([])
})
