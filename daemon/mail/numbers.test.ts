/** Numbers of messages after a node came back from a backup. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fromBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { messageDigest } from '../../protocol/mail/message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { taskReading } from '../control/parts.ts'
import { lostTasks, noteLost } from '../store/lost.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string
let archive: string
let madeAtMs: number

/** A task that both write in; alice is saved, then says two things more that bob gets. */
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('answered'))
  alice.say(id, 'before the archive')
  await world.settle()
  archive = world.archive(alice)
  madeAtMs = world.clock.ms
  world.pass(HOUR_MS)
  for (const text of ['lost 3', 'lost 4']) alice.say(id, text)
  await world.settle()
  world.pass(HOUR_MS)
})
afterEach(() => world[Symbol.asyncDispose]())

const restore = async () => {
  alice = await world.restore(alice, archive, madeAtMs)
}
const texts = (node: TestNode, from: TestNode) =>
  node
    .messages(id)
    .filter(({ sender }) => sender === from.aid)
    .map(({ text }) => text)
const own = (node: TestNode) =>
  node
    .messages(id)
    .flatMap(({ direction, number, text, delivery }) =>
      direction === 'out' ? [[number, text, delivery]] : [],
    )
async function minutes(n: number): Promise<void> {
  for (let i = 0; i < n * 6; i++) {
    world.pass(10_000)
    await world.settle()
    for (const node of [alice, bob]) await node.ask()
  }
}
describe('after a restore', () => {
  test('nothing counts as delivered that the peer never got', async () => {
    await restore()
    alice.say(id, 'after the restore')
    bob.say(id, 'an answer')
    await world.settle()
    expect(own(alice).find(([, text]) => text === 'after the restore')).toMatchObject([
      expect.any(Number),
      'after the restore',
      'queued',
    ])
    expect(texts(bob, alice)).not.toContain('after the restore')
  })

  test('own numbers go on above all that the peer holds, and everything arrives', async () => {
    await restore()
    alice.say(id, 'first after it')
    alice.askNumbers()
    alice.say(id, 'second after it')
    await minutes(3)
    expect(texts(bob, alice).slice(-4)).toEqual(['lost 3', 'lost 4', 'first after it', 'second after it'])
    expect(
      own(alice)
        .map(([number]) => Number(number))
        .toSorted((a, b) => a - b),
    ).toEqual([1, 2, 3, 4, 5, 6])
    const isClaimed = ([, text]: unknown[]) => String(text).startsWith('The other side says')
    expect(own(alice).filter(isClaimed)).toHaveLength(2)
    const said = own(alice).filter(one => !isClaimed(one))
    expect(said.every(([, , delivery]) => delivery === 'delivered')).toBe(true)
    expect(alice.thread(id)).toMatchObject({ numbering: 'told', numbered: 6 })
  })

  test('a task that goes on above lost numbers ends with a receipt that both sign', async () => {
    await restore()
    alice.askNumbers()
    alice.say(id, 'after it')
    await minutes(2)
    await world.end({ alice, bob, id })
    await minutes(1)
    expect([alice, bob].map(node => node.thread(id).receiptState)).toEqual(['signed', 'signed'])
  })

  test('an end that was proposed before the peer told its numbers names its own number', async () => {
    await restore()
    alice.within(() => alice.tasks.endings.propose(alice.thread(id)))
    alice.askNumbers()
    await minutes(2)
    expect(bob.thread(id)).toMatchObject({ state: 'end_proposed', peerLast: 5 })
    expect(alice.thread(id).ownLast).toBe(5)
  })

  test('nothing is accepted as ended before the peer said what it holds, and then it is', async () => {
    await restore()
    bob.within(() => bob.tasks.endings.propose(bob.thread(id)))
    await world.settle()
    expect(() => alice.within(() => alice.tasks.endings.accept(alice.thread(id)))).toThrow(/has not said yet/)
    alice.askNumbers()
    await minutes(2)
    alice.within(() => alice.tasks.endings.accept(alice.thread(id)))
    await minutes(2)
    expect([alice, bob].map(node => node.thread(id).receiptState)).toEqual(['signed', 'signed'])
  })

  test('a message that waited in the backup and arrived since is delivered once, by its digest', async () => {
    alice.say(id, 'queued in the backup')
    archive = world.archive(alice)
    await world.settle()
    await restore()
    alice.askNumbers()
    await minutes(2)
    expect(texts(bob, alice).filter(text => text === 'queued in the backup')).toHaveLength(1)
    expect(own(alice).at(-1)).toEqual([5, 'queued in the backup', 'delivered'])
  })

  test('a question is known by what it asks, and is asked once an hour', async () => {
    await restore()
    const asked = () =>
      alice.ctx.store.get<{ n: number }>('SELECT count(*) AS n FROM messages WHERE kind = ?', kinds.numbers)
        ?.n
    alice.askNumbers()
    expect(asked()).toBe(1)
    alice.ctx.store.run("UPDATE messages SET text = 'in other words' WHERE kind = ?", kinds.numbers)
    alice.askNumbers()
    expect(asked()).toBe(1)
    world.pass(HOUR_MS + 1)
    alice.askNumbers()
    expect(asked()).toBe(2)
  })

  test('a second restore asks again, whatever the backup holds of the first one', async () => {
    await restore()
    alice.askNumbers()
    await minutes(1)
    expect(alice.thread(id).numbering).toBe('told')
    archive = world.archive(alice)
    madeAtMs = world.clock.ms
    alice.say(id, 'lost by the second')
    await minutes(1)
    await restore()
    expect(alice.thread(id).numbering).toBe('asking')
    alice.askNumbers()
    alice.say(id, 'after the second')
    await minutes(2)
    expect(texts(bob, alice).slice(-2)).toEqual(['lost by the second', 'after the second'])
    expect(alice.thread(id).numbering).toBe('told')
  })

  test('what is doubted anew is asked about anew, also right after an answer', async () => {
    await restore()
    alice.askNumbers()
    await minutes(1)
    alice.within(() => alice.mail.asked.doubt(alice.thread(id)))
    expect(alice.thread(id).numbering).toBe('asking')
    alice.askNumbers()
    await minutes(1)
    expect(alice.thread(id).numbering).toBe('told')
  })

  test('is said to be asked for by a node that may sign, and by no copy that may not', async () => {
    await restore()
    const said = () => taskReading(alice.ctx).restored.warnings(alice.ctx.hub).join()
    expect(said()).toMatch(/asked .* which of its messages they hold/)
    alice.ctx.hub.oldCopy = 'an older copy'
    expect(said()).toBe('')
  })

  test('an answer to a question that was not asked changes nothing', async () => {
    await restore()
    bob.ctx.threads.queueLoose(alice.aid, {
      kind: kinds.numbers,
      payload: encodePayload(kinds.numbers, { answers: new Uint8Array(16), holds: [], since: [] }),
      text: '',
      numbered: false,
    })
    await world.settle()
    expect(alice.thread(id).numbering).toBe('asking')
  })
})

describe('with a peer of a release that does not know the question', () => {
  test('its next word tells what it holds', async () => {
    await restore()
    alice.askNumbers()
    alice.say(id, 'after it')
    const question = alice.ctx.store.get<{ key: number; payload: Uint8Array }>(
      'SELECT key, payload FROM messages WHERE kind = ?',
      kinds.numbers,
    ) ?? { key: -1, payload: new Uint8Array(0) }
    const body = alice.ctx.threads.message(question.key)
    // what nobody can read is confirmed with code 2, as an unknown kind is
    const payload = utf8('of a later release')
    const named = { from: alice.aid, to: bob.aid, messageId: body.messageId, kind: kinds.numbers }
    const digest = messageDigest({ ...named, number: 0, payload, attachments: [] })
    const write = 'UPDATE messages SET payload = ?, digest = ? WHERE key = ?'
    alice.ctx.store.run(write, payload, digest, question.key)
    await alice.send()
    alice.ctx.store.run(write, question.payload, digest, question.key)
    await minutes(2)
    expect(alice.thread(id).numbering).toBe('awaiting')
    bob.say(id, 'a word')
    await minutes(2)
    expect(alice.thread(id)).toMatchObject({ numbering: 'told', numbered: 5 })
    expect(texts(bob, alice).at(-1)).toBe('after it')
  })
})

describe('without a mark of the restore', () => {
  test('a peer that holds more than was sent confirms nothing by its number, and is asked', async () => {
    alice = await world.swap(alice, archive)
    alice.say(id, 'says 3 anew')
    bob.say(id, 'an answer')
    await minutes(1)
    alice.askNumbers()
    alice.say(id, 'goes on')
    await minutes(3)
    expect(own(alice).find(([, text]) => text === 'says 3 anew')?.[2]).toBe('failed')
    expect(texts(bob, alice).at(-1)).toBe('goes on')
  })
})

test('tasks that came after the backup are named on both sides, and the sender hears of it', async () => {
  const lost = bob.delegate(alice, 'after the backup').id
  await world.settle()
  await minutes(1)
  expect(bob.thread(lost).state).toBe('delivered')
  world.pass(DAY_MS)
  await restore()
  alice.askNumbers()
  await minutes(3)
  expect(lostTasks(alice.ctx.store)).toMatchObject([{ id: lost, peer: bob.aid, side: 'received' }])
  expect(bob.thread(lost).lostByPeerAt).not.toBeNull()
  bob.say(lost, 'are you there?')
  await minutes(2)
  expect(bob.messages(lost).at(-1)).toMatchObject({
    delivery: 'failed',
    reason: expect.stringContaining('delegate it anew'),
  })
})

const NOTHING_SAID = { side: null, delegatedAt: null, payment: null }

test('a task of a stranger is named once the stranger writes in it, and of many strangers a few', async () => {
  const carol = await world.node('carol')
  const ids = Array.from({ length: 3 }, () => carol.delegate(alice, 'from a stranger').id)
  await world.settle()
  await restore()
  for (let n = 0; n < 31; n++)
    alice.within(() => noteLost(alice.ctx.store, { ...NOTHING_SAID, id: `known ${n}`, peer: bob.aid, at: n }))
  for (const one of ids) carol.say(one, 'did you get it?')
  await world.settle()
  expect(lostTasks(alice.ctx.store).filter(({ peer }) => peer === carol.aid)).toHaveLength(1)
})

describe('a node that was never restored', () => {
  const claims = (highest: number, named: number[]) => {
    const { payload } = alice.ctx.store.get<{ payload: Uint8Array }>(
      'SELECT payload FROM messages WHERE kind = ? AND direction = ? ORDER BY key DESC',
      kinds.numbers,
      'out',
    ) ?? { payload: new Uint8Array() }
    expect(payload.length).toBeGreaterThan(0)
    const asked = alice.ctx.store.get<{ message_id: Uint8Array }>(
      'SELECT message_id FROM messages WHERE kind = ? AND direction = ? ORDER BY key DESC',
      kinds.numbers,
      'out',
    )
    const digests = named.map((number): [number, Uint8Array] => [
      number,
      new Uint8Array(32).fill(number % 251),
    ])
    const holds = [{ interactionId: fromBase64url(id), highest, digests }]
    bob.within(() =>
      bob.ctx.threads.queueLoose(alice.aid, {
        kind: kinds.numbers,
        payload: encodePayload(kinds.numbers, {
          answers: asked?.message_id ?? new Uint8Array(16),
          holds,
          since: [],
        }),
        text: '',
        numbered: false,
      }),
    )
  }
  const doubted = () => {
    alice.within(() => alice.mail.asked.doubt(alice.thread(id)))
    alice.askNumbers()
  }

  test.each([100_000, 99_999, 50, 4 + 17])(
    'gives up no numbers where the other side says that it holds %d of them',
    async highest => {
      const { numbered } = alice.thread(id)
      doubted()
      claims(highest, [highest])
      await minutes(1)
      expect(alice.thread(id)).toMatchObject({ numbering: 'told', numbered })
      alice.say(id, 'goes on')
      await world.end({ alice, bob, id })
      await minutes(2)
      expect([alice, bob].map(node => node.thread(id).receiptState)).toEqual(['signed', 'signed'])
    },
  )

  test('keeps the place of a few, as the word of the other side, and is held up by it no second time', async () => {
    const { numbered } = alice.thread(id)
    doubted()
    claims(numbered + 3, [numbered + 2])
    await minutes(1)
    expect(alice.thread(id)).toMatchObject({ numbering: 'told', numbered: numbered + 3 })
    const kept = own(alice).find(([number]) => number === numbered + 2)
    expect(kept).toEqual([
      numbered + 2,
      expect.stringMatching(/^The other side says that it holds/),
      'unknown',
    ])
    doubted()
    expect(alice.thread(id).numbering).toBe('told')
  })

  test('goes on after a minute where the other side says nothing more', async () => {
    alice.within(() => alice.mail.asked.doubt(alice.thread(id)))
    alice.askNumbers()
    expect(alice.thread(id).numbering).toBe('asking')
    world.pass(61_000)
    alice.askNumbers()
    expect(alice.thread(id).numbering).toBe('told')
  })
})

test('a question of a clock that ran ahead is asked again', async () => {
  await restore()
  world.pass(366 * DAY_MS)
  alice.askNumbers()
  world.pass(-366 * DAY_MS)
  const asked = () =>
    alice.ctx.store.all('SELECT 1 FROM messages WHERE kind = ? AND direction = ?', kinds.numbers, 'out')
      .length
  const before = asked()
  alice.askNumbers()
  expect(asked()).toBe(before + 1)
})
