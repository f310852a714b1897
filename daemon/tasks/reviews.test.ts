import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Attestation, Review, receiptBodyHash } from '../../protocol/proof/receipt.ts'
import { HubUnreachable, type ReviewUpload } from '../hubs/hub.ts'
import { type ReviewRow, reviewOf } from '../store/reviews.ts'
import type { Interaction } from '../store/threads.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { HUB_SEED, refusedWith } from '../testing/scripted-hub.ts'
import { openReviewUploads } from './open.ts'
import { keepReview, type ReviewUploads, reviewStanding } from './reviews.ts'

const TEN_MINUTES_MS = 600_000
const WINDOW_MS = 30 * DAY_MS

let world: TestWorld
let alice: TestNode
let bob: TestNode
let uploads: ReviewUploads
let id: string

/** A task that bob answered and both have signed off. */
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('signed'))
  uploads = openReviewUploads(alice.ctx)
  uploads.start()
})
afterEach(async () => {
  await uploads.stop()
  await world[Symbol.asyncDispose]()
})

const rate = (rating = 4, comment = 'as asked') =>
  keepReview({ store: alice.ctx.store, ratings: alice.tasks.ratings, uploads: uploads }, alice.thread(id), {
    rating,
    comment,
  })
const calls = () => alice.hub.calls.filter(call => call === 'uploadReview').length
const answers = (uploadReview: (upload: ReviewUpload) => Promise<Uint8Array>) =>
  alice.hub.answers({ uploadReview })
const refuses = (code: string, retryAfterMs?: number) =>
  answers(async () => {
    throw refusedWith(code, {}, retryAfterMs)
  })
/** What the hub signs for a review, altered where a test says so. */
const attests = (changes: Partial<Attestation['body']> = {}) =>
  answers(async upload =>
    Attestation.encode(
      Attestation.sign(HUB_SEED, {
        hub: alice.hub.identity.aid,
        hubSeq: 0,
        reviewHash: receiptBodyHash(upload.review),
        receiptDigest: Review.decode(upload.review).receiptDigest,
        hubTs: world.clock.ms,
        ...changes,
      }),
    ),
  )

describe('a review', () => {
  test('goes to the hub at once, with both signatures, and its attestation is kept', async () => {
    attests()
    expect(await rate(4)).toEqual({
      interaction_id: id,
      rating: 4,
      review_cid: expect.stringMatching(/^b/),
      uploaded: true,
    })
    expect(reviewOf(alice.ctx.store, alice.thread(id).key)?.attestation).toBeInstanceOf(Uint8Array)
    expect(reviewStanding(alice.ctx.store, alice.thread(id))).toEqual({
      rating: 4,
      review: { uploaded: true },
    })
  })

  test.each<[string, Partial<Attestation['body']>]>([
    ['another hub', { hub: `A${'a'.repeat(43)}` }],
    ['another review', { reviewHash: new Uint8Array(32) }],
    ['another receipt', { receiptDigest: new Uint8Array(32) }],
    ['a key that the hub never had', { hubSeq: 7 }],
  ])('that is attested for %s is uploaded, and the node says what is wrong', async (_, changes) => {
    attests(changes)
    expect(await rate()).toMatchObject({
      uploaded: true,
      reason: 'the attestation of the hub does not verify',
    })
  })

  test.each<[string, () => Uint8Array]>([
    ['in bytes that are no attestation', () => new Uint8Array([1])],
    [
      'under a key that is not the one of the hub',
      () =>
        Attestation.encode(
          Attestation.sign(new Uint8Array(32).fill(9), {
            hub: alice.hub.identity.aid,
            hubSeq: 0,
            reviewHash: receiptBodyHash(
              (reviewOf(alice.ctx.store, alice.thread(id).key) as ReviewRow).review,
            ),
            receiptDigest: new Uint8Array(32),
            hubTs: world.clock.ms,
          }),
        ),
    ],
  ])('that is attested %s is uploaded, and the node says what is wrong', async (_, attestation) => {
    answers(async () => attestation())
    expect(await rate()).toMatchObject({ reason: 'the attestation of the hub does not verify' })
  })

  test('of a node without a hub is kept, and goes when there is one', async () => {
    alice.ctx.hub.leave()
    expect(await rate()).toMatchObject({ uploaded: false })
    await expect
      .poll(() => reviewStanding(alice.ctx.store, alice.thread(id)).review, { interval: 5 })
      .toEqual({
        uploaded: false,
        reason: 'this node is registered at no hub',
        next_try_at: world.clock.ms + TEN_MINUTES_MS,
      })
    attests()
    alice.ctx.hub.settleAt(alice.hub)
    world.pass(TEN_MINUTES_MS)
    alice.ctx.wakers.reviews.wake()
    await expect.poll(calls, { interval: 5 }).toBe(1)
  })

  test('that is given while the node stops is kept, and nobody waits for the hub', async () => {
    await uploads.stop()
    expect(await rate()).toMatchObject({ uploaded: false, reason: 'on its way to the hub' })
    expect(calls()).toBe(0)
  })

  test('is written once: the first stays', async () => {
    attests()
    await rate(2)
    await expect(rate(5)).rejects.toMatchObject({ code: 'wrong_state' })
    expect(reviewStanding(alice.ctx.store, alice.thread(id)).rating).toBe(2)
    expect(calls()).toBe(1)
  })

  test('is the requester’s alone, and of a receipt that both signed', async () => {
    const provider = keepReview(
      { store: bob.ctx.store, ratings: bob.tasks.ratings, uploads: uploads },
      bob.thread(id),
      { rating: 5, comment: '' },
    )
    await expect(provider).rejects.toMatchObject({ code: 'wrong_state' })
    alice.within(() => alice.ctx.threads.update(alice.thread(id), { receiptState: 'waiting' }))
    await expect(rate()).rejects.toMatchObject({ code: 'no_receipt' })
    alice.within(() => alice.ctx.threads.update(alice.thread(id), { receiptState: 'signed', receipt: null }))
    await expect(rate()).rejects.toMatchObject({ code: 'no_receipt' })
    expect(reviewOf(alice.ctx.store, alice.thread(id).key)).toBeUndefined()
  })
})

describe('a rating that is given before the receipt is there', () => {
  const rateAt = (id: string, rating: number) =>
    alice.within(() => alice.tasks.ratings.keep(alice.thread(id), { rating, comment: `${rating}` }))
  const asked = async () => {
    const task = alice.delegate(bob, 'another').id
    await world.settle()
    bob.say(task, 'the answer')
    await world.settle()
    alice.within(() => alice.tasks.endings.propose(alice.thread(task)))
    return task
  }
  const standing = (task: string) => reviewStanding(alice.ctx.store, alice.thread(task))

  test('waits, is replaced by a later one, and is signed and uploaded with the receipt', async () => {
    attests()
    const task = await asked()
    rateAt(task, 2)
    const later = await keepReview(
      { store: alice.ctx.store, ratings: alice.tasks.ratings, uploads: uploads },
      alice.thread(task),
      { rating: 4, comment: 'later' },
    )
    expect(later).toEqual({
      interaction_id: task,
      rating: 4,
      uploaded: false,
      reason: expect.stringMatching(/^kept: /),
    })
    expect(standing(task)).toEqual({
      rating: 4,
      review: { uploaded: false, reason: expect.stringMatching(/^kept: .* once both sides have signed/) },
    })
    await world.settle()
    bob.within(() => bob.tasks.endings.accept(bob.thread(task)))
    await world.settle()
    await expect
      .poll(() => standing(task), { interval: 5 })
      .toEqual({ rating: 4, review: { uploaded: true } })
    const row = reviewOf(alice.ctx.store, alice.thread(task).key) as ReviewRow
    expect(Review.decode(row.review).comment).toBe('later')
  })

  test('is dropped, with words, where the task ends without a receipt', async () => {
    const task = alice.delegate(bob, 'another').id
    await world.settle()
    rateAt(task, 5)
    bob.within(() => bob.tasks.leaving.decline(bob.thread(task), 'no'))
    await world.settle()
    expect(standing(task).review).toEqual({
      uploaded: false,
      reason: 'dropped: the task is declined, so there is no receipt to rate',
    })
    expect(() => rateAt(task, 4)).toThrow('without a receipt it takes no rating')
  })

  test('is the requester’s alone, and the same after the receipt as before', async () => {
    const ofBob = () => bob.within(() => bob.tasks.ratings.keep(bob.thread(id), { rating: 1, comment: '' }))
    expect(ofBob).toThrow('only who delegated')
    rateAt(id, 3)
    rateAt(id, 3)
    expect(() => rateAt(id, 4)).toThrow('already reviewed')
    const again = (comment: string) =>
      alice.within(() => alice.tasks.ratings.keep(alice.thread(id), { rating: 3, comment }))
    expect(() => again('in other words')).toThrow('already reviewed')
  })

  test('is kept and not signed where the receipt does not hold', async () => {
    const task = await asked()
    rateAt(task, 2)
    alice.within(() => alice.ctx.threads.update(alice.thread(task), { receiptState: 'disputed' }))
    expect(standing(task).review).toEqual({
      uploaded: false,
      reason: 'kept, and not signed: the receipt does not hold',
    })
  })
})

describe('a review that the hub does not take', () => {
  test.each([
    'bad_request',
    'receipt_not_reviewable',
    'requester_commit_mismatch',
    'review_window_closed',
    'too_large',
  ])('with %s is refused for good', async code => {
    refuses(code)
    expect(await rate()).toMatchObject({ uploaded: false, reason: code })
    expect(reviewOf(alice.ctx.store, alice.thread(id).key)?.state).toBe('refused')
  })

  test('because it has it is uploaded: an earlier answer was lost', async () => {
    refuses('review_exists')
    expect(await rate()).toMatchObject({ uploaded: true, reason: 'review_exists' })
  })

  test.each<[string, string, number | undefined, number]>([
    ['after ten minutes', 'unavailable', undefined, TEN_MINUTES_MS],
    ['when the hub said', 'rate_limited', 90_000, 90_000],
    ['an hour later while this node is on probation', 'probation', undefined, HOUR_MS],
  ])('goes again %s', async (_, code, retryAfterMs, laterMs) => {
    refuses(code, retryAfterMs)
    const first = await rate()
    expect(first).toMatchObject({
      uploaded: false,
      reason: code,
      reason_quotes: true,
      next_try_at: world.clock.ms + laterMs,
    })
    attests()
    world.pass(laterMs - 1)
    alice.ctx.wakers.reviews.wake()
    await new Promise(setImmediate)
    expect(calls()).toBe(1)
    world.pass(1)
    await uploads.firstAnswer(alice.thread(id).key)
    expect(reviewStanding(alice.ctx.store, alice.thread(id)).review).toEqual({ uploaded: true })
  })

  test.each<[string, () => void]>([
    ['has it', () => attests()],
    ['refused it for good', () => refuses('too_large')],
    ['put it off', () => refuses('unavailable')],
  ])('that is said again once the hub %s is answered at once', async (_, hubAnswers) => {
    hubAnswers()
    const first = await rate()
    const again = rate()
    const limit = new Promise(resolve => setTimeout(resolve, 1000, 'still waiting'))
    expect(await Promise.race([again, limit])).toEqual(first)
    expect(calls()).toBe(1)
  })

  test('in words of ours says them as its own', async () => {
    refuses('this node is registered at no hub')
    expect(await rate()).toMatchObject({ reason: 'this node is registered at no hub', reason_quotes: true })
  })

  test('on probation waits until that ends, where the hub said when', async () => {
    refuses('probation')
    alice.hub.probationUntilMs = world.clock.ms + 5 * HOUR_MS
    expect(await rate()).toMatchObject({ next_try_at: world.clock.ms + 5 * HOUR_MS })
  })

  test('because it cannot be reached is kept, with the reason in words', async () => {
    answers(async () => {
      throw new HubUnreachable('http://hub.test')
    })
    expect(await rate()).toMatchObject({
      uploaded: false,
      reason: expect.stringContaining('hub unreachable'),
      next_try_at: world.clock.ms + TEN_MINUTES_MS,
    })
  })

  test('within 30 days of the end is given up, without asking again', async () => {
    refuses('unavailable')
    await rate()
    world.pass(WINDOW_MS)
    await uploads.firstAnswer(alice.thread(id).key)
    expect(reviewStanding(alice.ctx.store, alice.thread(id)).review).toEqual({
      uploaded: false,
      reason: 'the 30 days for a review are over',
    })
    expect(calls()).toBe(1)
  })

  test.each<Partial<Interaction>>([
    { receiptState: 'disputed' },
    { receipt: null },
    { rsalt: null },
    { counterSignature: null },
  ])('before its receipt lost its worth (%o) never goes there', async change => {
    refuses('unavailable')
    await rate()
    alice.within(() => alice.ctx.threads.update(alice.thread(id), change))
    world.pass(TEN_MINUTES_MS)
    await uploads.firstAnswer(alice.thread(id).key)
    expect(reviewStanding(alice.ctx.store, alice.thread(id)).review).toMatchObject({
      uploaded: false,
      reason: 'the receipt is not complete here, or contradicted by another',
    })
    expect(calls()).toBe(1)
  })
})
