import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { kinds } from '../../protocol/mail/payload.ts'
import { failWrites } from '../testing/failing-store.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { openTopUps } from './open.ts'
import { AskedCapabilities, type TopUps } from './top-ups.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let topUps: TopUps
let id: string

/** Bob has a task of alice's; both hold a stock of the other's. Pauses of a top-up are nothing here. */
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation())
  topUps = openTopUps({ ...bob.ctx, timings: { ...bob.ctx.timings, topUpPauseMs: 0, topUpSpreadMs: 0 } })
})
afterEach(async () => {
  topUps.stop()
  await world[Symbol.asyncDispose]()
})

/** Capabilities-only messages that bob has made for alice. */
const made = () =>
  bob.ctx.store.all('SELECT 1 FROM messages WHERE direction = ? AND kind = ?', 'out', kinds.capabilities)
    .length
const exhaust = () => bob.ctx.capabilities.forgetIssued(alice.aid)
const aWhile = () => new Promise(resolve => setTimeout(resolve, 25))

describe('a top-up', () => {
  test('goes to a correspondent whose stock is low, once for several needs', async () => {
    exhaust()
    for (let n = 0; n < 3; n++) topUps.note(alice.aid)
    await expect.poll(made).toBe(1)
    await aWhile()
    expect(made()).toBe(1)
  })

  test('that a full disk does not take ends nothing, and is tried again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      exhaust()
      const disk = failWrites(bob.ctx.store, { from: 1, count: 1 })
      topUps.note(alice.aid)
      vi.advanceTimersByTime(1)
      expect([disk.failed, made()]).toEqual([1, 0])
      vi.advanceTimersByTime(30_000)
      expect(made()).toBe(1)
    } finally {
      vi.useRealTimers()
    }
  })

  test('does not go where the stock suffices', async () => {
    topUps.note(alice.aid)
    topUps.start()
    await aWhile()
    expect(made()).toBe(0)
  })

  test('does not go where a queued message brings a stock of its own', async () => {
    exhaust()
    bob.say(id, 'more')
    topUps.note(alice.aid)
    await aWhile()
    expect(made()).toBe(0)
  })

  test('waits for one that is in flight, and goes again once that one was used up', async () => {
    exhaust()
    topUps.note(alice.aid)
    await expect.poll(made).toBe(1)
    await bob.send()
    exhaust()
    topUps.note(alice.aid)
    await aWhile()
    expect(made()).toBe(1)
    world.pass(30_001)
    await expect.poll(made).toBe(2)
  })

  test('waits neither for its pause nor for one in flight that is void, where somebody was let in again', async () => {
    const late = openTopUps(bob.ctx)
    exhaust()
    late.hurry(alice.aid)
    expect(made()).toBe(1)
    await bob.send()
    bob.within(() => bob.ctx.capabilities.revokeIssued(alice.aid))
    late.hurry(alice.aid)
    expect(made()).toBe(2)
    late.stop()
  })

  test('that still waits when its capabilities are taken back brings others', async () => {
    exhaust()
    bob.hub.answers({ send: () => Promise.reject(new Error('down')) })
    const said = bob.say(id, 'more')
    await bob.send()
    const carried = () =>
      bob.entry(said.key).granted === null
        ? ''
        : Buffer.from(bob.entry(said.key).granted as Uint8Array).toString('hex')
    const before = carried()
    bob.within(() => bob.ctx.capabilities.revokeIssued(alice.aid))
    world.pass(3_600_000)
    await bob.send()
    expect(carried()).not.toBe(before)
    expect(carried().length).toBe(before.length)
  })

  test('looks after everybody with an open task at the start, and nobody else', async () => {
    exhaust()
    bob.ctx.store.run("UPDATE interactions SET state = 'ended'")
    topUps.start()
    await aWhile()
    expect(made()).toBe(0)
    bob.ctx.store.run("UPDATE interactions SET state = 'open'")
    topUps.start()
    await expect.poll(made).toBe(1)
  })

  test('goes to no blocked agent, and nowhere after the end', async () => {
    exhaust()
    bob.ctx.contacts.block(alice.aid, true)
    topUps.note(alice.aid)
    await aWhile()
    expect(made()).toBe(0)
    bob.ctx.contacts.block(alice.aid, false)
    topUps.note(alice.aid)
    topUps.stop()
    await aWhile()
    expect(made()).toBe(0)
  })

  test('goes to a contact whose tasks are over, and to a stranger only while one of its tasks goes on', async () => {
    exhaust()
    const set = (state: string, side = 'received') =>
      bob.ctx.store.run('UPDATE interactions SET state = ?, side = ?', state, side)
    const noted = async () => {
      const before = made()
      topUps.hurry(alice.aid)
      const gone = made() - before
      bob.ctx.store.run('DELETE FROM outbox')
      return gone
    }
    set('ended')
    expect(await noted()).toBe(1)
    bob.ctx.contacts.remove('alice')
    expect(await noted()).toBe(0)
    set('ended', 'sent')
    expect(await noted()).toBe(0)
    for (const [state, side] of [
      ['delivered', 'sent'],
      ['open', 'received'],
      ['end_proposed', 'sent'],
    ] as const) {
      set(state, side)
      expect([state, await noted()]).toEqual([state, 1])
    }
  })

  test('has no number and stands in no task, so that nothing waits for it', async () => {
    exhaust()
    topUps.hurry(alice.aid)
    const [message] = bob.ctx.store.all(
      "SELECT interaction, number, text FROM messages WHERE direction = 'out' AND kind = ?",
      kinds.capabilities,
    )
    expect(message).toEqual({ interaction: null, number: 0, text: '' })
    const { number } = bob.say(id, 'more')
    expect(number).toBe(bob.messages(id).filter(one => one.direction === 'out').length)
  })

  test('is planned once however many messages come, and never where none is needed', () => {
    let drawn = 0
    const random = (length: number) => {
      drawn += 1
      return bob.ctx.random(length)
    }
    const planned = openTopUps({ ...bob.ctx, random })
    planned.note(alice.aid)
    expect(drawn).toBe(0)
    exhaust()
    for (let n = 0; n < 3; n++) planned.note(alice.aid)
    expect(drawn).toBe(1)
    planned.stop()
    planned.note(alice.aid)
    expect(drawn).toBe(1)
  })
})

describe('a node that holds no capability of a peer', () => {
  const HOUR_MS = 3_600_000
  const ask = () => new AskedCapabilities(bob.ctx.store, bob.ctx.threads, bob.ctx.now).ask(alice.aid)

  test('asks for some once an hour', () => {
    ask()
    world.pass(HOUR_MS - 1)
    ask()
    expect(made()).toBe(1)
    world.pass(1)
    ask()
    expect(made()).toBe(2)
  })

  test('asks nothing for an hour after a task of its own, which said it too', () => {
    bob.delegate(alice)
    world.pass(HOUR_MS - 1)
    ask()
    expect(made()).toBe(0)
    world.pass(1)
    ask()
    expect(made()).toBe(1)
  })
})
