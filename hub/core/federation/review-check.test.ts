/** Reviews that peers tell, as they are verified again: nothing of them counts on a peer's word (hub API §4.6). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Attestation, Review } from '../../../protocol/proof/receipt.ts'
import type { ToldReview } from '../../store/peer-review-port.ts'
import { agentOf, openCore, refusedWith, type TestCore } from '../../testing/core.ts'
import { random, type TestAgent } from '../../testing/hub.ts'
import { type ReviewRecord, toldReview } from '../../testing/peer-reviews.ts'
import { agentRow } from '../../testing/store-contract.ts'
import { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { Directory } from '../directory.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import type { Mailboxes } from '../mailbox.ts'
import { KeyLogs } from '../membership/key-logs.ts'
import type { PeerCalls } from './calls.ts'
import { Doubtful } from './doubtful.ts'
import { Federation } from './federation.ts'
import { PeerLogs } from './peer-logs.ts'
import type { Peer } from './peers.ts'
import { ReviewCheck } from './review-check.ts'

const NOW_MS = 1_800_000_000_000

let core: TestCore
let context: HubContext
let check: ReviewCheck
let hub: TestAgent
let bob: TestAgent
let shown: Partial<PeerCalls>
beforeEach(async () => {
  core = await openCore(NOW_MS)
  context = core.context
  ;[hub, bob] = [agentOf(core), agentOf(core)]
  shown = { log: async () => [...hub.log.events] }
  context.peers.replace([{ aid: hub.aid, url: 'https://peer.example', log: hub.log }])
  const calls = new Proxy({} as PeerCalls, { get: (_, name: keyof PeerCalls) => shown[name] })
  const parts = { directory: new Directory(context), mailboxes: {} as Mailboxes, calls }
  const federation = new Federation(context, parts)
  check = new ReviewCheck(context, {
    logs: new PeerLogs(new Agents(context), new KeyLogs(context)),
    federation,
  })
})
afterEach(() => core.close())

const listed = (): Peer => context.peers.all[0] as Peer
const judge = (told: ToldReview) => check.judge(told, listed())
/** Why it does not hold; undefined where it does. */
async function wrong(told: ToldReview): Promise<string | undefined> {
  try {
    await judge(told)
    return undefined
  } catch (error) {
    if (error instanceof Doubtful) return error.message
    throw error
  }
}
const changed = (bytes: Uint8Array): Uint8Array =>
  bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte))

test('a review that the peer took counts with its provider, interaction and rating', async () => {
  const interactionId = random(16)
  const told = toldReview(hub, bob, { rating: 4, body: { interactionId } })
  expect(await judge(told)).toEqual({ provider: bob.aid, interaction: interactionId, rating: 4 })
})

test('a withdrawal is the peer’s own word', async () => {
  expect(await judge({ fedSeq: 1, withdrawn: bob.aid })).toEqual({ withdrawn: bob.aid })
})

describe('a review does not hold', () => {
  test('where the peer passes on what another hub attests, or signs in its name', async () => {
    const other = agentOf(core)
    expect(await wrong(toldReview(other, bob))).toBe('attestation of another hub')
    expect(await wrong(toldReview(hub, bob, { hubSeed: other.seed }))).toBe('signature of the hub')
  })

  test.each(['receipt', 'review', 'attestation', 'kel'] as const)('with another %s', async part => {
    const [one, two] = [toldReview(hub, bob), toldReview(hub, agentOf(core))]
    expect(await wrong({ ...one, [part]: two[part] })).toBeDefined()
  })

  test.each(['receipt', 'review', 'attestation', 'kel'] as const)('with a torn %s', async part => {
    const told = toldReview(hub, bob)
    expect(await wrong({ ...told, [part]: told[part].subarray(1) })).toBeDefined()
    expect(await wrong({ ...told, [part]: new Uint8Array() })).toBeDefined()
  })

  test('with one bit of a signature changed', async () => {
    const told = toldReview(hub, bob)
    expect(await wrong({ ...told, attestation: changed(told.attestation) })).toBe('signature of the hub')
    expect(await wrong({ ...told, receipt: changed(told.receipt) })).toBe('signature of the provider')
    expect(await wrong({ ...told, kel: changed(told.kel) })).toBe('key history of the agent')
  })

  test('with a better rating than was attested', async () => {
    const told = toldReview(hub, bob, { rating: 1 })
    const better = Review.encode({ ...Review.decode(told.review), rating: 5 })
    expect(await wrong({ ...told, review: better })).toBe('attestation of something else')
  })

  test('with a receipt that the provider did not sign', async () => {
    expect(await wrong(toldReview(hub, bob, { providerSeed: random(32) }))).toBe('signature of the provider')
  })

  test('with a time after now, or an end after the attestation', async () => {
    const late = NOW_MS + CLOCK_WINDOW_MS
    const told = (hubTs: number, end = NOW_MS - 1) =>
      toldReview(hub, bob, { attested: { hubTs }, body: { end } })
    expect([await wrong(told(late)), await wrong(told(late + 1))]).toEqual([undefined, 'times'])
    expect([await wrong(told(NOW_MS, late)), await wrong(told(NOW_MS, late + 1))]).toEqual([
      undefined,
      'times',
    ])
  })
})

describe('keys that were retired since', () => {
  test('of the provider hold for what ended before', async () => {
    const { seed } = bob
    bob.rotate({ ts: NOW_MS + 1 })
    core.clock.ms = NOW_MS + 3 * CLOCK_WINDOW_MS
    const ended = (end: number) =>
      toldReview(hub, bob, { body: { start: end, end, providerKelSeq: 0 }, providerSeed: seed })
    expect(await wrong(ended(NOW_MS + 1 + CLOCK_WINDOW_MS))).toBeUndefined()
    expect(await wrong(ended(NOW_MS + 2 + CLOCK_WINDOW_MS))).toBe('key of the provider')
  })

  test('of the peer hold for what it attested before, and its newer key is asked for', async () => {
    const { seed } = hub
    const attested = (hubTs: number, hubSeq: number, hubSeed = hub.seed) =>
      toldReview(hub, bob, { attested: { hubSeq, hubTs }, hubSeed, body: { end: NOW_MS - 1 } })
    hub.rotate({ ts: NOW_MS + 1 })
    core.clock.ms = NOW_MS + 3 * CLOCK_WINDOW_MS
    expect(await wrong(attested(core.clock.ms, 1))).toBeUndefined()
    expect(listed().log.seq).toBe(1)
    expect(await wrong(attested(NOW_MS + 1 + CLOCK_WINDOW_MS, 0, seed))).toBeUndefined()
    expect(await wrong(attested(NOW_MS + 2 + CLOCK_WINDOW_MS, 0, seed))).toBe('signature of the hub')
  })
})

test('a key history that contradicts the one held here does not hold, and is kept as proof', async () => {
  const twin = Object.assign(agentOf(core), { log: bob.log, seed: bob.seed, nextSeed: bob.nextSeed })
  bob.rotate({ ts: NOW_MS - 5 })
  twin.rotate({ ts: NOW_MS - 4 })
  const kel = toldReview(hub, bob).kel
  await context.store.putAgent({ row: agentRow(bob.aid, { kel }), entry: undefined, terms: [] })
  const proofs: number[] = []
  Object.assign(context.store, { keepForkProof: async ({ seq }: { seq: number }) => void proofs.push(seq) })
  expect(await wrong(toldReview(hub, twin))).toBe('key history of the agent')
  expect(proofs).toEqual([1])
})

test('a peer pays for the key histories that it shows: too many at once wait, and are not dropped', async () => {
  Object.assign(context.limits, { keyEventRate: { perSecond: 0.001, burst: 2 } })
  const told = (): ReviewRecord => toldReview(hub, agentOf(core))
  const fresh = new ReviewCheck(context, {
    logs: new PeerLogs(new Agents(context), new KeyLogs({ ...context, limits: { ...context.limits } })),
    federation: { under: async (peer: Peer) => peer } as unknown as Federation,
  })
  const judged = () => refusedWith(() => fresh.judge(told(), listed()))
  expect([await judged(), await judged(), await judged()]).toEqual([undefined, undefined, 'rateLimited'])
  expect(Attestation.decode(told().attestation).body.hub).toBe(hub.aid)
})
