import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HubStopped } from '../hubs/hub.ts'
import { counted } from '../store/counters.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { Relay } from './relay.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let relay: Relay

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  relay = new Relay({ ...bob.ctx, timings: { ...bob.ctx.timings, backoffFirstMs: 5 } })
})
afterEach(async () => {
  await relay.stop()
  await world[Symbol.asyncDispose]()
})

const polls = () => bob.hub.calls.filter(call => call === 'poll').length
const aWhile = (ms = 30) => new Promise(resolve => setTimeout(resolve, ms))
/** A poll that is held until the node gives up. */
const isHeld: TestNode['hub']['poll'] = ({ signal }) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
const nothing = { envelopes: [], more: false, held: true, [Symbol.dispose]: () => {} }

describe('the running relay', () => {
  test('takes in what comes and confirms it', async () => {
    const { id } = alice.delegate(bob)
    await alice.send()
    relay.start()
    await expect.poll(() => bob.ctx.threads.findById(id)?.state).toBe('open')
    await expect.poll(() => world.post.carried).toEqual([])
    expect(world.post.dacks.size).toBe(1)
  })

  test('whose polls are ended at once, again and again, came second with its identity and stops', async () => {
    bob.hub.answers({ poll: async () => nothing })
    relay.start()
    await expect.poll(() => bob.hub.stopped).toMatch(/already runs on another machine/)
    const after = polls()
    await aWhile()
    expect(polls()).toBe(after)
  })

  test('pauses twice as long after each failure, and says why until the hub answers again', async () => {
    bob.hub.answers({ poll: () => Promise.reject(refusedWith('overloaded')) })
    relay.start()
    await expect.poll(polls).toBeGreaterThan(2)
    expect(bob.ctx.hub.state).toMatchObject({ state: 'offline' })
    await aWhile(200)
    // 5 + 10 + 20 + 40 + 80 ms at most, half of that at least
    expect(polls()).toBeLessThan(12)
    bob.hub.answers({ poll: async () => nothing })
    await expect.poll(() => bob.ctx.hub.state.state, { timeout: 3000 }).not.toBe('offline')
  })

  test('asks nothing of a hub that has stopped talking to it', async () => {
    bob.hub.stopped = 'another node has this identity'
    relay.start()
    await aWhile()
    expect(polls()).toBe(0)
  })

  test('ends at once although its poll is held', async () => {
    bob.hub.answers({ poll: isHeld })
    relay.start()
    await expect.poll(polls).toBeGreaterThan(0)
    const started = performance.now()
    await relay.stop()
    expect(performance.now() - started).toBeLessThan(1000)
    const after = polls()
    await aWhile()
    expect(polls()).toBe(after)
  })

  test('that a hub stopped does not log it as a failed poll, and goes on looking', async () => {
    bob.hub.answers({ poll: () => Promise.reject(new HubStopped('moved')) })
    relay.start()
    await expect.poll(polls).toBeGreaterThan(1)
  })
})

describe('what cannot be opened', () => {
  test('is confirmed without being stored, and counted', async () => {
    world.post.take(bob.aid, new Uint8Array(9000).fill(7), world.clock.ms)
    await bob.receive()
    expect(world.post.carried).toEqual([])
    expect(world.post.dacks.size).toBe(0)
    expect(bob.ctx.store.all('SELECT 1 FROM messages')).toEqual([])
    const counters = bob.ctx.store.all<{ name: string; value: number }>('SELECT name, value FROM counters')
    expect(counters.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0)
    expect(counted(bob.ctx.store, 'no such counter')).toBe(0)
  })
})
