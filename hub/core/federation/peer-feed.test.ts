/** Reading of what peers tell of reviews: in order, again after a stop, and without harm from a peer that lies. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import type { PeerReview, TakePeerReviews, ToldReview } from '../../store/peer-review-port.ts'
import { openCore, type TestCore } from '../../testing/core.ts'
import type { HubContext } from '../context.ts'
import { Refusal } from '../refusal.ts'
import type { FeedPage } from './calls.ts'
import { Doubtful } from './doubtful.ts'
import { PeerFeed } from './peer-feed.ts'
import type { Peer } from './peers.ts'

const SECOND_MS = 1000
const LOOK_MS = 5 * SECOND_MS
const DAY_MS = 24 * 3600 * SECOND_MS
const ONE = 'hub-one'
const TWO = 'hub-two'

let core: TestCore
let timers: TestTimers
let context: HubContext
let feeds: PeerFeed<ToldReview, PeerReview>
/** What each peer has to tell, and what it was asked. */
let lists: Map<string, ToldReview[]>
let asked: { hub: string; after: number; atMs: number }[]
let alerts: { event: string; facts: Record<string, unknown> }[]
let busyWith: number | undefined
let answer: (peer: Peer, after: number) => Promise<FeedPage<ToldReview>>

beforeEach(async () => {
  core = await openCore(0)
  timers = new TestTimers(0)
  ;[lists, asked, alerts, busyWith] = [new Map(), [], [], undefined]
  answer = async ({ aid }, after) => pageOf(aid, after)
  context = {
    ...core.context,
    timers,
    now: timers.now,
    random: count => new Uint8Array(count),
    alert: (event, facts) => void alerts.push({ event, facts }),
  }
  list(ONE)
  begin()
})
afterEach(async () => {
  await feeds.stop()
  await core.close()
})

const list = (...aids: string[]) =>
  context.peers.replace(aids.map(aid => ({ aid, url: `https://${aid}.example` }) as unknown as Peer))

function begin(max = 100): void {
  const page = async (peer: Peer, after: number, ended: AbortSignal) => {
    asked.push({ hub: peer.aid, after, atMs: timers.now() })
    const { promise: given, reject } = Promise.withResolvers<never>()
    ended.addEventListener('abort', () => reject(ended.reason))
    return await Promise.race([answer(peer, after), given])
  }
  const { store } = core.context
  const kind = {
    what: 'reviews',
    duty: 'peer reviews',
    asks: () => true,
    page,
    judge,
    readTo: (hub: string) => store.peerReviewsRead(hub),
    take: (given: TakePeerReviews) => store.takePeerReviews(given),
    forget: (hub: string) => store.forgetPeerReviews(hub),
  } as const
  feeds = new PeerFeed(context, kind, max)
  feeds.start()
}

const PAGE = 3
function pageOf(hub: string, after: number): FeedPage<ToldReview> {
  const rest = (lists.get(hub) ?? []).filter(({ fedSeq }) => fedSeq > after)
  return { told: rest.slice(0, PAGE), more: rest.length > PAGE }
}

/** In place of its proofs a review has its interaction as its receipt; one that rates 0 does not hold. */
const told = (fedSeq: number, interaction = fedSeq, rating = 5): ToldReview => ({
  fedSeq,
  receipt: new Uint8Array(16).fill(interaction),
  review: Uint8Array.of(rating),
  attestation: new Uint8Array(),
  kel: new Uint8Array(),
})
async function judge(one: ToldReview): Promise<PeerReview> {
  if ('withdrawn' in one) return { withdrawn: one.withdrawn }
  if (one.fedSeq === busyWith) throw new Refusal('rateLimited')
  const rating = one.review[0] as number
  if (rating === 0) throw new Doubtful('signature of the provider')
  return { provider: 'bob', interaction: one.receipt, rating }
}
const tells = (hub: string, ...reviews: ToldReview[]) => lists.set(hub, reviews)
const counted = async (...hubs: string[]) =>
  (await core.context.store.peerReputation('bob', hubs)).map(({ reviews }) => reviews)
const read = () => core.context.store.peerReviewsRead(ONE)
/** Lets time pass, and at each look what was begun reach the store. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= LOOK_MS) {
    let seen = asked.length
    await timers.pass(Math.min(left, LOOK_MS))
    for (; seen !== asked.length; await written()) seen = asked.length
  }
}
async function written(): Promise<void> {
  await core.context.store.putSetting('a write', 'behind all others')
  for (let turn = 0; turn < 8; turn++) await nextTurn()
}

describe('a peer', () => {
  test('is read seconds after a start, page by page, and then every 15 seconds', async () => {
    tells(ONE, ...[1, 2, 3, 4, 5, 6, 7].map(n => told(n)))
    await pass(5 * SECOND_MS)
    expect(asked.map(({ after }) => after)).toEqual([0, 3, 6])
    expect([await counted(ONE), await read()]).toEqual([[7], 7])
    await pass(15 * SECOND_MS)
    lists.get(ONE)?.push(told(9))
    await pass(15 * SECOND_MS)
    // once it showed that it still has the last
    expect(asked.map(({ after }) => after)).toEqual([0, 3, 6, 7, 6, 7])
    expect([await counted(ONE), await read()]).toEqual([[8], 9])
  })

  test('that has nothing new costs no write, at a start or later', async () => {
    let writes = 0
    const { takePeerReviews } = core.context.store
    core.context.store.takePeerReviews = given => {
      writes += 1
      return takePeerReviews(given)
    }
    await pass(60 * SECOND_MS)
    expect([asked.length, writes]).toEqual([4, 0])
    core.context.store.takePeerReviews = takePeerReviews
  })

  test('is read on from where it was, also where the hub stopped between two pages', async () => {
    tells(ONE, ...[1, 2, 3, 4, 5].map(n => told(n)))
    answer = async (peer, after) => {
      if (after > 0) throw new Refusal('homeUnreachable')
      return pageOf(peer.aid, after)
    }
    await pass(5 * SECOND_MS)
    expect([await counted(ONE), await read()]).toEqual([[3], 3])
    await feeds.stop()
    answer = async (peer, after) => pageOf(peer.aid, after)
    begin()
    await pass(5 * SECOND_MS)
    expect([await counted(ONE), await read(), asked.map(({ after }) => after)]).toEqual([[5], 5, [0, 3, 3]])
  })

  test('that is away is asked ever less often, ten minutes apart at most, and every 15 seconds once it is back', async () => {
    answer = () => Promise.reject(new Refusal('homeUnreachable'))
    await pass(3600 * SECOND_MS)
    const gaps = asked.slice(1).map(({ atMs }, at) => (atMs - (asked[at]?.atMs ?? 0)) / SECOND_MS)
    expect(gaps.slice(0, 8)).toEqual([15, 30, 60, 120, 240, 480, 600, 600])
    expect(alerts).toEqual([])
    answer = async () => ({ told: [], more: false })
    await pass(600 * SECOND_MS)
    asked.length = 0
    await pass(60 * SECOND_MS)
    expect(asked).toHaveLength(4)
  })

  test('that hangs holds up no other', async () => {
    list(ONE, TWO)
    tells(TWO, told(1))
    answer = async ({ aid }, after) => (aid === ONE ? await new Promise(() => undefined) : pageOf(aid, after))
    await pass(5 * SECOND_MS)
    expect(await counted(TWO)).toEqual([1])
  })

  test('that is taken off the list is asked no more, and its reviews count no more', async () => {
    tells(ONE, told(1))
    await pass(5 * SECOND_MS)
    list(TWO)
    asked.length = 0
    await pass(60 * SECOND_MS)
    expect(asked.filter(({ hub }) => hub === ONE)).toEqual([])
    expect(await counted(...context.peers.all.map(({ aid }) => aid))).toEqual([])
  })
})

test('a peer that is taken off the list between two pages is not asked for the next', async () => {
  tells(ONE, ...[1, 2, 3, 4, 5].map(n => told(n)))
  answer = async ({ aid }, after) => {
    list()
    return pageOf(aid, after)
  }
  await pass(5 * SECOND_MS)
  expect([asked.length, await read()]).toEqual([1, 0])
})

describe('what a peer tells', () => {
  test('and does not hold is passed over, and told once a day with how many', async () => {
    tells(ONE, told(1), told(2, 2, 0), told(3), told(4, 4, 0))
    await pass(5 * SECOND_MS)
    expect([await counted(ONE), await read()]).toEqual([[2], 4])
    const facts = { peer: 'https://hub-one.example', why: 'signature of the provider', dropped: 1 }
    expect(alerts).toEqual([{ event: 'a peer tells reviews that do not hold', facts }])
    tells(ONE, told(5, 5, 0))
    await pass(15 * SECOND_MS)
    list()
    await timers.pass(DAY_MS)
    list(ONE)
    tells(ONE, told(6, 6, 0))
    await pass(5 * SECOND_MS)
    expect(alerts.map(alert => alert.facts['dropped'])).toEqual([1, 4])
  })

  test('again, under the same or another number, counts once', async () => {
    tells(ONE, told(1, 1), told(2, 1, 1), told(3, 1, 2))
    await pass(5 * SECOND_MS)
    expect(await core.context.store.peerReputation('bob', [ONE])).toEqual([
      { hub: ONE, reviews: 1, ratings: 5 },
    ])
  })

  test.each<[string, FeedPage<ToldReview>]>([
    ['from further back', { told: [told(0)], more: false }],
    ['with numbers that fall', { told: [told(2), told(1)], more: false }],
    ['with one number twice', { told: [told(1), told(1)], more: false }],
    ['with nothing, and says that there is more', { told: [], more: true }],
  ])('out of order is not used: %s', async (_, page) => {
    answer = async () => page
    await pass(60 * SECOND_MS)
    expect([await counted(ONE), await read()]).toEqual([[], 0])
    expect(alerts.map(({ event }) => event)).toEqual(['a peer tells its reviews out of order'])
    expect(asked.length).toBeLessThan(4)
  })

  test('without end is read for two seconds, then others have their turn', async () => {
    let n = 0
    Object.assign(timers, { monotonic: () => timers.now() + n * 100 })
    answer = async () => {
      n += 1
      return { told: [told(n)], more: true }
    }
    await pass(5 * SECOND_MS)
    expect(n).toBe(20)
    await pass(5 * SECOND_MS)
    expect([n, await read()]).toEqual([40, 40])
  })

  test('without end, of which nothing holds, is read one page in 15 seconds', async () => {
    answer = async (_, after) => ({ told: [told(after + 1, 1, 0), told(after + 2, 2, 0)], more: true })
    await pass(60 * SECOND_MS)
    expect(asked.length).toBeLessThanOrEqual(5)
    expect(await read()).toBe(2 * asked.length)
  })

  test('without end, all of it withdrawals, is read one page in 15 seconds', async () => {
    answer = async (_, after) => ({ told: [{ fedSeq: after + 1, withdrawn: 'bob' }], more: true })
    await pass(60 * SECOND_MS)
    expect(asked.length).toBeLessThanOrEqual(5)
    expect(await read()).toBe(asked.length)
  })

  test('in turns with withdrawals is read quickly for 2,000 pages a day, then one page in 15 seconds', async () => {
    let quick = 0
    Object.assign(timers, { monotonic: () => timers.now() + quick })
    answer = async (_, after) => {
      quick += 20
      return { told: [told(after + 1, 1), { fedSeq: after + 2, withdrawn: 'bob' }], more: true }
    }
    await pass(120 * SECOND_MS)
    expect(asked.length).toBeGreaterThanOrEqual(2000)
    const before = asked.length
    await pass(120 * SECOND_MS)
    expect(asked.length - before).toBeLessThanOrEqual(9)
  })

  test('beyond what is kept of one peer is left, told once, and what it withdraws still goes', async () => {
    await feeds.stop()
    begin(2)
    tells(ONE, ...[1, 2, 3, 4].map(n => told(n)), { fedSeq: 5, withdrawn: 'bob' })
    answer = async (peer, after) => {
      const page = pageOf(peer.aid, after)
      return { told: page.told.filter(({ fedSeq }) => fedSeq < 5), more: page.told.length === PAGE }
    }
    await pass(5 * SECOND_MS)
    expect([await counted(ONE), alerts.map(({ event }) => event)]).toEqual([
      [2],
      ['a peer tells more reviews than are kept of it'],
    ])
    answer = async (peer, after) => pageOf(peer.aid, after)
    await pass(15 * SECOND_MS)
    expect([await counted(ONE), alerts.length]).toEqual([[], 1])
  })

  test('that cannot be judged now waits, with what came before it kept', async () => {
    tells(ONE, told(1), told(2, 2, 9), told(3))
    busyWith = 2
    await pass(5 * SECOND_MS)
    expect([await counted(ONE), await read(), alerts]).toEqual([[1], 1, []])
    busyWith = undefined
    await pass(20 * SECOND_MS)
    expect([await counted(ONE), await read()]).toEqual([[3], 3])
  })

  test('of an agent is told no more once it withdraws it', async () => {
    tells(ONE, told(1), told(2), { fedSeq: 3, withdrawn: 'bob' })
    await pass(5 * SECOND_MS)
    expect(await counted(ONE)).toEqual([])
    tells(ONE, told(4, 1), told(5, 2))
    await pass(15 * SECOND_MS)
    expect(await counted(ONE)).toEqual([2])
  })
})

describe('a peer whose numbers went back', () => {
  const FAR = Number.MAX_SAFE_INTEGER
  const pages = () => asked.splice(0).map(({ after }) => after)

  test('after a jump to the last number that there is is read from the start, and its reviews count once', async () => {
    tells(ONE, told(1), told(FAR, 2))
    await pass(5 * SECOND_MS)
    expect([await counted(ONE), await read()]).toEqual([[2], FAR])
    tells(ONE, told(1), told(2, 3))
    await pass(20 * SECOND_MS)
    expect([await counted(ONE), await read()]).toEqual([[2], 2])
    expect(alerts.map(({ event }) => event)).toEqual(['a peer counts its reviews anew'])
  })

  test('as a copy of its files does is read from the start, and what it lost counts no more', async () => {
    tells(ONE, ...[1, 2, 3, 4].map(n => told(n)))
    await pass(5 * SECOND_MS)
    tells(ONE, told(1), told(2, 9))
    answer = () => Promise.reject(new Refusal('homeUnreachable'))
    await pass(15 * SECOND_MS)
    answer = async (peer, after) => pageOf(peer.aid, after)
    await pass(60 * SECOND_MS)
    expect([await counted(ONE), await read()]).toEqual([[2], 2])
  })

  test('is read from the start once an hour at most', async () => {
    answer = async (_, after) => ({ told: after === 0 ? [told(5)] : [], more: false })
    await pass(3600 * SECOND_MS)
    expect(pages().filter(after => after === 0)).toHaveLength(2)
    await pass(3600 * SECOND_MS)
    expect(pages().filter(after => after === 0)).toHaveLength(1)
  })

  test('and which went on above shows what it told last once in five minutes, and loses nothing', async () => {
    tells(ONE, told(1), told(2))
    await pass(5 * SECOND_MS)
    tells(ONE, told(1), told(7))
    await pass(15 * SECOND_MS)
    pages()
    await pass(600 * SECOND_MS)
    expect(pages().filter(after => after === 6)).toHaveLength(2)
    expect([await counted(ONE), await read(), alerts]).toEqual([[3], 7, []])
  })
})
