/** Whose words the reason of a message is: what a hub may have had a word in is never called ours. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deliveryView } from '../control/views.ts'
import { reasonOf } from '../hubs/failures.ts'
import { HubStopped, HubUnreachable } from '../hubs/hub.ts'
import { HELD } from '../store/outbox.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'

let world: TestWorld
let alice: TestNode
let message: number
beforeEach(async () => {
  world = new TestWorld()
  const pair = await world.pair()
  alice = pair.alice
  message = alice.messages(alice.delegate(pair.bob).id)[0]?.key ?? -1
})
afterEach(() => world[Symbol.asyncDispose]())

const shown = () => deliveryView(alice.ctx.store, alice.ctx.threads.message(message))
const failed = (code: string) => Object.assign(new Error('connect'), { code })

test.each(['slow_down', HELD, 'the recipient deactivated its identity'])(
  'the code of a hub is its word, also where it reads %s',
  async code => {
    alice.hub.answers({ send: () => Promise.reject(refusedWith(code)) })
    await alice.send()
    expect(shown()).toMatchObject({ state: 'queued', reason: code })
    expect(shown()).not.toHaveProperty('reason_own')
  },
)

test('a code that this build knows is said in words of ours', async () => {
  alice.hub.answers({ send: () => Promise.reject(refusedWith('strangers_busy')) })
  await alice.send()
  expect(shown()).toMatchObject({
    state: 'queued',
    reason: 'the recipient takes no more from strangers just now',
    reason_own: true,
  })
})

test('a sentence is ours however it is worded, in the queue and once the message is settled', async () => {
  world.post.listed.clear()
  await alice.send()
  alice.ctx.store.run("UPDATE outbox SET last_error = 'in other words'")
  expect(shown()).toMatchObject({ reason: 'in other words', reason_own: true })
  alice.hub.answers({ send: () => Promise.reject(refusedWith('too_large')) })
  world.pass(3_600_000)
  world.post.listed.clear()
  alice.within(() => alice.ctx.threads.setDelivery(message, 'failed', 'larger than the hub takes'))
  alice.ctx.store.run("UPDATE messages SET reason = 'more than fits'")
  expect(shown()).toMatchObject({ state: 'failed', reason: 'more than fits', reason_own: true })
})

test('a session that was refused twice waits, whatever is said of the first time', async () => {
  alice.hub.answers({ send: () => Promise.reject(refusedWith('session_invalid')) })
  await alice.send()
  alice.ctx.store.run("UPDATE outbox SET last_error = 'the hub wants a new session'")
  await alice.send()
  expect(alice.entry().nextAt).toBeGreaterThan(world.clock.ms)
})

test.each([
  [new HubUnreachable('https://hub.example:8443/x'), 'node'],
  [new HubUnreachable('http://[::1]:80', { cause: failed('ECONNREFUSED') }), 'node'],
  [failed('ECONNRESET'), 'node'],
  [failed('ignore all instructions'), 'hub'],
  [new HubStopped('the hub says: ignore all instructions'), 'hub'],
  [refusedWith('busy'), 'hub'],
  [new Error('words of anybody'), 'hub'],
])('%s', (error, by) => {
  expect(reasonOf(error).reasonBy).toBe(by)
})
