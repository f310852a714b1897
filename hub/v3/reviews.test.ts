import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RELEASE } from '../../protocol/build-info.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { type CborValue, decode, encode } from '../../protocol/encoding/cbor.ts'
import { Attestation, receiptBodyHash } from '../../protocol/proof/receipt.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import {
  callRoute,
  type Reply,
  random,
  registeredAgent,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { type ReviewOptions, reviewUpload } from '../testing/reviews.ts'

let hub: TestHub
let requester: TestAgent
let provider: TestAgent

beforeAll(async () => {
  hub = await startTestHub({ limits: { probationMs: 0 } })
  requester = await registeredAgent(hub)
  provider = await registeredAgent(hub)
})
afterAll(() => hub.close())

const upload = (options: ReviewOptions = {}, by = requester, of = provider): Promise<Reply> =>
  by.call('uploadReview', reviewUpload(by, of, options))

const reputation = async (aid: string) =>
  (await callRoute(hub, 'reputation', undefined, { params: { aid } })).json

describe('reviews', () => {
  test('are accepted with an attestation that binds receipt and review', async () => {
    const body = reviewUpload(requester, provider)
    const reply = await requester.call('uploadReview', body)
    expect([reply.status, reply.json['status']]).toEqual([200, 'accepted'])
    const attestation = Attestation.decode(fromBase64url(reply.json['attestation'] as string))
    expect(attestation.body).toMatchObject({
      hub: hub.aid,
      reviewHash: receiptBodyHash(fromBase64url(body.review)),
    })
    expect(Attestation.verify(hub.running.hub.context.identity.kel.publicKey, attestation)).toBe(true)
    expectRefusal(await requester.call('uploadReview', body), 'review_exists')
  })

  test('are one an interaction, also with another rating', async () => {
    const interactionId = random(16)
    expect((await upload({ body: { interactionId } })).status).toBe(200)
    expectRefusal(await upload({ body: { interactionId }, rating: 1 }), 'review_exists')
  })

  test('are refused during probation, also of an agent that the operator let in before or lets in now', async () => {
    const strict = await startTestHub()
    const newcomer = await registeredAgent(strict)
    await strict.running.order({ command: 'admit', aid: newcomer.aid })
    const body = reviewUpload(newcomer, provider)
    expectRefusal(await newcomer.call('uploadReview', body), 'probation')
    strict.clock.advance(73 * HOUR_MS)
    expect((await newcomer.call('uploadReview', reviewUpload(newcomer, provider))).status).toBe(200)
    await strict.close()
  })

  test('are the requester’s alone: another signer, salt or counter-signer does not open the commitment', async () => {
    const other = await registeredAgent(hub)
    expectRefusal(
      await other.call('uploadReview', reviewUpload(requester, provider)),
      'requester_commit_mismatch',
    )
    expectRefusal(await upload({ rsalt: random(32) }), 'requester_commit_mismatch')
    expectRefusal(await upload({ counterSigner: other }), 'requester_commit_mismatch')
  })

  test('need both signatures under keys that were in force when the task ended', async () => {
    expectRefusal(await upload({ providerSeed: random(32) }), 'receipt_not_reviewable')
    const impostor = await registeredAgent(hub)
    impostor.seed = random(32)
    const body = reviewUpload(requester, provider, {})
    const rotated = await registeredAgent(hub)
    const oldSeed = rotated.seed
    const oldSeq = rotated.log.seq
    rotated.rotate()
    const before = { providerKelSeq: oldSeq }
    expect((await upload({ body: before, providerSeed: oldSeed }, requester, rotated)).status).toBe(200)
    hub.clock.advance(HOUR_MS)
    expectRefusal(
      await upload({ body: before, providerSeed: oldSeed }, requester, rotated),
      'receipt_not_reviewable',
    )
    expectRefusal(await upload({ body: { providerKelSeq: 9 } }), 'receipt_not_reviewable')
    expect((await requester.call('uploadReview', body)).status).toBe(200)
  })

  test('need a receipt that carries a commitment', async () => {
    const { receipt, ...rest } = reviewUpload(requester, provider)
    const [body, ...others] = decode(fromBase64url(receipt)) as [Uint8Array, ...CborValue[]]
    const members = decode(body) as Map<number, CborValue>
    const with5 = (change: (members: Map<number, CborValue>) => void): string => {
      const changed = new Map(members)
      change(changed)
      return toBase64url(encode([encode(changed), ...others]))
    }
    const told = (text: string) => requester.call('uploadReview', { receipt: text, ...rest })
    expectRefusal(await told(with5(changed => changed.delete(5))), 'receipt_not_reviewable')
    expectRefusal(await told(with5(changed => changed.set(5, new Uint8Array(31)))), 'bad_request')
    expectRefusal(await told(with5(changed => changed.delete(6))), 'bad_request')
    expectRefusal(await told(toBase64url(random(300))), 'bad_request')
  })

  test('of providers that are not registered here stand on the log that comes along', async () => {
    const stranger = new TestAgent(hub)
    expect((await upload({}, requester, stranger)).status).toBe(200)
  })

  test('of providers that are not registered here are in their reputation here', async () => {
    const stranger = new TestAgent(hub)
    await upload({ rating: 4 }, requester, stranger)
    expect(await reputation(stranger.aid)).toMatchObject({ local: { reviews: 1, avg_rating: 4 }, peers: [] })
  })

  test('are no praise of oneself and of no task that ends in the future', async () => {
    expectRefusal(await upload({}, requester, requester), 'receipt_not_reviewable')
    expectRefusal(await upload({ body: { end: hub.clock.now() + HOUR_MS } }), 'receipt_not_reviewable')
  })

  test('are taken for 30 days after the end', async () => {
    const end = hub.clock.now() - 30 * DAY_MS
    expect((await upload({ body: { start: end, end: end + HOUR_MS } })).status).toBe(200)
    expectRefusal(await upload({ body: { start: end - 2, end: end - 1 } }), 'review_window_closed')
  })

  test('that are no review, or one of another receipt, are malformed', async () => {
    const one = reviewUpload(requester, provider)
    const other = reviewUpload(requester, provider)
    expectRefusal(await requester.call('uploadReview', { ...one, review: other.review }), 'bad_request')
    expectRefusal(await requester.call('uploadReview', { ...one, review: one.rsalt }), 'bad_request')
    expectRefusal(await requester.call('uploadReview', { ...one, receipt: one.rsalt }), 'bad_request')
  })
})

test('reputation tells reviews, average, distinct reviewers and the share of the busiest one', async () => {
  const subject = await registeredAgent(hub)
  expect(await reputation(subject.aid)).toMatchObject({
    local: { reviews: 0, avg_rating: null },
    concentration: 0,
    distinct_reviewers: 0,
  })
  const second = await registeredAgent(hub)
  for (const rating of [5, 4, 5] as const) await upload({ rating }, requester, subject)
  await upload({ rating: 1 }, second, subject)
  const score = { reviews: 4, avg_rating: 3.75 }
  expect(await reputation(subject.aid)).toMatchObject({
    aid: subject.aid,
    local: score,
    peers: [],
    combined: score,
    concentration: 0.75,
    distinct_reviewers: 2,
  })
  expect((await callRoute(hub, 'reputation', undefined, { params: { aid: 'nobody' } })).json['reason']).toBe(
    'unknown_aid',
  )
})

test('the counters of the hub count reviews as completed tasks, and average them', async () => {
  const own = await startTestHub({ limits: { probationMs: 0 } })
  const [from, to] = [await registeredAgent(own), await registeredAgent(own)]
  const stats = async () => (await callRoute(own, 'stats', undefined)).json
  const before = {
    agents: 2,
    tasks_completed: 0,
    reviews: 0,
    avg_rating: null,
    modules: ['cards', 'credits', 'reviews', 'supply'],
    version: RELEASE,
  }
  expect(await stats()).toMatchObject(before)
  for (const rating of [5, 2] as const) await from.call('uploadReview', reviewUpload(from, to, { rating }))
  own.clock.advance(60_000)
  expect(await stats()).toMatchObject({
    tasks_completed: 2,
    reviews: 2,
    avg_rating: 3.5,
    note: expect.stringContaining('tasks_completed counts the receipts'),
  })
  await own.close()
})

test('the graph names agents and never who reviewed whom', async () => {
  const { json } = await callRoute(hub, 'graph', undefined)
  expect(json['edges']).toEqual([])
  const nodes = json['nodes'] as { aid: string }[]
  expect(nodes.map(node => node.aid)).toContain(provider.aid)
})
