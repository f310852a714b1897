/** What a hub holds of this identity, beside what this machine holds. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type KeyEvent, rotate } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { presented } from '../hubs/hub.ts'
import { hubRow, noteRegistered, writeHome } from '../store/hubs.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { OwnLog } from './own-log.ts'

let world: TestWorld
let node: TestNode

beforeEach(async () => {
  world = new TestWorld()
  node = await world.node('nora')
  writeHome(node.ctx.store, presented(node.hub), false, world.clock.ms)
  noteRegistered(node.ctx.store, node.hub.url, node.ctx.identity.log.seq)
})
afterEach(() => world[Symbol.asyncDispose]())

const ownLog = () => new OwnLog(node.ctx, node.ctx)
const own = () => node.ctx.keys.set as KeySet
const setOf = (changes: Partial<KeySet['body']>, seed = node.ctx.identity.seed) =>
  KeySet.encode(KeySet.sign(seed, { ...own().body, ...changes }))
const serves = (keySet: Uint8Array | undefined, log: readonly KeyEvent[] = node.ctx.identity.log.events) =>
  node.hub.answers({
    fetchAgent: async () => (keySet === undefined ? undefined : { log: [...log], keySet }),
    fetchLog: async () => [...log],
  })
const compared = () => ownLog().compareWithHub(node.hub)
const isRegistered = () => hubRow(node.ctx.store, node.hub.url)?.registeredSeq === node.ctx.identity.log.seq

describe('a hub that holds', () => {
  test('what this machine holds is up to date', async () => {
    serves(KeySet.encode(own()))
    expect(await compared()).toBeUndefined()
    expect([isRegistered(), node.ctx.keys.isConfirmed]).toEqual([true, true])
  })

  test.each([
    ['nothing', () => node.hub.answers({ fetchAgent: () => Promise.reject(refusedWith('unknown_aid')) })],
    ['the log alone', () => serves(undefined)],
  ])('%s came back from a backup, and is told again', async (_, holds) => {
    holds()
    expect(await compared()).toBeUndefined()
    expect([isRegistered(), node.ctx.keys.isConfirmed]).toEqual([false, true])
  })

  test('fewer key events is told again', async () => {
    const before = node.ctx.identity.log.events
    node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms + 1)
    noteRegistered(node.ctx.store, node.hub.url, node.ctx.identity.log.seq)
    serves(KeySet.encode(own()), before)
    expect(await compared()).toBeUndefined()
    expect(isRegistered()).toBe(false)
  })

  test('an older key set is given the newest one with the next round', async () => {
    const old = KeySet.encode(own())
    const { identity, keys } = node.ctx
    keys.confirm(keys.ensureSet(identity.log, identity.seed, { bytes: 512 * 1024, perDay: 5 }, 5))
    serves(old)
    expect(await compared()).toBeUndefined()
    expect([isRegistered(), keys.isConfirmed]).toEqual([true, false])
  })

  test.each([
    ['of somebody else', () => setOf({ aid: node.hub.identity.aid, setSeq: 9 })],
    ['of another key', () => setOf({ kelSeq: 7, setSeq: 9 })],
    ['that this identity did not sign', () => setOf({ setSeq: 9 }, new Uint8Array(32).fill(3))],
    ['that is none', () => new Uint8Array(5)],
  ])('a key set %s proves nothing', async (_, made) => {
    serves(made())
    expect(await compared()).toBeUndefined()
    expect([isRegistered(), node.ctx.keys.isConfirmed, node.hub.stopped]).toEqual([true, true, undefined])
  })

  test('a key set that this machine has not made was given it by a newer copy', async () => {
    serves(setOf({ setSeq: 9 }))
    expect(await compared()).toMatch(/key set 9 of this identity and this machine 1: it is an old copy/)
    expect(node.hub.stopped).toMatch(/it is an old copy/)
  })

  test('such a set is outnumbered where the owner said that the newer copy is lost', async () => {
    keepLasting(node.ctx.store, { copyAccepted: 1 })
    serves(setOf({ setSeq: 9 }))
    expect(await compared()).toBeUndefined()
    expect([node.ctx.keys.isConfirmed, lasting(node.ctx.store, 'copyAccepted')]).toEqual([false, 1])
  })

  test('another history of this identity has it from a second machine', async () => {
    const { identity } = node.ctx
    const [before, home] = [identity.log, node.hub.identity.aid]
    identity.rotate(home, world.clock.ms + 1)
    const nextSeed = new Uint8Array(32).fill(4)
    const fork = rotate(before, { seed: identity.seed, nextSeed, ts: world.clock.ms + 2, home })
    serves(KeySet.encode(own()), fork.events)
    expect(await compared()).toMatch(/another key history of this identity than this machine/)
    expect(node.hub.stopped).toMatch(/another key history/)
  })

  test('no history that verifies proves nothing', async () => {
    const [first] = node.ctx.identity.log.events as [KeyEvent]
    serves(KeySet.encode(own()), [{ ...first, sig: new Uint8Array(64) } as KeyEvent])
    expect(await compared()).toBeUndefined()
  })
})

describe('a copy that its owner accepted', () => {
  const accepted = () => lasting(node.ctx.store, 'copyAccepted')
  beforeEach(() => keepLasting(node.ctx.store, { copyAccepted: 1 }))

  test.each([
    ['holds no set', () => serves(undefined)],
    ['holds its own set', () => serves(KeySet.encode(own()))],
  ])('is the newest once its hub %s', async (_, holds) => {
    holds()
    await compared()
    expect(accepted()).toBe(0)
  })

  test('is not yet the newest while a set is due that shows it', async () => {
    keepLasting(node.ctx.store, { keySetDue: 'publish' })
    serves(KeySet.encode(own()))
    await compared()
    expect(accepted()).toBe(1)
  })
})

test('a previous hub shows by its address what it knows', async () => {
  const older = node.ctx.identity.log
  node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms + 1)
  const later = node.ctx.identity.log.events
  serves(KeySet.encode(own()), later)
  expect(await ownLog().compareWithOther(node.hub)).toBeUndefined()
  const { aid, seed } = node.ctx.identity
  const old = { ...node.ctx, identity: { aid, seed, log: older } }
  expect(await new OwnLog(old as never, node.ctx).compareWithOther(node.hub)).toMatch(
    `the hub ${node.hub.url} holds key event ${later.length - 1} of this identity`,
  )
})

test('a hub does not know this identity where it says so, and not where it says nothing', async () => {
  const isUnknown = () => ownLog().isUnknownAt(node.hub)
  expect(await isUnknown()).toBe(false)
  serves(undefined)
  expect(await isUnknown()).toBe(true)
  const refuses = (error: Error) => node.hub.answers({ fetchAgent: () => Promise.reject(error) })
  refuses(refusedWith('unknown_aid'))
  expect(await isUnknown()).toBe(true)
  refuses(refusedWith('rate_limited'))
  expect(await isUnknown()).toBe(false)
  refuses(new Error('unknown_aid'))
  expect(await isUnknown()).toBe(false)
})
