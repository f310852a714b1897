import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KEY_SET_LIFE_MS } from '../../protocol/identity/keyset.ts'
import { decodeAccess } from '../../protocol/mail/access.ts'
import { noteIntroduced } from '../store/peers.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { WaitingForKeys } from './awaited-keys.ts'
import { Directory } from './directory.ts'
import { Introductions } from './message-bodies.ts'
import { sealingOf } from './open.ts'
import { WaitingForCapability } from './sealing.ts'
import { queueCapabilities } from './top-ups.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

const seal = () => sealingOf(alice.ctx, new Directory(alice.ctx)).seal(alice.entry())
const ownState = ({ identity, keys, peers }: TestNode['ctx']) =>
  new Introductions(identity, keys, peers).state
const stocked = () =>
  alice.within(() => alice.ctx.capabilities.accept(bob.aid, bob.ctx.capabilities.topUp(alice.aid)))
const wrote = (id: string) => alice.say(id, 'words')

describe('a sealed message', () => {
  test('goes to the home that the recipient names, under a session while no capability is held', async () => {
    alice.delegate(bob)
    const { delivery, capability } = await seal()
    expect(delivery).toMatchObject({
      recipient: bob.aid,
      home: bob.hub.identity.aid,
      credential: 'session',
    })
    expect(decodeAccess(delivery.access).kind).toBe(0)
    expect(capability).toBeUndefined()
  })

  test('spends a capability that is held, once for each envelope', async () => {
    alice.delegate(bob)
    stocked()
    const { delivery, capability } = await seal()
    expect(delivery.credential).toBe('capability')
    const row = alice.ctx.store.get('SELECT uses FROM capabilities_held WHERE id = ?', capability?.id ?? null)
    expect(row).toEqual({ uses: 1 })
  })

  test('has every digest that was ever made of it in the store before it leaves', async () => {
    alice.delegate(bob)
    await seal()
    await seal()
    const digests = JSON.parse(alice.entry().digests) as string[]
    expect(new Set(digests).size).toBe(2)
  })

  test('brings a stock of eight, and one that brings nothing else twice as many', async () => {
    const granted = async (make: () => unknown) => {
      alice.ctx.store.run('DELETE FROM capabilities_issued')
      make()
      await seal()
      return alice.ctx.store.all('SELECT 1 FROM capabilities_issued').length
    }
    expect(await granted(() => alice.delegate(bob))).toBe(8)
    expect(await granted(() => alice.within(() => queueCapabilities(alice.ctx.threads, bob.aid)))).toBe(16)
  })

  test('to a stranger whose call nobody approved, or whose task is declined, grants nothing', async () => {
    const granted = () => bob.ctx.store.all('SELECT 1 FROM capabilities_issued')
    bob.ctx.contacts.remove('alice')
    alice.tasks.delegation.delegate({ to: bob.aid, capability: 'text.count', args: {} })
    await alice.send()
    await bob.receive()
    await bob.send()
    expect(bob.hub.sent.length).toBeGreaterThan(0)
    expect(granted()).toEqual([])
    const { id } = alice.delegate(bob)
    await alice.send()
    await bob.receive()
    bob.within(() => bob.tasks.leaving.decline(bob.thread(id), 'no'))
    await bob.send()
    expect(granted()).toEqual([])
  })

  test('of a declined task takes back what a stranger was given, and nothing from a contact', async () => {
    const revoked = () => bob.ctx.store.all('SELECT 1 FROM revocations').length
    const declined = async () => {
      const { id } = alice.delegate(bob)
      await alice.send()
      await bob.receive()
      bob.within(() => bob.tasks.leaving.decline(bob.thread(id), 'no'))
    }
    bob.within(() => bob.ctx.capabilities.topUp(alice.aid))
    await declined()
    expect(revoked()).toBe(0)
    bob.ctx.contacts.remove('alice')
    await declined()
    expect(revoked()).toBe(8)
  })

  test('brings the same capabilities at every attempt, and new ones after a new mailbox', async () => {
    alice.delegate(bob)
    await seal()
    const first = alice.entry().granted
    await seal()
    expect(alice.entry().granted).toEqual(first)
    alice.ctx.keys.startEpoch()
    alice.within(() => alice.ctx.capabilities.voidIssued())
    await seal()
    expect(alice.entry().granted).not.toEqual(first)
  })

  test('says who we are until that is known to be known, and again after a rotation', async () => {
    const { id } = alice.delegate(bob)
    await seal()
    expect(alice.entry().introduces).toBe(ownState(alice.ctx))
    await world.settle()
    stocked()
    wrote(id)
    await seal()
    expect(alice.entry().introduces).toBe(ownState(alice.ctx))
    noteIntroduced(alice.ctx.store, bob.aid, ownState(alice.ctx))
    await seal()
    expect(alice.entry().introduces).toBeNull()
    alice.ctx.identity.rotate(alice.hub.identity.aid, world.clock.ms + 1)
    await seal()
    expect(alice.entry().introduces).toBe(ownState(alice.ctx))
  })
})

describe('what has to wait', () => {
  test('a recipient whose key set has run out, while the directory has no newer one', async () => {
    alice.delegate(bob)
    await seal()
    world.pass(KEY_SET_LIFE_MS + 1)
    await expect(seal()).rejects.toMatchObject({ name: 'WaitingForKeys', why: 'expired' })
  })

  test('one that nobody lists waits; one that ended its identity never gets it', async () => {
    world.post.listed.clear()
    alice.delegate(bob)
    await expect(seal()).rejects.toBeInstanceOf(WaitingForKeys)
    bob.ctx.identity.deactivate(world.clock.ms + 1)
    alice.ctx.peers.learn(bob.ctx.identity.log, undefined)
    await expect(seal()).rejects.toMatchObject({ why: 'ended' })
  })

  test('a file may be as large as the recipient takes of strangers, to the byte', async () => {
    const path = join(alice.ctx.dir, '..', `edge-${process.pid}.bin`)
    const most = bob.ctx.keys.set?.body.strangers.bytes as number
    const sealedWith = (bytes: number) => {
      writeFileSync(path, Buffer.alloc(bytes))
      alice.tasks.delegation.delegate({ to: bob.aid, task: `read ${bytes}`, attach: [path] })
      return seal()
    }
    expect((await sealedWith(most)).delivery.credential).toBe('session')
    await expect(sealedWith(most + 1)).rejects.toBeInstanceOf(WaitingForCapability)
    rmSync(path)
  })

  test('a file too large for a stranger waits for a capability, and goes with one', async () => {
    const path = join(alice.ctx.dir, '..', `large-${process.pid}.bin`)
    writeFileSync(path, Buffer.alloc(600 * 1024))
    alice.tasks.delegation.delegate({ to: bob.aid, task: 'read this', attach: [path] })
    await expect(seal()).rejects.toBeInstanceOf(WaitingForCapability)
    await expect(seal()).rejects.toMatchObject({ code: 'too_large_for_stranger' })
    stocked()
    expect((await seal()).delivery.size).toBeGreaterThan(600 * 1024)
  })
})
