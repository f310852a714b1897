import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kinds } from '../../protocol/mail/payload.ts'
import { quoteOf } from '../store/quotes.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import type { DelegateRequest } from './delegation.ts'

const KIB = 1024
/** The largest text of a message, and the largest document of a task, in bytes. */
const TEXT_BYTES_MAX = 644 * KIB
const DOCUMENT_BYTES_MAX = 768 * KIB
/** What a stranger's envelope carries of files unless the recipient takes more. */
const STRANGER_FILES_MAX = 192 * KIB

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

/** A file of so many bytes that may be sent. */
function file(name: string, bytes: number): string {
  const folder = join(alice.ctx.dir, '..', `files-${alice.aid.slice(0, 8)}`)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  writeFileSync(path, name)
  truncateSync(path, bytes)
  return path
}
const delegate = (changes: Partial<DelegateRequest> = {}) =>
  alice.tasks.delegation.delegate({ to: bob.aid, task: 'count', ...changes })
const filesOf = (id: string) =>
  alice.messages(id).map(({ key }) => alice.ctx.threads.attachmentsOf(key).map(({ name }) => name))
const many = (bytes: number) => 'x'.repeat(bytes)

describe('a delegation', () => {
  test.each(['', ' \n'])('of nothing is refused, unless it brings a file: %j', task => {
    expect(() => delegate({ task })).toThrow(/^the task is empty: say what is to be done, or attach a file$/)
    expect(filesOf(delegate({ task, attach: [file('brief.txt', 10)] }))).toEqual([['brief.txt']])
    expect(() => delegate({ task: undefined, capability: 'text.count', args: {} })).not.toThrow()
  })

  test('is committed with its message, its evidence and its preview', () => {
    const id = delegate({ task: many(300) })
    expect(alice.thread(id)).toMatchObject({
      side: 'sent',
      state: 'queued',
      peer: bob.aid,
      preview: many(200),
    })
    expect(alice.messages(id)).toMatchObject([{ kind: kinds.delegate, number: 1, text: many(300) }])
    const [record] = alice.ctx.chain.read({ eventType: 'svc.delegation.sent' })
    expect(record?.['payload']).toMatchObject({ interaction_id: id, provider_aid: bob.aid })
  })

  test('of a capability names it and its arguments', () => {
    const id = delegate({ task: undefined, capability: 'words.count', args: { text: 'a b' } })
    expect(alice.thread(id)).toMatchObject({
      capability: 'words.count',
      preview: 'words.count {"text":"a b"}',
    })
  })

  test('finds contacts by petname, and nobody else by name', () => {
    expect(alice.thread(delegate({ to: 'bob' })).peer).toBe(bob.aid)
    expect(() => delegate({ to: 'carol' })).toThrow(expect.objectContaining({ code: 'unknown_peer' }))
    expect(() => delegate({ to: alice.aid })).toThrow(expect.objectContaining({ code: 'bad_request' }))
  })

  test('that no message takes is refused, and leaves nothing', () => {
    const head = Buffer.byteLength(JSON.stringify({ attachments: [], task: '' }))
    expect(() => delegate({ task: many(DOCUMENT_BYTES_MAX) })).toThrow(
      expect.objectContaining({
        code: 'too_large',
        message: 'the task is larger than the 768 KiB that one message takes',
      }),
    )
    expect(alice.ctx.store.all('SELECT 1 FROM interactions')).toEqual([])
    delegate({ task: many(DOCUMENT_BYTES_MAX - head - 16) })
  })
})

describe('an order to pay', () => {
  const order = (changes: object) => quoteOf(alice.ctx.store, alice.thread(delegate(changes)).key)

  test('is kept with the task, of a person unless an agent gave it, up to what it names', () => {
    expect(order({ pay: true })).toMatchObject({ state: 'awaited', orderedBy: 'person', creditsMax: null })
    expect(order({ pay: true, pay_as: 'agent', max_credits: 9 })).toMatchObject({
      orderedBy: 'agent',
      creditsMax: 9,
    })
  })

  test('is none unless it is given', () => {
    expect([order({}), order({ pay: false })]).toEqual([undefined, undefined])
  })
})

describe('an idempotency key', () => {
  test('commits the same content once, and refuses other content', () => {
    const first = delegate({ idempotency_key: 'k' })
    expect(delegate({ idempotency_key: 'k' })).toBe(first)
    expect(alice.messages(first)).toHaveLength(1)
    expect(() => delegate({ idempotency_key: 'k', task: 'other' })).toThrow(
      expect.objectContaining({ code: 'idempotency_conflict' }),
    )
    const text = { text: 'count', attach: [], key: 'k' }
    expect(() => alice.tasks.words.send(alice.thread(first), text)).toThrow(
      expect.objectContaining({ code: 'idempotency_conflict' }),
    )
  })

  test('gives a message the key of the one that was committed', () => {
    const id = delegate()
    const text = { text: 'more', attach: [], key: 'm' }
    const { key } = alice.tasks.words.send(alice.thread(id), text)
    expect(alice.tasks.words.send(alice.thread(id), text).key).toBe(key)
    expect(alice.tasks.words.send(alice.thread(id), { ...text, key: undefined }).key).toBeGreaterThan(key)
  })
})

describe('files', () => {
  test('that fit what a stranger may send go with the task', async () => {
    delegate()
    await alice.send()
    const attach = [file('a', STRANGER_FILES_MAX / 2), file('b', STRANGER_FILES_MAX / 2)]
    expect(filesOf(delegate({ attach }))).toEqual([['a', 'b']])
  })

  test('larger than that follow the task, one message each, until a capability is held', async () => {
    const attach = [file('a', 1), file('b', STRANGER_FILES_MAX)]
    expect(filesOf(delegate({ attach }))).toEqual([[], ['a'], ['b']])
    await world.settle()
    const id = delegate()
    await world.settle()
    bob.say(id, 'yes')
    await world.settle()
    expect(filesOf(delegate({ attach }))).toEqual([['a', 'b']])
    const said = alice.tasks.words.send(alice.thread(id), { text: 'and these', attach, key: undefined })
    expect(alice.ctx.threads.attachmentsOf(said.key)).toHaveLength(2)
  })
})

test('a message of nothing is refused', () => {
  const id = delegate()
  const send = (text: string, attach: string[]) =>
    alice.tasks.words.send(alice.thread(id), { text, attach, key: undefined })
  expect(() => send(' ', [])).toThrow(/^the message is empty: say something, or attach a file$/)
  send('', [file('more.txt', 10)])
  expect(filesOf(id)).toEqual([[], ['more.txt']])
})

test('a text that no message takes is refused', () => {
  const id = delegate()
  const send = (bytes: number) =>
    alice.tasks.words.send(alice.thread(id), { text: many(bytes), attach: [], key: undefined })
  send(TEXT_BYTES_MAX)
  expect(() => send(TEXT_BYTES_MAX + 1)).toThrow(
    expect.objectContaining({
      code: 'too_large',
      message: 'the text is larger than the 644 KiB that one message takes',
      next: 'send it as a file: --attach PATH',
    }),
  )
})
