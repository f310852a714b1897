/** A hub that lost what it had taken: everything arrives all the same, once and in the order in which it was said. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { doubtAtHub, OVERTOOK } from '../store/outbox.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

/** A task of alice's and words that follow it, all of them at the hub. */
async function said(...words: string[]): Promise<string> {
  const { id } = alice.delegate(bob, 'the task')
  await alice.send()
  // each of the words goes under a capability of its own, about which the hub is asked by itself
  alice.within(() => alice.ctx.capabilities.accept(bob.aid, bob.ctx.capabilities.topUp(alice.aid)))
  for (const text of words) {
    alice.say(id, text)
    await alice.send()
  }
  expect(alice.messages(id).map(({ delivery }) => delivery)).toEqual(['at_hub', ...words.map(() => 'at_hub')])
  return id
}

/** An hour of questions and mail, in steps of some seconds. */
async function anHour(): Promise<void> {
  for (let passed = 0; passed < HOUR_MS; passed += 5000) {
    world.pass(5000)
    await alice.ask()
    await alice.send()
    await bob.receive()
    await bob.send()
    await alice.receive()
  }
}

const arrived = (id: string) => bob.messages(id).map(({ text }) => text)
const deliveries = (id: string) => alice.messages(id).map(({ delivery, reason }) => reason ?? delivery)

test('what was lost of a task is sent again from its first message on', async () => {
  const id = await said('one', 'two', 'three')
  world.post.carried = []
  await anHour()
  expect(arrived(id)).toEqual(['the task', 'one', 'two', 'three'])
  expect(deliveries(id)).toEqual(Array(4).fill('delivered'))
})

test('where the hub has some of it, that comes once', async () => {
  const id = await said('one', 'two', 'three')
  world.post.carried = world.post.carried.filter((_, n) => n === 0 || n === 2)
  await anHour()
  expect(arrived(id).toSorted()).toEqual(['one', 'the task', 'three', 'two'])
  expect(deliveries(id)).toEqual(Array(4).fill('delivered'))
})

test('words that come before their task wait for it, and are not refused for good', async () => {
  const id = await said('one', 'two')
  const [task, ...words] = world.post.carried
  world.post.carried = words
  await bob.receive()
  expect(bob.ctx.threads.findById(id)).toBeUndefined()
  world.post.carried = task === undefined ? [] : [task]
  await anHour()
  expect(arrived(id)).toEqual(['the task', 'one', 'two'])
  expect(deliveries(id)).toEqual(Array(3).fill('delivered'))
})

test('words of a task that is refused are refused after it', async () => {
  const id = await said('one')
  world.post.carried = world.post.carried.slice(1)
  await bob.receive()
  world.pass(HOUR_MS)
  for (let n = 0; n < 3; n++) await alice.ask()
  expect(alice.messages(id).map(({ delivery }) => delivery)).toEqual(['at_hub', 'at_hub'])
  expect(alice.entry()).toMatchObject({ state: 'queued', lastError: OVERTOOK })
  bob.ctx.contacts.block(alice.aid, true)
  await anHour()
  expect(alice.messages(id).map(({ delivery }) => delivery)).toEqual(['failed', 'failed'])
})

test('what is said after the hub was away waits for what it may have lost of its task', async () => {
  const id = await said('one', 'two')
  // bob has the task, and neither of the words
  world.post.carried = world.post.carried.slice(0, 1)
  await bob.receive()
  const other = await said('elsewhere')
  world.post.carried = []
  // the first answer about one task is a sign for all of them
  world.pass(130_000)
  const asked = alice.entry(alice.messages(other)[0]?.key)
  alice.ctx.store.run(
    'UPDATE outbox SET next_at = ? WHERE message <> ?',
    world.clock.ms + HOUR_MS,
    asked.message,
  )
  await alice.ask()
  alice.say(id, 'three')
  await anHour()
  expect(arrived(id)).toEqual(['the task', 'one', 'two', 'three'])
  expect(arrived(other)).toEqual(['the task', 'elsewhere'])
  expect([...deliveries(id), ...deliveries(other)]).toEqual(Array(6).fill('delivered'))
})

test('a hub that still holds everything lets what follows go at once', async () => {
  const id = await said('one')
  doubtAtHub(alice.ctx.store, world.clock.ms, null)
  const three = alice.say(id, 'two').key
  await alice.send()
  expect(alice.entry(three)).toMatchObject({ state: 'queued', attempts: 0 })
  await alice.ask()
  await alice.ask()
  await alice.send()
  expect(alice.entry(three).state).toBe('at_hub')
})
