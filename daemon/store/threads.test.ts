import { beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { agent, seeded } from '../../protocol/testing/agents.ts'
import { markReadTo, noteReceiptRecord, type Way } from './interactions.ts'
import { openStoreAt, type Store } from './open.ts'
import { dueEntries, holdBack, noteSealing, outboxEntry, sendAgainAt } from './outbox.ts'
import { ownReason } from './reasons.ts'
import { ANSWER_DEADLINE_MS, type Interaction, MESSAGE_DEADLINE_MS, Threads } from './threads.ts'

const own = agent('own').aid
const peer = agent('peer').aid
let store: Store
let threads: Threads
let clock: number
let queued: number
let woken: (string | undefined)[]

beforeEach(() => {
  store = openStoreAt(':memory:')
  clock = 1000
  queued = 0
  woken = []
  const onQueued = (interactionId?: string) => {
    queued++
    woken.push(interactionId)
  }
  const inputs = { now: () => clock, random: seeded('threads'), onQueued }
  threads = new Threads(store, { aid: own }, inputs)
})

const id = (n: number) => toBase64url(new Uint8Array(16).fill(n))
const created = (n = 1, way: Way = 'sealed'): Interaction =>
  threads.create({
    id: id(n),
    delegator: own,
    peer,
    side: 'sent',
    state: 'queued',
    way,
    capability: null,
    preview: 'p',
    commitment: null,
    requestCid: 'c',
  })
const outgoing = (numbered = true) => ({
  kind: kinds.message,
  payload: new Uint8Array([1]),
  text: 'words',
  numbered,
})
const incoming = (number: number): MessageBody => ({
  v: 1,
  from: peer,
  to: own,
  kelSeq: 0,
  messageId: seeded(`in ${number}`)(16),
  tsMs: 1,
  kind: kinds.message,
  interactionId: new Uint8Array(16).fill(1),
  number,
  storedUpTo: 0,
  payload: new Uint8Array([2]),
  kelHeadDigest: new Uint8Array(32),
  attachments: [],
})
const holds = (interaction: Interaction, number: number) =>
  threads.storeIncoming(interaction, incoming(number), { digest: new Uint8Array(32), text: 't' }).interaction

describe('an interaction', () => {
  test('waits for its answer for seven days', () => {
    expect(created()).toMatchObject({
      startedAt: 1000,
      updatedAt: 1000,
      deadlineAt: 1000 + ANSWER_DEADLINE_MS,
    })
  })

  test('is found by its id, and by delegator and id', () => {
    const { key } = created()
    expect(threads.findById(id(1))?.key).toBe(key)
    expect(threads.find(own, id(1))?.key).toBe(key)
    expect(threads.find(peer, id(1))).toBeUndefined()
    expect(() => threads.byKey(99)).toThrow(/no interaction/)
    expect(() => threads.message(99)).toThrow(/no message with the key 99/)
  })

  test('moves in time with every change, but not by being read', () => {
    const interaction = created()
    clock = 2000
    expect(threads.update(interaction, { state: 'open' })).toEqual(threads.byKey(interaction.key))
    expect(threads.byKey(interaction.key)).toMatchObject({ state: 'open', updatedAt: 2000 })
    clock = 3000
    markReadTo(store, interaction.key, 5)
    markReadTo(store, interaction.key, 3)
    expect(threads.byKey(interaction.key)).toMatchObject({ readTo: 5, updatedAt: 2000 })
  })

  test('keeps the first record of its receipt', () => {
    const { key } = created()
    noteReceiptRecord(store, key, 4)
    noteReceiptRecord(store, key, 9)
    expect(threads.byKey(key).receiptSeq).toBe(4)
  })

  test('is unfinished until it ended in one of the ways there are', () => {
    const states = ['queued', 'delivered', 'pending', 'open', 'end_proposed'] as const
    const over = ['ended', 'declined', 'cancelled', 'failed', 'expired'] as const
    for (const [n, state] of [...states, ...over].entries()) threads.update(created(n + 1), { state })
    expect(threads.unfinished().map(({ state }) => state)).toEqual([...states])
  })
})

describe('an outgoing message', () => {
  test('takes the next number when it is numbered, and lies in the outbox for 28 days', () => {
    const first = threads.queue(created(), outgoing())
    const loose = threads.queue(first.interaction, outgoing(false))
    const second = threads.queue(loose.interaction, outgoing())
    expect([first, loose, second].map(({ message }) => message.number)).toEqual([1, 0, 2])
    expect(threads.byKey(first.interaction.key).numbered).toBe(2)
    const entry = outboxEntry(store, first.message.key)
    expect(entry).toMatchObject({
      peer,
      state: 'queued',
      nextAt: 1000,
      deadlineAt: 1000 + MESSAGE_DEADLINE_MS,
    })
    expect(entry?.handleSecret).toHaveLength(32)
    expect(queued).toBe(3)
  })

  test('names its task to the outbox where it is a word or a step in one', () => {
    threads.queue(created(), outgoing())
    threads.queue(threads.byKey(1), outgoing(false))
    threads.queueLoose(peer, outgoing(false))
    expect(woken).toEqual([id(1), undefined, undefined])
  })

  test('of a task on this node is delivered where it is written', () => {
    const { message } = threads.queue(created(1, 'local'), outgoing())
    expect([message.delivery, outboxEntry(store, message.key), queued]).toEqual(['delivered', undefined, 0])
    const loose = threads.queueLoose(peer, outgoing(false))
    expect([loose.delivery, loose.interaction, loose.auto]).toEqual(['queued', null, 0])
    expect(threads.queueLoose(peer, { ...outgoing(false), auto: true }).auto).toBe(1)
  })

  test('wakes the outbox once its transaction is durable, and never when it is not', () => {
    store.transaction(() => {
      threads.queue(created(), outgoing())
      expect(queued).toBe(0)
    })
    expect(queued).toBe(1)
    expect(() =>
      store.transaction(() => {
        threads.queue(threads.byKey(1), outgoing())
        throw new Error('stop')
      }),
    ).toThrow('stop')
    expect(queued).toBe(1)
  })

  test('completes a message that is kept here, and lets it go; never one of which an envelope was made', () => {
    const { message } = threads.queue(created(), outgoing())
    holdBack(store, message.key, clock + 60_000)
    expect(dueEntries(store, clock)).toEqual([])
    expect(threads.complete(message, new Uint8Array([1, 2]))).toBe(true)
    const completed = threads.message(message.key)
    expect(completed.payload).toEqual(new Uint8Array([1, 2]))
    expect(completed.digest).not.toEqual(message.digest)
    expect(dueEntries(store, clock).map(entry => entry.message)).toEqual([message.key])
    noteSealing(store, message.key, { digests: '["d"]', granted: null, introduces: null })
    expect(threads.complete(completed, new Uint8Array([3]))).toBe(false)
    expect(threads.message(message.key)).toEqual(completed)
  })

  test('keeps its attachments in their order', () => {
    const attachments = ['b', 'a'].map((name, size) => ({
      name,
      mediaType: 'text/plain',
      size,
      cid: contentId(new Uint8Array([size])),
    }))
    const { message } = threads.queue(created(), { ...outgoing(), attachments })
    expect(threads.attachmentsOf(message.key)).toEqual(attachments)
  })

  test('is sent after the earlier ones of its interaction, and only when it is due', () => {
    const first = threads.queue(created(), outgoing()).message.key
    threads.queue(threads.byKey(1), outgoing())
    const other = threads.queue(created(2), outgoing()).message.key
    const due = () => dueEntries(store, clock).map(({ message }) => message)
    expect(due()).toEqual([first, other])
    sendAgainAt(store, first, { at: 1500.2, ...ownReason('later') })
    expect(due()).toEqual([other])
    clock = 1500
    expect(due()).toEqual([other])
    clock = 1501
    expect(due()).toContain(first)
  })

  test.each([
    ['delivered', true],
    ['failed', true],
    ['unknown', true],
    ['at_hub', false],
  ] as const)('%s: out of the outbox: %s', (state, gone) => {
    const { key } = threads.queue(created(), outgoing()).message
    expect(threads.setDelivery(key, state, 'why')).toBe(true)
    expect(threads.message(key)).toMatchObject({ delivery: state, reason: 'why' })
    expect(outboxEntry(store, key) === undefined).toBe(gone)
  })

  test('that is proven to be delivered stays so', () => {
    const { key } = threads.queue(created(), outgoing()).message
    threads.setDelivery(key, 'delivered')
    expect(threads.setDelivery(key, 'failed', 'x')).toBe(false)
    expect(threads.message(key)).toMatchObject({ delivery: 'delivered', reason: null })
  })

  test.each(['stock', 'access'] as const)(
    'that waits for %s is due at once when a capability came',
    waitsFor => {
      const { key } = threads.queue(created(), outgoing()).message
      sendAgainAt(store, key, { at: 9000, ...ownReason('x'), waitsFor })
      queued = 0
      threads.hurry(own)
      expect(outboxEntry(store, key)?.nextAt).toBe(9000)
      threads.hurry(peer)
      expect([outboxEntry(store, key)?.nextAt, queued]).toEqual([1000, 1])
      threads.hurry(peer)
      expect(queued).toBe(1)
      sendAgainAt(store, key, { at: 9000, ...ownReason('hub unreachable') })
      threads.hurry(peer)
      expect(outboxEntry(store, key)?.nextAt).toBe(9000)
    },
  )
})

describe('what the other side sent', () => {
  test('is held up to the first gap, and what lacks is named', () => {
    let interaction = holds(created(), 2)
    expect(interaction).toMatchObject({ heldTo: 0, heldHighest: 2 })
    expect(threads.missing(interaction)).toEqual([1])
    interaction = holds(interaction, 4)
    expect(threads.missing(interaction)).toEqual([1, 3])
    interaction = holds(interaction, 1)
    expect(interaction).toMatchObject({ heldTo: 2, heldHighest: 4 })
    expect(threads.missing(interaction)).toEqual([3])
    interaction = holds(interaction, 3)
    expect(interaction).toMatchObject({ heldTo: 4, heldHighest: 4 })
    expect(threads.missing(interaction)).toEqual([])
  })

  test('without a number moves nothing but the newest message', () => {
    const interaction = holds(created(), 0)
    expect(interaction).toMatchObject({ heldTo: 0, heldHighest: 0, lastIn: 1 })
  })

  test('is named as missing 1,024 times at most', () => {
    expect(threads.missing({ ...created(), heldTo: 0, heldHighest: 5000 })).toHaveLength(1024)
  })

  test('is read 100,000 messages at a time', () => {
    const { key } = created()
    store.run(
      `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest, text)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001)
       SELECT ?, 'in', 'a', 'b', CAST(i AS BLOB), 2, 0, 0, x'', x'', '' FROM n`,
      key,
    )
    expect(threads.messages(key)).toHaveLength(100_000)
  })

  test('is news where it is a word, and not where it is a step', () => {
    const { interaction } = threads.storeIncoming(created(), incoming(1), {
      digest: new Uint8Array(32),
      text: 't',
    })
    expect(interaction.lastIn).toBe(1)
    const step = { ...incoming(2), kind: kinds.end }
    const next = threads.storeIncoming(interaction, step, { digest: new Uint8Array(32), text: '' })
    expect(next.interaction).toMatchObject({ lastIn: 1, heldTo: 2 })
  })

  test('is read from a message on, and no number is found at 0', () => {
    let interaction = holds(created(), 1)
    interaction = holds(interaction, 2)
    const [first, second] = threads.messages(interaction.key)
    expect(threads.messages(interaction.key, first?.key).map(({ key }) => key)).toEqual([second?.key])
    expect(threads.messages(interaction.key, 0, 1)).toHaveLength(1)
    expect(threads.byNumber(interaction.key, 'in', 2)?.key).toBe(second?.key)
    expect(threads.byNumber(interaction.key, 'out', 2)).toBeUndefined()
    expect(threads.byNumber(interaction.key, 'in', 0)).toBeUndefined()
  })
})
