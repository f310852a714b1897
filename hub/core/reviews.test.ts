/** Reviews of finished tasks, as the core judges them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { Attestation, Review, receiptBodyHash } from '../../protocol/proof/receipt.ts'
import { agentOf, openCore, refusedWith, type TestCore } from '../testing/core.ts'
import { random, type TestAgent } from '../testing/hub.ts'
import { type ReviewOptions, reviewUpload } from '../testing/reviews.ts'
import { agentRow } from '../testing/store-contract.ts'
import { Agents, readAgent } from './agents.ts'
import { CLOCK_WINDOW_MS } from './limits.ts'
import { KeyLogs } from './membership/key-logs.ts'
import { Reviews } from './reviews.ts'

const NOW_MS = 1_800_000_000_000
const HERE = '192.0.2.1'

let core: TestCore
let agents: Agents
let reviews: Reviews
let alice: TestAgent
let bob: TestAgent
beforeEach(async () => {
  core = await openCore(NOW_MS)
  agents = new Agents(core.context)
  reviews = new Reviews(core.context, agents, new KeyLogs(core.context))
  ;[alice, bob] = [agentOf(core), agentOf(core)]
})
afterEach(() => core.close())

const signerOf = ({ aid, log }: TestAgent, probationUntilMs = 0) =>
  readAgent(agentRow(aid, { kel: encodeKel(log.events), probationUntilMs }))
const uploadOf = (options: ReviewOptions = {}, [from, about] = [alice, bob]) => {
  const { receipt, review, rsalt } = reviewUpload(from, about, options)
  return { receipt: fromBase64url(receipt), review: fromBase64url(review), rsalt: fromBase64url(rsalt) }
}
type Upload = ReturnType<typeof uploadOf>
const upload = (given: Upload, by = signerOf(alice)) => reviews.upload(by, given, HERE)
const told = (given: Upload, by?: Parameters<typeof upload>[1]) => refusedWith(() => upload(given, by))

describe('a review', () => {
  test('is attested, kept once, and counts for its provider', async () => {
    const given = uploadOf({ rating: 4 })
    const attestation = await upload(given)
    expect(attestation.body).toMatchObject({
      receiptDigest: Review.decode(given.review).receiptDigest,
      reviewHash: receiptBodyHash(given.review),
      hub: core.context.identity.aid,
      hubTs: NOW_MS,
    })
    expect(Attestation.decode(Attestation.encode(attestation))).toEqual(attestation)
    expect(await told(given)).toBe('reviewExists')
    const reputation = await reviews.reputation(bob.aid)
    expect(JSON.stringify(reputation)).toMatch(/4/)
    expect(JSON.stringify(reputation)).not.toContain(alice.aid)
  })

  test('that is uploaded twice at once is kept once', async () => {
    const given = uploadOf()
    const both = await Promise.allSettled([upload(given), upload(given)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('counts reviewers apart, and equal ones of two providers cannot be joined', async () => {
    const tags: string[] = []
    const { store } = core.context
    const add = store.addReview
    store.addReview = review => {
      tags.push(Buffer.from(review.reviewer).toString('hex'))
      return add(review)
    }
    const carol = agentOf(core)
    await upload(uploadOf())
    await upload(uploadOf())
    await upload(uploadOf({}, [carol, bob]), signerOf(carol))
    await upload(uploadOf({}, [alice, carol]))
    expect(tags.map(tag => tag.length)).toEqual([32, 32, 32, 32])
    expect(tags[0]).toBe(tags[1])
    expect(new Set(tags).size).toBe(3)
  })

  test('of an account on probation waits until that is over', async () => {
    expect(await told(uploadOf(), signerOf(alice, NOW_MS + 1))).toBe('probation')
    expect(await told(uploadOf(), signerOf(alice, NOW_MS))).toBeUndefined()
  })

  test('opens the commitment of its receipt, which its signer counter-signed', async () => {
    expect(await told(uploadOf({ rsalt: random(32) }))).toBe('commitmentMismatch')
    expect(await told(uploadOf(), signerOf(agentOf(core)))).toBe('commitmentMismatch')
    expect(await told(uploadOf({ counterSigner: agentOf(core) }))).toBe('commitmentMismatch')
  })

  test('rates the receipt that comes along', async () => {
    expect(await told({ ...uploadOf(), review: uploadOf().review })).toBe('requestMalformed')
  })

  test('comes within the window after the end, and not before it', async () => {
    const { reviewWindowMs } = core.context.limits
    const ending = (end: number) => uploadOf({ body: { start: end - 1, end } })
    expect(await told(ending(NOW_MS - reviewWindowMs - 1))).toBe('reviewWindowClosed')
    expect(await told(ending(NOW_MS + CLOCK_WINDOW_MS + 1))).toBe('receiptNotReviewable')
    expect(await told(ending(NOW_MS + CLOCK_WINDOW_MS))).toBeUndefined()
    for (const seed of [alice, bob]) expect(seed.log.ts).toBeLessThan(NOW_MS)
    expect(await told(ending(NOW_MS - 1))).toBeUndefined()
  })

  test('is never one of oneself', async () => {
    expect(await told(uploadOf({}, [alice, alice]))).toBe('receiptNotReviewable')
  })

  test('needs signatures of both under keys in force when the task ended', async () => {
    expect(await told(uploadOf({ providerSeed: random(32) }))).toBe('receiptNotReviewable')
    const before = uploadOf()
    const old = signerOf(alice)
    for (const agent of [alice, bob]) agent.rotate({ ts: NOW_MS + 1 })
    expect(await told(before, signerOf(alice))).toBeUndefined()
    core.clock.ms += 2 * CLOCK_WINDOW_MS
    const end = NOW_MS + 1 + CLOCK_WINDOW_MS
    const seq = { providerKelSeq: 0 }
    const late = (ms: number) => uploadOf({ body: { start: ms - 1, end: ms, ...seq }, providerSeed: oldSeed })
    const oldSeed = random(32)
    expect(await told(late(end))).toBe('receiptNotReviewable')
    expect(await told(uploadOf({ body: { providerKelSeq: 9 } }))).toBe('receiptNotReviewable')
    expect(await told(uploadOf(), old)).toBe('receiptNotReviewable')
  })

  test.each(['receipt', 'review'] as const)('with a torn %s is refused', async member => {
    const given = uploadOf()
    expect(await told({ ...given, [member]: given[member].subarray(1) })).toBe('requestMalformed')
  })
})

test('a key is in force until its successor, and as long after that as clocks differ', async () => {
  const { seed } = bob
  const turn = NOW_MS + 1000
  bob.rotate({ ts: turn })
  core.clock.ms = turn + 2 * CLOCK_WINDOW_MS
  const ending = (end: number) =>
    uploadOf({ body: { start: end - 1, end, providerKelSeq: 0 }, providerSeed: seed })
  expect(await told(ending(turn + CLOCK_WINDOW_MS))).toBeUndefined()
  expect(await told(ending(turn + CLOCK_WINDOW_MS + 1))).toBe('receiptNotReviewable')
})
