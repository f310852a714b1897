import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { witnessKel } from '../../protocol/identity/kel-witness.ts'
import { KeyStateNotice } from '../../protocol/identity/keyset.ts'
import { foundIn } from '../carrier/lookup.ts'
import { warningsOf } from '../control/parts.ts'
import { count } from '../store/counters.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { HUB_SEED } from '../testing/scripted-hub.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

const look = async () => foundIn(await alice.ctx.carriers.find(bob.aid))
const warned = () =>
  warningsOf(alice.ctx)
    .list()
    .filter(one => one.includes('bob'))
const hub = () => ({ aid: world.post.log.aid, seq: 0, seed: HUB_SEED })

/** Bob's key set under a log of his. */
const listed = (log: VerifiedKel) => ({
  log,
  keySet: bob.ctx.keys.ensureSet(bob.ctx.identity.log, bob.ctx.identity.seed, {
    bytes: 512 * 1024,
    perDay: 5,
  }),
})

/** Bob rotates; the hub signs that it saw it where it did. */
function rotated({ isWitnessed }: { isWitnessed: boolean }): { before: VerifiedKel; after: VerifiedKel } {
  const before = bob.ctx.identity.log
  bob.ctx.identity.rotate(bob.hub.identity.aid, world.clock.ms + 1)
  const { log } = bob.ctx.identity
  return { before, after: isWitnessed ? witnessKel(log, hub(), world.clock.ms + 2) : log }
}

describe('a hub that shows an older key history', () => {
  test('than it had signed before is found out, the newer one is kept, and the person is told until it is put right', async () => {
    const { before, after } = rotated({ isWitnessed: true })
    world.post.listed.set(bob.aid, listed(after))
    await look()
    expect(warned()).toEqual([])
    world.post.listed.set(bob.aid, listed(before))
    expect((await look())?.log.seq).toBe(after.seq)
    expect(warned()).toEqual([expect.stringContaining('the hub shows an older key history of bob')])
    world.post.listed.set(bob.aid, listed(after))
    await look()
    expect(warned()).toEqual([])
  })

  test('than somebody else has told is not blamed: it may not have seen the newer one', async () => {
    const { before, after } = rotated({ isWitnessed: false })
    alice.within(() => alice.ctx.peers.learn(alice.ctx.peers.merge(bob.aid, after.events), undefined))
    world.post.listed.set(bob.aid, listed(before))
    expect((await look())?.log.seq).toBe(after.seq)
    expect(warned()).toEqual([])
  })
})

test('a hub whose signed notice names another state than the log beside it is found out', async () => {
  await look()
  const { log } = bob.ctx.identity
  const notice = (headDigest: Uint8Array) =>
    KeyStateNotice.sign(HUB_SEED, {
      aid: bob.aid,
      seq: log.seq,
      headDigest,
      hubTs: world.clock.ms,
      hub: hub().aid,
      hubSeq: 0,
    })
  world.post.listed.set(bob.aid, { ...listed(log), notice: notice(new Uint8Array(32)) })
  await look()
  expect(warned()).toEqual([expect.stringContaining('the hub signed another key state of bob')])
  world.post.listed.set(bob.aid, { ...listed(log), notice: notice(log.headDigest) })
  await look()
  expect(warned()).toEqual([])
})

test('of two histories that contradict each other the first seen stays, and the person is told whose they are', async () => {
  const { before, after } = rotated({ isWitnessed: true })
  world.post.listed.set(bob.aid, listed(after))
  await look()
  const other = rotate(before, {
    seed: bob.ctx.identity.seed,
    nextSeed: new Uint8Array(32).fill(77),
    ts: world.clock.ms + 9,
    home: hub().aid,
  })
  world.post.listed.set(bob.aid, listed(other))
  expect(await look()).toBeUndefined()
  expect(alice.ctx.peers.find(bob.aid)?.log.headDigest).toEqual(after.headDigest)
  expect(warned()).toEqual([
    expect.stringMatching(
      /^bob has two key histories that contradict each other.*the one seen first is kept/,
    ),
  ])
})

test('a fork that no log proves, as of a message that names another head, is told without a name', () => {
  const told = () =>
    warningsOf(alice.ctx)
      .list()
      .filter(one => one.includes('key histories'))
  expect(told()).toEqual([])
  count(alice.ctx.store, 'peer_forks')
  expect(told()).toEqual(['a peer showed two contradictory key histories'])
})
