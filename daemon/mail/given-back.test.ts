/** What a correspondent gives back to a node that came from a backup. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { taskReading } from '../control/parts.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string
let madeAtMs: number

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('answered'))
})
afterEach(() => world[Symbol.asyncDispose]())

/** An archive of a node, then an hour. */
function save(node: TestNode): string {
  const archive = world.archive(node)
  madeAtMs = world.clock.ms
  world.pass(HOUR_MS)
  return archive
}

async function minutes(n: number): Promise<void> {
  for (let i = 0; i < n * 6; i++) {
    world.pass(10_000)
    await world.settle()
    for (const node of [alice, bob]) await node.ask()
  }
}

async function restored(node: TestNode, archive: string): Promise<TestNode> {
  const again = await world.restore(node, archive, madeAtMs)
  if (node === alice) alice = again
  else bob = again
  again.askNumbers()
  await minutes(3)
  return again
}

const propose = (node: TestNode) => node.within(() => node.tasks.endings.propose(node.thread(id)))
const texts = (node: TestNode) => node.messages(id).map(({ text }) => text)
const both = () => [alice, bob].map(node => node.thread(id))
const agree = () => {
  expect(both().map(({ state }) => state)).toEqual(['ended', 'ended'])
  expect(both().map(({ receiptState }) => receiptState)).toEqual(['signed', 'signed'])
}

describe('the other side sends once more', () => {
  test('the words that came after the backup, each shown once', async () => {
    const archive = save(bob)
    for (const text of ['one', 'two']) alice.say(id, text)
    await world.settle()
    await restored(bob, archive)
    expect(texts(bob).filter(text => ['one', 'two'].includes(text))).toEqual(['one', 'two'])
    expect(alice.messages(id).every(({ delivery }) => delivery !== 'queued')).toBe(true)
  })

  test('nothing that is held already', async () => {
    const archive = save(bob)
    const before = alice.hub.calls.filter(call => call === 'send').length
    await restored(bob, archive)
    const answers = alice.hub.calls.filter(call => call === 'send').length - before
    expect(answers).toBe(1)
  })

  test('its proposal to end, and the task ends with its receipt', async () => {
    const archive = save(alice)
    propose(bob)
    await world.settle()
    await restored(alice, archive)
    expect(alice.thread(id).state).toBe('end_proposed')
    propose(alice)
    await minutes(2)
    agree()
  })

  test('a receipt that waited for the signature of the requester', async () => {
    propose(bob)
    await world.settle()
    const archive = save(alice)
    propose(alice)
    await minutes(2)
    agree()
    await restored(alice, archive)
    // nobody ends it in her place: she reads that a lost copy had, and agrees
    expect(alice.thread(id)).toMatchObject({ state: 'end_proposed', receiptState: 'waiting' })
    expect(texts(alice).some(text => text.startsWith('The other side says that this node ended'))).toBe(true)
    propose(alice)
    await minutes(2)
    agree()
  })

  test('for sixteen questions a day, and no more', async () => {
    const archive = save(bob)
    alice.say(id, 'lost')
    await world.settle()
    await restored(bob, archive)
    const sent = () => alice.hub.calls.filter(call => call === 'send').length
    const ask = () => {
      bob.within(() => bob.ctx.threads.update(bob.thread(id), { numbering: 'asking', heldTo: 0 }))
      bob.askNumbers()
    }
    let most = 0
    for (let n = 0; n < 24; n++) {
      const before = sent()
      ask()
      await minutes(1)
      most = sent() - before
    }
    expect(most).toBeLessThanOrEqual(1)
  })
})

test('nobody ends a task in the place of a node that never was restored', async () => {
  const doubt = { numbering: 'asking', certainTo: 0 } as const
  alice.within(() => alice.ctx.threads.update(alice.thread(id), doubt))
  alice.askNumbers()
  await alice.send()
  const asked = alice.ctx.store.get<{ message_id: Uint8Array }>(
    'SELECT message_id FROM messages WHERE kind = ? AND direction = ? ORDER BY key DESC',
    kinds.numbers,
    'out',
  )
  const digests: [number, Uint8Array][] = [[2, new Uint8Array(32)]]
  const holds = [
    { interactionId: fromBase64url(id), highest: 2, digests, last: [2, true] as [number, boolean] },
  ]
  const answers = asked?.message_id as Uint8Array
  bob.within(() =>
    bob.ctx.threads.queueLoose(alice.aid, {
      kind: kinds.numbers,
      payload: encodePayload(kinds.numbers, { answers, holds, since: [] }),
      text: '',
      numbered: false,
    }),
  )
  bob.within(() =>
    bob.ctx.threads.queue(bob.thread(id), {
      kind: kinds.acceptEnd,
      payload: encodePayload(kinds.acceptEnd, { endNumber: 2, number: 2, peerHighest: 2, missing: [] }),
      text: '',
      numbered: true,
    }),
  )
  await minutes(2)
  expect(alice.thread(id)).toMatchObject({ numbering: 'told', state: 'open', ownLast: null })
})

const waiting = (node: TestNode) =>
  taskReading(node.ctx).views.thread(node.thread(id), { fromTurn: 1, maxChars: undefined }).waiting_for

describe('a task that ended after the backups of both sides', () => {
  test('says what its provider waits for, and ends once more', async () => {
    propose(bob)
    await world.settle()
    const archives = [save(alice), save(bob)] as const
    propose(alice)
    await minutes(2)
    agree()
    alice = await world.restore(alice, archives[0], madeAtMs)
    bob = await world.restore(bob, archives[1], madeAtMs)
    expect([alice, bob].map(waiting)).toEqual(['numbers', 'numbers'])
    for (const node of [alice, bob]) node.askNumbers()
    await minutes(3)
    expect([alice, bob].map(waiting)).toEqual([undefined, 'peer'])
    propose(alice)
    await minutes(2)
    agree()
    expect([alice, bob].map(waiting)).toEqual([undefined, undefined])
  })
})

describe('a task that ended after the backup', () => {
  test('ends once more for a provider who had proposed it, with the receipt that it had signed', async () => {
    const archive = save(bob)
    bob.say(id, 'the answer')
    propose(bob)
    await world.settle()
    propose(alice)
    await minutes(2)
    agree()
    const signed = bob.thread(id).receipt
    await restored(bob, archive)
    agree()
    expect(bob.thread(id).receipt).toEqual(signed)
    expect(bob.ctx.chain.length).toBeGreaterThan(0)
  })

  test('ends once more for a provider who had accepted it', async () => {
    const archive = save(bob)
    propose(alice)
    await world.settle()
    propose(bob)
    await minutes(2)
    agree()
    await restored(bob, archive)
    agree()
  })

  test('takes no words of the provider that it wrote before it knew, and says so', async () => {
    const archive = save(bob)
    propose(bob)
    await world.settle()
    propose(alice)
    await minutes(2)
    bob = await world.restore(bob, archive, madeAtMs)
    bob.say(id, 'what else?')
    propose(bob)
    bob.askNumbers()
    await minutes(3)
    agree()
    const words = bob.messages(id).find(({ text }) => text === 'what else?')
    expect(words).toMatchObject({ delivery: 'failed' })
    expect(words?.reason).toMatch(/a copy of this node that is lost had ended the task/)
    expect(texts(alice)).not.toContain('what else?')
  })

  test('has no receipt where the answer is lost and the requester holds none: nobody signs what is not here', async () => {
    propose(alice)
    await world.settle()
    const archive = save(bob)
    bob.within(() => {
      bob.ctx.threads.update(bob.thread(id), { endBy: null, peerLast: null, state: 'open' })
    })
    bob.say(id, 'a lost answer')
    await world.settle()
    bob = await world.restore(bob, archive, madeAtMs)
    bob.askNumbers()
    await minutes(2)
    propose(bob)
    await minutes(2)
    expect(both().map(({ receiptState }) => receiptState)).toEqual(['none', 'none'])
    expect(bob.thread(id).reason).toMatch(/no receipt: a copy of this node that is lost said the last answer/)
    expect(alice.thread(id).reason).toMatch(/^the provider signs no receipt: its node was restored/)
    expect([alice, bob].map(waiting)).toEqual([undefined, undefined])
  })

  test('says no longer that it has no receipt once that comes back', async () => {
    const archive = save(bob)
    bob.say(id, 'a lost answer')
    propose(alice)
    await world.settle()
    propose(bob)
    await minutes(2)
    agree()
    bob = await world.restore(bob, archive, madeAtMs)
    bob.askNumbers()
    await bob.send()
    await alice.receive()
    const late =
      'UPDATE outbox SET next_at = ? WHERE message = (SELECT max(key) FROM messages WHERE kind = ?)'
    alice.ctx.store.run(late, world.clock.ms + 10 * 60_000, kinds.counterSignature)
    await minutes(2)
    propose(bob)
    expect(bob.thread(id)).toMatchObject({
      receiptState: 'none',
      reason: expect.stringMatching(/^no receipt/),
    })
    await minutes(20)
    agree()
    expect(bob.thread(id).reason).toBeNull()
  })
})
