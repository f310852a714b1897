import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { RetiredWords } from './retired.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation())
  bob.heard.length = 0
})
afterEach(() => world[Symbol.asyncDispose]())

const words = (text: string) =>
  encodePayload(kinds.message, { document: documentBytes({ text, attachments: [] }) })
/** Words of alice's in the task, under a key that she has retired. */
const said = (changes: Partial<MessageBody> = {}): MessageBody => ({
  v: 1,
  from: alice.aid,
  to: bob.aid,
  kelSeq: 0,
  messageId: alice.ctx.random(16),
  tsMs: world.clock.ms,
  kind: kinds.message,
  number: 7,
  storedUpTo: 0,
  payload: words('too late'),
  kelHeadDigest: new Uint8Array(32),
  attachments: [],
  interactionId: fromBase64url(id),
  ...changes,
})
const keep = (body: MessageBody) => new RetiredWords(bob.ctx, bob.ctx.now).keep(body, messageDigest(body))
const kept = () => bob.ctx.store.all('SELECT text, number, kind FROM messages WHERE retired = 1 ORDER BY key')

describe('a message under a retired key', () => {
  test('is shown in its task without a number, and changes nothing there', () => {
    const before = bob.thread(id)
    keep(said())
    expect(kept()).toEqual([{ text: 'too late', number: 0, kind: kinds.message }])
    expect(bob.thread(id)).toEqual(before)
    expect(bob.heard).toEqual([{ type: 'message', data: { interaction_id: id, kind: kinds.message } }])
  })

  test('is kept once however often it comes', () => {
    const body = said()
    for (let n = 0; n < 3; n++) keep(body)
    expect(kept()).toHaveLength(1)
  })

  test('is one of twenty at most, so that a stolen key fills no disk', () => {
    for (let n = 0; n < 22; n++) keep(said())
    expect(kept()).toHaveLength(20)
  })

  test.each([
    ['stands in no task', () => ({ interactionId: undefined, kind: kinds.capabilities, number: 0 })],
    ['stands in a task that is not here', () => ({ interactionId: new Uint8Array(16) })],
    ['is of somebody who has no part in the task', () => ({ from: bob.aid })],
    ['cannot be read', () => ({ payload: new Uint8Array([1]) })],
    [
      'says words that are none',
      () => ({ payload: encodePayload(kinds.message, { document: new Uint8Array([1]) }) }),
    ],
    [
      'would be a task of its own',
      () => ({
        kind: kinds.delegate,
        number: 1,
        payload: encodePayload(kinds.delegate, {
          document: documentBytes({ task: 'x', attachments: [] }),
          requesterCommitment: new Uint8Array(32),
        }),
      }),
    ],
  ] as [string, () => Partial<MessageBody>][])('is not shown where it %s', (_, changes) => {
    const body = { ...said(), ...changes() }
    if (body.interactionId === undefined) delete body.interactionId
    keep(body)
    expect(kept()).toEqual([])
    expect(bob.heard).toEqual([])
  })

  test('is not shown of an agent that is blocked', () => {
    bob.ctx.contacts.block(alice.aid, true)
    keep(said())
    expect(kept()).toEqual([])
  })
})
