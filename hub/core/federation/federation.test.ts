import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { compare, toBase64url, toHex } from '../../../protocol/encoding/bytes.ts'
import { bucketPrefixText } from '../../../protocol/identity/directory.ts'
import { incept, type KeyEvent, rotate, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { agent } from '../../../protocol/testing/agents.ts'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import { agentOf, openCore, refusedWith, type TestCore } from '../../testing/core.ts'
import { random } from '../../testing/hub.ts'
import { type BucketAsked, Directory } from '../directory.ts'
import type { Mailboxes } from '../mailbox.ts'
import { Refusal } from '../refusal.ts'
import type { PeerBucket, PeerCalls, StatusAnswer } from './calls.ts'
import { Federation } from './federation.ts'
import { PeerBuckets } from './peer-buckets.ts'
import type { Peer } from './peers.ts'

const NOW_MS = 1_800_000_000_000
const HERE = '192.0.2.1'

let core: TestCore
let federation: Federation
let seeds: { next: Uint8Array }
let peer: VerifiedKel
let answers: Partial<PeerCalls>
let alerts: string[]
beforeEach(async () => {
  core = await openCore(NOW_MS)
  alerts = []
  answers = {}
  seeds = { next: random(32) }
  peer = incept({ seed: random(32), nextSeed: seeds.next, ts: NOW_MS - 1000 })
  const context = { ...core.context, alert: (event: string) => void alerts.push(event) }
  context.peers.replace([{ aid: peer.aid, url: 'https://peer.example', log: peer }])
  const calls = new Proxy({} as PeerCalls, { get: (_, name: keyof PeerCalls) => answers[name] })
  const mailboxes = { countQuery: async () => undefined, status: async () => [HERE_DONE] }
  const directory = new Directory(context)
  federation = new Federation(context, { directory, mailboxes: mailboxes as unknown as Mailboxes, calls })
})
afterEach(() => core.close())

const HERE_DONE: StatusAnswer = { state: 'done', dack: undefined }
const h = (first: number): Uint8Array => Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? first : 7))
const page = (hashes: Uint8Array[], more: Partial<PeerBucket> = {}): PeerBucket => ({
  bitsMax: 0,
  entries: hashes.map(hash => ({ h: hash, box: random(8) })),
  next: undefined,
  ...more,
})
const whole: BucketAsked = { prefix: '', bits: 0, afterH: undefined }
const unreachable = () => Promise.reject(new Refusal('homeUnreachable'))

describe('what a peer is answered with', () => {
  const MIB = 1024 * 1024
  const told = (bytes: number) =>
    federation.answer(
      peerHere(),
      async () => 'a page',
      () => bytes,
    )
  const peerHere = () => core.context.peers.find(peer.aid) as Peer

  test('counts by its size: of large pages a peer gets few, and small ones cost a request', async () => {
    const { burst } = core.context.limits.peerRate
    const pages = Math.floor(burst / (MIB / (32 * 1024)))
    for (let n = 0; n < pages; n++) expect(await told(MIB)).toBe('a page')
    expect(await told(MIB)).toBe('a page')
    expect(await refusedWith(() => told(1))).toBe('sourceRate')
    // mail is still taken
    await federation.count(peerHere())
  })

  test('is read for nobody who asks too often', async () => {
    const { burst } = core.context.limits.peerRate
    for (let n = 0; n < burst; n++) await federation.count(peerHere())
    const read = async () => Promise.reject(new Error('read'))
    expect(await refusedWith(() => federation.answer(peerHere(), read, () => 0))).toBe('sourceRate')
  })
})

describe('a bucket', () => {
  test('holds what peers list, and is whole where each of them answered', async () => {
    answers.bucket = async () => page([h(1), h(2)])
    const { entries, partial } = await federation.bucket(whole, HERE)
    expect([entries.map(entry => entry.h[0]), partial]).toEqual([[1, 2], false])
  })

  test('is partial where a peer gives no answer', async () => {
    answers.bucket = unreachable
    expect(await federation.bucket(whole, HERE)).toMatchObject({ entries: [], partial: true })
  })

  test.each([
    ['out of order', [h(2), h(1)]],
    ['twice the same', [h(1), h(1)]],
    ['no hashes', [random(16)]],
    ['what was given before', [h(3)], h(3)],
  ] as [string, Uint8Array[], Uint8Array?][])(
    'is partial where a peer gives %s',
    async (_, hashes, afterH) => {
      answers.bucket = async () => page(hashes)
      expect(await federation.bucket({ ...whole, afterH }, HERE)).toMatchObject({
        entries: [],
        partial: true,
      })
    },
  )

  test('of a peer that serves wider ones is asked for as it serves them, and only what fits is given on', async () => {
    const asked: BucketAsked[] = []
    core.context.store.counts = async () => ({ agents: 64, onlineAgents: 0, reviews: 0, ratings: 0 })
    const narrow = { prefix: bucketPrefixText(h(0x80), 1), bits: 1, afterH: undefined }
    answers.bucket = async (_, query) => {
      asked.push(query)
      if (query.bits > 0) throw new Refusal('bucketTooNarrow', { maxBits: 0 })
      return page([h(0x80), h(0xff)])
    }
    expect(await federation.bucket(narrow, HERE)).toMatchObject({ partial: true })
    const { entries, partial } = await federation.bucket(narrow, HERE)
    expect([entries.map(entry => entry.h[0]), partial]).toEqual([[0x80, 0xff], false])
    const [, second] = asked
    expect([second?.bits, second?.prefix]).toEqual([0, ''])
    expect(toBase64url(second?.afterH ?? new Uint8Array())).toBe(
      toBase64url(Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 0x7f : 0xff))),
    )
  })
})

describe('a peer that goes on and on', () => {
  /** Hashes one after the other, right behind what was asked for. */
  const dense = (count: number, afterH: Uint8Array = new Uint8Array(32)) => {
    const start = BigInt(`0x${toHex(afterH)}`)
    return Array.from({ length: count }, (_, n) =>
      Uint8Array.from(Buffer.from((start + BigInt(n + 1)).toString(16).padStart(64, '0'), 'hex')),
    )
  }
  const spread = (count: number, afterH?: Uint8Array) =>
    Array.from({ length: count }, (_, n) => h(0x10 + n)).filter(
      one => afterH === undefined || compare(one, afterH) > 0,
    )
  /** Reads a bucket as a node does. */
  async function read() {
    const found: Uint8Array[] = []
    let [afterH, isPartial]: [Uint8Array | undefined, boolean] = [undefined, false]
    for (let pages = 1; ; pages++) {
      const { entries, next, partial } = await federation.bucket({ ...whole, afterH }, HERE)
      found.push(...entries.map(entry => entry.h))
      isPartial ||= partial
      if (next === undefined || pages === 64) return { found, pages, isPartial }
      afterH = next
    }
  }
  const other = agent('other').log
  const own = { h: h(0xff), box: random(8) }
  beforeEach(() => {
    const [first] = core.context.peers.all
    core.context.peers.replace([first as Peer, { aid: other.aid, url: 'https://other.example', log: other }])
    core.context.store.bucket = async ({ afterH }) => ({
      entries: afterH === undefined || compare(own.h, afterH) > 0 ? [own] : [],
      more: false,
    })
  })

  test.each([
    ['one entry a page', 1, true, 8],
    ['full pages', 256, true, 8],
    ['as much as it may in one answer, each time anew', 4096, false, 8],
    ['a few large entries, each time anew', 40, false, 20_000],
  ])('hides neither agents of this hub nor those of others: %s', async (_, count, goesOn, bytes) => {
    answers.bucket = async ({ aid }, { afterH }) => {
      if (aid === other.aid) return page(spread(100, afterH))
      const entries = dense(count, afterH).map(one => ({ h: one, box: new Uint8Array(bytes) }))
      return { bitsMax: 0, entries, next: goesOn ? entries.at(-1)?.h : undefined }
    }
    const { found, pages, isPartial } = await read()
    expect([pages <= 2, isPartial]).toEqual([true, true])
    expect(found).toContainEqual(own.h)
    for (const one of spread(100)) expect(found).toContainEqual(one)
    expect(alerts).toEqual(['a peer lists more in a bucket than it told of'])
  })

  test('is read to its end where it told of so many agents', async () => {
    const many = Array.from({ length: 4000 }, () => random(32)).toSorted(compare)
    core.context.store.peerAgents = async () => 4000
    answers.bucket = async ({ aid }, { afterH }) => {
      if (aid === other.aid) return page([])
      const left = many.filter(one => afterH === undefined || compare(one, afterH) > 0)
      return page(left.slice(0, 256), { next: left.length > 256 ? left[255] : undefined })
    }
    const { found, pages, isPartial } = await read()
    expect([pages, isPartial, alerts]).toEqual([16, false, []])
    for (const one of [...many, own.h]) expect(found).toContainEqual(one)
  })
})

describe('a peer that lets askers wait for nothing', () => {
  let timers: TestTimers
  let asked: number
  let buckets: PeerBuckets
  let isAway: boolean
  beforeEach(() => {
    timers = new TestTimers(NOW_MS)
    ;[asked, isAway] = [0, true]
    const calls: PeerCalls['bucket'] = async () => {
      asked += 1
      const { promise, resolve } = Promise.withResolvers<void>()
      timers.after(isAway ? 2000 : 10, resolve)
      await promise
      if (isAway) throw new Refusal('homeUnreachable')
      return page([h(1)])
    }
    buckets = new PeerBuckets({ ...core.context, timers, now: timers.now }, { bucket: calls })
  })
  const listed = () => core.context.peers.all[0] as Peer
  const look = () => buckets.page(listed(), whole)
  /** What is known of a look-up at once. */
  const atOnce = async () => await Promise.race([look(), nextTurn().then(() => 'waits')])

  test('is waited for once, by those who asked in the first second', async () => {
    expect(await atOnce()).toBe('waits')
    await timers.pass(900)
    expect(await atOnce()).toBe('waits')
    await timers.pass(100)
    expect(await atOnce()).toBeUndefined()
    await timers.pass(2000)
    for (let n = 0; n < 5; n++) expect(await atOnce()).toBeUndefined()
    expect(asked).toBe(2)
  })

  test('is tried every ten seconds while nobody waits, and asked again once it has answered', async () => {
    void look()
    await timers.pass(2000)
    await timers.pass(10_000)
    expect([await atOnce(), asked]).toEqual([undefined, 2])
    await timers.pass(10_000)
    isAway = false
    expect([await atOnce(), asked]).toEqual([undefined, 3])
    await timers.pass(10)
    const again = look()
    await timers.pass(10)
    expect((await again)?.entries).toHaveLength(1)
  })

  test('is asked again as soon as it has answered anything else', async () => {
    void look()
    await timers.pass(3000)
    isAway = false
    expect(await atOnce()).toBeUndefined()
    core.context.peers.contact(peer.aid).answeredMs = timers.now()
    const again = look()
    await timers.pass(10)
    expect((await again)?.entries).toHaveLength(1)
  })
})

test('a peer that refuses at once is asked each time', async () => {
  let asked = 0
  answers.bucket = async () => {
    asked += 1
    throw new Refusal('homeUnreachable')
  }
  for (let n = 0; n < 3; n++) await federation.bucket(whole, HERE)
  expect(asked).toBe(3)
})

describe('states of envelopes', () => {
  const item = { rid: random(16), handle: random(16) }

  test('of this hub are told by it, named or not', async () => {
    for (const via of [undefined, core.context.identity.aid])
      expect(await federation.statusAt(via, [item], HERE)).toEqual([HERE_DONE])
  })

  test('that a peer has are asked for there', async () => {
    answers.status = async () => [{ state: 'queued', dack: undefined }]
    expect(await federation.statusAt(peer.aid, [item], HERE)).toEqual([{ state: 'queued', dack: undefined }])
  })

  test('that a peer no longer tells this hub wait, as where it is away', async () => {
    answers.status = () => Promise.reject(new Refusal('notPeer'))
    const asked = federation.statusAt(peer.aid, [item], HERE)
    expect(await refusedWith(() => asked)).toBe('homeUnreachable')
  })

  test('of a hub that is no peer are not asked for', async () => {
    const asked = federation.statusAt(agentOf(core).aid, [item], HERE)
    expect(await refusedWith(() => asked)).toBe('statusQueryMalformed')
  })
})

describe('a peer that rotated its key', () => {
  const known = () => core.context.peers.find(peer.aid)?.log.seq
  const listed = () => core.context.peers.all[0] as ReturnType<typeof core.context.peers.find> & object
  const rotated = () => rotate(peer, { seed: seeds.next, nextSeed: random(32), ts: NOW_MS })

  test('is asked for its history, and known by it from then on', async () => {
    answers.log = async () => [...rotated().events]
    expect((await federation.under(listed(), 1)).log.seq).toBe(1)
    expect(known()).toBe(1)
  })

  test('is followed by what is new alone: what is held of its history is not verified again', async () => {
    const [first, second] = rotated().events as [KeyEvent, KeyEvent]
    answers.log = async () => [{ ...first, signatures: [[0, random(64)]] }, second]
    expect((await federation.under(listed(), 1)).log.seq).toBe(1)
    answers.log = async () => [first, { ...second, signatures: [[0, random(64)]] }]
    core.context.peers.replace([{ ...listed(), log: peer }])
    expect((await federation.under(listed(), 1)).log.seq).toBe(0)
  })

  test('and shows the history of somebody else is told, and not followed', async () => {
    answers.log = async () => [...agent('other').log.events]
    await federation.under(listed(), 1)
    expect([alerts, known()]).toEqual([['a peer shows a key history that contradicts the one held'], 0])
  })

  test('is not asked again and again by a signature under a key that nobody has', async () => {
    let asked = 0
    answers.log = async () => {
      asked += 1
      return [...peer.events]
    }
    for (let n = 0; n < 5; n++) await federation.under(listed(), 9)
    expect([asked, known()]).toEqual([1, 0])
  })

  test('and shows another history than before is told, and not followed', async () => {
    const first = rotated()
    core.context.peers.follow(peer.aid, first)
    const fork = rotate(peer, { seed: seeds.next, nextSeed: random(32), ts: NOW_MS + 1 })
    answers.log = async () => [...fork.events]
    await federation.under(listed(), 2)
    expect([alerts, known()]).toEqual([['a peer shows a key history that contradicts the one held'], 1])
  })
})
