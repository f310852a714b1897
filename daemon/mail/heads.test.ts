import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { encodePayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import { GENESIS } from '../../protocol/proof/evidence.ts'
import { CounterSignature, Receipt } from '../../protocol/proof/receipt.ts'
import { behindPeer, loseHeads, rememberContradicted } from '../chain/old-copy.ts'
import { warningsOf } from '../control/parts.ts'
import { noteHead } from '../peers/heads.ts'
import type { Verdict } from '../store/seen.ts'
import { arrivedFrom } from '../testing/arrived.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { receivingOf } from './open.ts'

/** The id of a record that stands in no chain. */
const OTHER = contentId(utf8('another'))

const TEN_MINUTES_MS = 600_000

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

/** A task that both have signed off: each holds a head of the other's chain. */
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('signed'))
})
afterEach(() => world[Symbol.asyncDispose]())

const returned = (node: TestNode) =>
  node.ctx.store.all('SELECT 1 FROM messages WHERE direction = ? AND kind = ?', 'out', kinds.heldHead).length
const taken = (node: TestNode) =>
  node.ctx.store.get('SELECT 1 FROM seen WHERE code = 0 LIMIT 1') !== undefined
const counter = () => CounterSignature.decode(bob.thread(id).counterSignature as Uint8Array)
const receipt = () => Receipt.decode(alice.thread(id).receipt as Uint8Array)
/** The directory as it was before these records. */
const putBack = (node: TestNode, to: number) => node.ctx.store.run('DELETE FROM chain WHERE seq >= ?', to)
const write = (from: TestNode, to: TestNode) => from.delegate(to, 'another task')

/** What `to` answers to a head that `from` gives it. */
function given(from: TestNode, to: TestNode, payload: Payload<11>, more: Partial<MessageBody> = {}): Verdict {
  const body: MessageBody = {
    v: 1,
    from: from.aid,
    to: to.aid,
    kelSeq: from.ctx.identity.log.seq,
    messageId: from.ctx.random(16),
    tsMs: world.clock.ms,
    kind: kinds.heldHead,
    number: 0,
    storedUpTo: 0,
    payload: encodePayload(kinds.heldHead, payload),
    kelHeadDigest: from.ctx.identity.log.headDigest,
    attachments: [],
    ...more,
  }
  return receivingOf(to.ctx).takeIn(arrivedFrom(from, to, body))
}

describe('a head of a peer', () => {
  test('goes back with a message that goes out anyway, once a day at most', async () => {
    write(bob, alice)
    await world.settle()
    expect(returned(bob)).toBe(0)
    world.pass(DAY_MS)
    write(bob, alice)
    write(bob, alice)
    await world.settle()
    expect(returned(bob)).toBe(1)
    expect(taken(alice)).toBe(true)
    expect(alice.ctx.hub.oldCopy).toBeUndefined()
    world.pass(DAY_MS - 1)
    write(bob, alice)
    await world.settle()
    expect(returned(bob)).toBe(1)
    world.pass(1)
    write(bob, alice)
    await world.settle()
    expect(returned(bob)).toBe(2)
  })

  test('goes back from the requester as the receipt that it came in', async () => {
    const second = write(alice, bob)
    await world.settle()
    await world.end({ alice, bob, id: second.id })
    world.pass(DAY_MS)
    putBack(bob, 0)
    write(alice, bob)
    await world.settle()
    expect(bob.ctx.hub.oldCopy).toMatch(/^alice holds this identity's signature under record 1 /)
  })

  test('goes back when a message comes, if the time is there', async () => {
    world.pass(DAY_MS)
    write(alice, bob)
    await world.settle()
    expect(returned(bob)).toBe(1)
  })

  test('goes back soon to a peer that uses a number again', async () => {
    const task = alice.delegate(bob, 'more')
    await world.settle()
    world.pass(TEN_MINUTES_MS)
    alice.say(task.id, 'one')
    await world.settle()
    expect(returned(bob)).toBe(0)
    alice.ctx.store.run('UPDATE interactions SET numbered = 1 WHERE id = ?', task.id)
    alice.ctx.store.run('UPDATE messages SET number = 9 WHERE number = 2 AND direction = ?', 'out')
    alice.say(task.id, 'two')
    await world.settle()
    expect(returned(bob)).toBe(1)
    world.pass(TEN_MINUTES_MS - 1)
    alice.ctx.store.run('UPDATE interactions SET numbered = 1 WHERE id = ?', task.id)
    alice.ctx.store.run('UPDATE messages SET number = 10 WHERE number = 2 AND direction = ?', 'out')
    alice.say(task.id, 'three')
    await world.settle()
    expect(returned(bob)).toBe(1)
  })

  test('is the longest that it signed; a shorter or another one is a reason to give it back', () => {
    const head = () =>
      bob.ctx.store.get<{ length: number; at: number }>(
        'SELECT head_length AS length, head_at AS at FROM peers WHERE aid = ?',
        alice.aid,
      )
    const { body } = counter()
    const note = (changes: Partial<typeof body>) =>
      noteHead(bob.ctx, {
        counterSignature: CounterSignature.sign(alice.ctx.identity.seed, { ...body, ...changes }),
      })
    const { chainLength: length } = body
    const learned = world.clock.ms
    world.pass(TEN_MINUTES_MS)
    note({ bodyHash: new Uint8Array(32) })
    expect(head()).toEqual({ length, at: learned })
    note({ chainLength: length - 1, chainHead: length === 1 ? GENESIS : OTHER })
    expect(head()).toEqual({ length, at: world.clock.ms - DAY_MS })
    note({ chainLength: length + 1, chainHead: OTHER })
    expect(head()).toEqual({ length: length + 1, at: world.clock.ms })
  })

  test('beside another of the same length is proof of a rewritten chain, kept once and told', () => {
    const { body } = counter()
    const note = (last: number) =>
      noteHead(bob.ctx, {
        counterSignature: CounterSignature.sign(alice.ctx.identity.seed, {
          ...body,
          chainHead: body.chainHead.with(35, last),
        }),
      })
    const records = () => bob.ctx.chain.read({ eventType: 'svc.peer.rewritten' })
    const warned = () =>
      warningsOf(bob.ctx)
        .list()
        .filter(warning => warning.includes('rewrote'))
    expect([records().length, warned().length]).toEqual([0, 0])
    note((body.chainHead[35] as number) ^ 1)
    note((body.chainHead[35] as number) ^ 2)
    expect(records()).toMatchObject([{ payload: { peer_aid: alice.aid, length: body.chainLength } }])
    expect(warned()).toHaveLength(1)
  })

  test('does not go to a blocked agent, nor from a node that signs nothing', async () => {
    world.pass(DAY_MS)
    bob.ctx.hub.oldCopy = 'an older copy'
    write(bob, alice)
    await world.settle()
    bob.ctx.hub.oldCopy = undefined
    bob.ctx.contacts.block('alice', true)
    write(bob, alice)
    await world.settle()
    expect(returned(bob)).toBe(0)
  })
})

describe('a head of ours that comes back', () => {
  const length = () => counter().body.chainLength

  test('beyond the end of our chain stops the node, with the name of the contact', () => {
    putBack(alice, length() - 1)
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    expect(alice.ctx.hub.oldCopy).toMatch(
      /^bob holds this identity's signature under record 1 of its evidence chain and this directory ends at record 0: it is an old copy; .* svc evidence accept$/,
    )
    expect(alice.hub.stopped).toBe(alice.ctx.hub.oldCopy)
  })

  test('under a key that is retired stops nothing: whoever has that key could have signed it since', () => {
    const held = { counterSignature: counter() }
    putBack(alice, length() - 1)
    alice.ctx.identity.rotate(alice.hub.identity.aid, world.clock.ms + 1)
    expect(given(bob, alice, held)).toBe('stored')
    expect(alice.ctx.hub.oldCopy).toBeUndefined()
  })

  test('leaves what this machine has seen of the newer copy as it was', async () => {
    putBack(alice, 0)
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    const file = join(alice.ctx.dir, 'run', 'heads', `${alice.aid}.json`)
    const before = readFileSync(file, 'utf8')
    alice.within(() => alice.ctx.chain.append('svc.test', {}))
    await alice.close()
    expect(readFileSync(file, 'utf8')).toBe(before)
  })

  test('with another record in its place stops it too, and stays said after a restart', () => {
    putBack(alice, length() - 1)
    for (let n = 0; n < 3; n++) alice.within(() => alice.ctx.chain.append('svc.test', { n }))
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    expect(alice.ctx.hub.oldCopy).toMatch(/ holds another record there: /)
    const { chain, store } = alice.ctx
    expect(behindPeer(chain, store, () => 'bob')).toBe(alice.ctx.hub.oldCopy)
  })

  test('that our chain reaches changes nothing, and is forgotten once the chain is completed', () => {
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    expect(alice.ctx.hub.oldCopy).toBeUndefined()
    const { chain, store } = alice.ctx
    rememberContradicted(store, bob.aid, { length: length(), id: counter().body.chainHead })
    expect(behindPeer(chain, store, () => 'bob')).toBeUndefined()
    store.run('DELETE FROM chain WHERE seq >= ?', length() - 1)
    expect(behindPeer(chain, store, () => 'bob')).toBeUndefined()
  })

  test('is believed of contacts only, and taken of nobody without an open task', () => {
    putBack(alice, length() - 1)
    alice.ctx.contacts.remove('bob')
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    expect(alice.ctx.hub.oldCopy).toBeUndefined()
    alice.ctx.store.run("UPDATE interactions SET state = 'declined'")
    expect(given(bob, alice, { counterSignature: counter() })).toBe('malformed')
    alice.ctx.contacts.add(bob.aid, 'bob')
    alice.ctx.contacts.block('bob', true)
    expect(given(bob, alice, { counterSignature: counter() })).toBe('refusedByPolicy')
    expect(alice.ctx.hub.oldCopy).toBeUndefined()
  })

  test('counts only where we signed it, and brings no files', () => {
    const { body } = counter()
    const forged = CounterSignature.sign(bob.ctx.identity.seed, { ...body, chainLength: 900 })
    expect(given(bob, alice, { counterSignature: forged })).toBe('malformed')
    expect(given(bob, alice, { receipt: receipt() })).toBe('malformed')
    putBack(alice, length() - 1)
    const attachments = [{ name: 'a', mediaType: 'text/plain', size: 1, cid: new Uint8Array(36) }]
    expect(given(bob, alice, { counterSignature: counter() }, { attachments })).toBe('malformed')
    expect(alice.ctx.hub.oldCopy).toBeUndefined()
  })

  test('of a copy that the owner gave up counts no more, until the key is another', () => {
    putBack(alice, length() - 1)
    const { store, identity, hub } = alice.ctx
    loseHeads(store, length() - 1, identity.log.seq)
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    expect(hub.oldCopy).toBeUndefined()
    loseHeads(store, length() + 5, identity.log.seq)
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    expect(hub.oldCopy).toBeUndefined()
    identity.rotate(alice.hub.identity.aid, world.clock.ms + 1)
    const later = CounterSignature.sign(identity.seed, { ...counter().body, kelSeq: identity.log.seq })
    expect(given(bob, alice, { counterSignature: later })).toBe('stored')
    expect(hub.oldCopy).toMatch(/^bob holds /)
  })

  test('says nothing new to a chain that is quarantined', () => {
    putBack(alice, length() - 1)
    alice.within(() => alice.ctx.chain.append('svc.chain.fork', {}))
    expect(given(bob, alice, { counterSignature: counter() })).toBe('stored')
    expect(alice.ctx.hub.oldCopy).toBeUndefined()
  })
})
