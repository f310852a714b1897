import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { Capability } from '../../protocol/mail/capability.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { encodePayload, type Kind, kinds, type Payload } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import type { Arrived } from '../carrier/carrier.ts'
import { markRead } from '../control/listing.ts'
import { taskReading, warningsOf } from '../control/parts.ts'
import { counted } from '../store/counters.ts'
import type { Interaction } from '../store/threads.ts'
import { goOnFrom, turnOf } from '../store/turns.ts'
import { say } from '../tasks/conversation.ts'
import { textMessage } from '../tasks/messages.ts'
import { STRANGERS_REFUSED } from '../tasks/policies.ts'
import { arrivedFrom } from '../testing/arrived.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { hasClaim } from './claims.ts'
import { receivingOf } from './open.ts'
import { earlierVerdict } from './receive.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let drawn = 0

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

const bytes = (length: number) => new Uint8Array(length).fill(++drawn)
const words = (text: string) => documentBytes({ text, attachments: [] })
const task = (text: string) => documentBytes({ task: text, attachments: [] })

/** What bob has opened of a message that alice signed. */
function received<K extends Kind>(kind: K, payload: Payload<K>, changes: Partial<MessageBody> = {}): Arrived {
  const body: MessageBody = {
    v: 1,
    from: alice.aid,
    to: bob.aid,
    kelSeq: alice.ctx.identity.log.seq,
    messageId: bytes(16),
    tsMs: world.clock.ms,
    kind,
    number: 1,
    storedUpTo: 0,
    payload: encodePayload(kind, payload),
    kelHeadDigest: alice.ctx.identity.log.headDigest,
    attachments: [],
    ...(kind === kinds.capabilities ? { number: 0 } : { interactionId: new Uint8Array(16).fill(7) }),
    ...changes,
  }
  return arrivedFrom(alice, bob, body)
}
const delegation = (text = 'a task', changes: Partial<MessageBody> = {}) =>
  received(kinds.delegate, { document: task(text), requesterCommitment: new Uint8Array(32) }, changes)
const take = (given: Arrived) => receivingOf(bob.ctx).takeIn(given)
const only = (): Interaction => {
  const [row] = bob.ctx.store.all<{ key: number }>('SELECT key FROM interactions')
  if (row === undefined) throw new Error('no interaction')
  return bob.ctx.threads.byKey(row.key)
}
const set = (changes: Partial<Interaction>) => bob.within(() => bob.ctx.threads.update(only(), changes))

describe('a task', () => {
  test('of a contact is open, with its text, its wire and an event', () => {
    expect(take(delegation('count'))).toBe('stored')
    expect(only()).toMatchObject({
      state: 'open',
      side: 'received',
      preview: 'count',
      way: 'sealed',
      heldTo: 1,
    })
    expect(bob.heard.at(-1)).toMatchObject({ type: 'inbox', data: { peer: alice.aid, state: 'open' } })
  })

  test('of a stranger waits for approval, up to its limit, and no more words than that', () => {
    bob.ctx.contacts.remove('alice')
    bob.ctx.settings.change({ guest_messages: 2 })
    expect(take(delegation())).toBe('stored')
    expect(only().state).toBe('pending')
    const second = received(kinds.message, { document: words('more') }, { number: 2 })
    expect(take(second)).toBe('stored')
    const third = received(kinds.message, { document: words('more') }, { number: 3 })
    expect(take(third)).toBe('refusedByPolicy')
    const another = delegation('another', { interactionId: bytes(16) })
    expect(take(another)).toBe('refusedByPolicy')
    const withdrawn = received(kinds.cancelled, { reason: 'enough' }, { number: 3 })
    expect(take(withdrawn)).toBe('stored')
    expect(only()).toMatchObject({ state: 'cancelled', reason: 'enough' })
  })

  describe('of strangers', () => {
    const MIB = 1024 * 1024
    const file = (size: number) => ({ name: 'f', mediaType: 'text/plain', size, cid: contentId(bytes(8)) })
    /** A task of some stranger that names a file of this size. */
    const loaded = (from: string, size: number) => {
      const attached = file(size)
      const named = [{ name: attached.name, cid: cidText(attached.cid) }]
      const document = documentBytes({ task: 'look', attachments: named })
      return received(
        kinds.delegate,
        { document, requesterCommitment: new Uint8Array(32) },
        { from, interactionId: bytes(16), attachments: [attached] },
      )
    }
    const stranger = (n: number) => `AQ${String(n).padStart(42, 'A')}`
    beforeEach(() => void bob.ctx.contacts.remove('alice'))

    test('brings so many bytes and no more, those of one and those of all of them; a contact as many as it likes', () => {
      expect(take(loaded(alice.aid, 9 * MIB))).toBe('refusedByPolicy')
      expect(take(loaded(alice.aid, 5 * MIB))).toBe('stored')
      expect(take(loaded(alice.aid, 5 * MIB))).toBe('refusedByPolicy')
      for (let n = 0; n < 31; n++) expect(take(loaded(stranger(n), 8 * MIB - 1000))).toBe('stored')
      expect(take(loaded(stranger(31), 8 * MIB - 1000))).toBe('refusedByPolicy')
      expect(take(loaded(stranger(32), 1000))).toBe('stored')
      bob.ctx.contacts.add(alice.aid, 'alice')
      expect(take(loaded(alice.aid, 50 * MIB))).toBe('stored')
    })

    test('takes further words and files while it waits within the same bounds', () => {
      take(delegation())
      const more = (number: number, size: number) => {
        const brought = file(size)
        const named = [{ name: brought.name, cid: cidText(brought.cid) }]
        const document = documentBytes({ text: 'more', attachments: named })
        return take(received(kinds.message, { document }, { number, attachments: [brought] }))
      }
      expect(more(2, 9 * MIB)).toBe('refusedByPolicy')
      expect(more(2, MIB)).toBe('stored')
      set({ state: 'open' })
      expect(more(3, 9 * MIB)).toBe('stored')
    })

    test('that is a call takes no more words than one that waits, and its end', () => {
      bob.ctx.settings.change({ guest_messages: 2 })
      const document = documentBytes({ capability: 'text.count', args: {} })
      take(received(kinds.delegate, { document, requesterCommitment: new Uint8Array(32) }))
      const say = (number: number) => take(received(kinds.message, { document: words('w') }, { number }))
      expect([say(2), say(3)]).toEqual(['stored', 'refusedByPolicy'])
      const { ownLast } = only()
      const answer = { endNumber: ownLast as number, number: 3, peerHighest: 2, missing: [] }
      expect(take(received(kinds.acceptEnd, answer, { number: 3 }))).toBe('stored')
    })

    test('that is withdrawn while it waits keeps no file; one that was taken keeps them', () => {
      const files = () => bob.ctx.store.all('SELECT 1 FROM message_attachments').length
      const first = loaded(alice.aid, MIB)
      const withdraw = (task: Arrived) =>
        take(
          received(
            kinds.cancelled,
            { reason: '' },
            { number: 2, interactionId: task.body.interactionId as Uint8Array },
          ),
        )
      take(first)
      expect(files()).toBe(1)
      expect([withdraw(first), files()]).toEqual(['stored', 0])
      const second = loaded(alice.aid, MIB)
      take(second)
      bob.ctx.store.run("UPDATE interactions SET state = 'open' WHERE state = 'pending'")
      expect([withdraw(second), files()]).toEqual(['stored', 1])
    })

    test('that has ended or was withdrawn leaves its place to the next one', () => {
      bob.ctx.settings.change({ guest_messages: 1 })
      expect(take(delegation())).toBe('stored')
      const next = () => take(delegation('next', { interactionId: bytes(16) }))
      expect(next()).toBe('refusedByPolicy')
      for (const state of ['cancelled', 'ended', 'declined'] as const) {
        bob.ctx.store.run("UPDATE interactions SET state = ? WHERE state = 'pending'", state)
        expect([state, next()]).toEqual([state, 'stored'])
      }
    })

    test('that is withdrawn counts for a day all the same', () => {
      bob.ctx.settings.change({ guest_messages: 1 })
      const refused = () => counted(bob.ctx.store, STRANGERS_REFUSED)
      const withdrawn = () => {
        const interactionId = bytes(16)
        const code = take(delegation('again', { interactionId }))
        take(received(kinds.cancelled, { reason: '' }, { number: 2, interactionId }))
        return code
      }
      for (let n = 0; n < 10; n++) expect(withdrawn()).toBe('stored')
      expect([refused(), withdrawn(), refused()]).toEqual([0, 'refusedByPolicy', 1])
      world.pass(DAY_MS + 1)
      expect(withdrawn()).toBe('stored')
    })
  })

  test('is judged before anything of it is stored, and the same again then', () => {
    const given = delegation()
    expect(receivingOf(bob.ctx).foresee(given)).toBe('stored')
    expect(bob.ctx.store.all('SELECT key FROM interactions')).toEqual([])
    expect(bob.heard.filter(event => event.type === 'inbox')).toEqual([])
    expect(take(given)).toBe('stored')
  })

  test('of somebody blocked, or while none are accepted, is refused', () => {
    bob.ctx.settings.change({ accept_delegations: false })
    expect(take(delegation())).toBe('refusedByPolicy')
    bob.ctx.settings.change({ accept_delegations: true })
    bob.ctx.contacts.block(alice.aid, true)
    expect(take(delegation())).toBe('refusedByPolicy')
  })

  test('under an id that any interaction has is malformed', () => {
    const own = bob.delegate(alice)
    const given = delegation('x', { interactionId: fromBase64url(own.id) })
    expect(take(given)).toBe('malformed')
    expect(counted(bob.ctx.store, 'foreign')).toBe(1)
  })

  test('whose document is none, or lacks a file that it brings, is malformed', () => {
    const broken = received(kinds.delegate, {
      document: new TextEncoder().encode('{}'),
      requesterCommitment: new Uint8Array(32),
    })
    expect(take(broken)).toBe('malformed')
    const file = { name: 'f', mediaType: 'text/plain', size: 1, cid: bob.ctx.chain.position[1] }
    const cid = new Uint8Array([1, 0x55, 0x12, 0x20, ...file.cid])
    expect(take(delegation('x', { attachments: [{ ...file, cid }] }))).toBe('malformed')
  })

  test.each([
    ['under the name and cid that its document names', { name: 'f' }, 0, 'stored'],
    ['under another name', { name: 'g' }, 0, 'malformed'],
    ['of another content', { name: 'f' }, 1, 'malformed'],
  ] as const)('brings a file %s', (_, changes, other, code) => {
    const cid = contentId(new Uint8Array([0]))
    const document = documentBytes({ task: 'look', attachments: [{ name: 'f', cid: cidText(cid) }] })
    const brought = { mediaType: 'text/plain', size: 1, cid: contentId(new Uint8Array([other])), ...changes }
    const payload = { document, requesterCommitment: new Uint8Array(32) }
    expect(take(received(kinds.delegate, payload, { attachments: [brought] }))).toBe(code)
    if (code !== 'stored') return
    const said = documentBytes({ text: 'here', attachments: [{ name: 'f', cid: cidText(cid) }] })
    const at = (number: number, name: string) =>
      take(received(kinds.message, { document: said }, { number, attachments: [{ ...brought, name }] }))
    expect([at(2, 'g'), at(3, 'f')]).toEqual(['malformed', 'stored'])
  })

  test.each(['ignore all that was said', 'a,b', '', 'x'.repeat(65), 'caf\u00e9', 'a\u001b[31m'])(
    'that calls %j is malformed: no id of a capability is written so',
    capability => {
      const document = documentBytes({ capability, args: {} })
      const call = received(kinds.delegate, { document, requesterCommitment: new Uint8Array(32) })
      expect(take(call)).toBe('malformed')
    },
  )

  test('that is a call of a capability which nobody serves is answered and its end proposed', () => {
    const call = received(kinds.delegate, {
      document: documentBytes({ capability: 'text.count', args: {} }),
      requesterCommitment: new Uint8Array(32),
    })
    expect(take(call)).toBe('stored')
    expect(only()).toMatchObject({ state: 'end_proposed', endBy: 'me', capability: 'text.count' })
    const [, result] = bob.messages(only().id)
    expect(result?.text).toBe('UNAVAILABLE: this node does not serve text.count')
    const file = { name: 'f', mediaType: 'text/plain', size: 1, cid: new Uint8Array(36) }
    const loaded = { ...call.body, messageId: bytes(16), interactionId: bytes(16), attachments: [file] }
    expect(take({ ...call, body: loaded })).toBe('malformed')
  })
})

describe('a call', () => {
  test('waits for an answer in words where auto-reply is configured', () => {
    bob.ctx.settings.change({ auto_reply: { backend: 'exec', command: 'cat' } })
    const document = documentBytes({ capability: 'text.count', args: {} })
    expect(take(received(kinds.delegate, { document, requesterCommitment: bytes(32) }))).toBe('stored')
    expect(only()).toMatchObject({ state: 'open', endBy: null, capability: 'text.count' })
    expect(bob.messages(only().id)).toHaveLength(1)
  })
})

describe('a message that comes again', () => {
  test('gets the answer that it had, and changes nothing', () => {
    const given = delegation()
    take(given)
    expect(take(given)).toBe('stored')
    expect(bob.messages(only().id)).toHaveLength(1)
    const other = received(kinds.message, { document: words('y') }, { messageId: given.body.messageId })
    expect(take(other)).toBe('malformed')
  })

  test('is remembered with a refusal too, until a day and two hours after its end', () => {
    bob.ctx.contacts.block(alice.aid, true)
    const given = delegation()
    take(given)
    bob.ctx.contacts.block(alice.aid, false)
    expect(earlierVerdict(bob.ctx.store, given.body, given.digest)).toBe('refusedByPolicy')
    expect(take(given)).toBe('refusedByPolicy')
    const { until } = bob.ctx.store.get<{ until: number }>('SELECT until FROM seen') ?? { until: 0 }
    expect(until).toBe(given.untilMs + 26 * 3_600_000)
  })
})

describe('a numbered message', () => {
  beforeEach(() => take(delegation()))

  test('moves the marks of what is held, over a gap once it is filled', () => {
    const at = (number: number) => take(received(kinds.message, { document: words('w') }, { number }))
    expect(at(3)).toBe('stored')
    expect(only()).toMatchObject({ heldTo: 1, heldHighest: 3 })
    expect(bob.ctx.threads.missing(only())).toEqual([2])
    expect(at(2)).toBe('stored')
    expect(only()).toMatchObject({ heldTo: 3, heldHighest: 3 })
    expect(at(3)).toBe('malformed')
  })

  test('of nobody else, and none of an interaction that is not here', () => {
    const unknown = { number: 2, interactionId: bytes(16) }
    expect(take(received(kinds.message, { document: words('w') }, unknown))).toBe('malformed')
    set({ peer: bob.aid })
    expect(take(received(kinds.message, { document: words('w') }, { number: 2 }))).toBe('malformed')
  })

  test.each([
    ['a result', kinds.result, { document: words('r') }],
    ['a refusal of the task', kinds.declined, { reason: '' }],
  ] as const)('of a requester is never %s', (_, kind, payload) => {
    expect(take(received(kind, payload as never, { number: 2 }))).toBe('malformed')
    expect(only().state).toBe('open')
  })

  test('whose document is none is malformed and counted', () => {
    const given = received(kinds.message, { document: new Uint8Array([1]) }, { number: 2 })
    expect(take(given)).toBe('malformed')
    expect(counted(bob.ctx.store, 'foreign')).toBe(1)
  })

  test.each(['declined', 'cancelled', 'failed'] as const)('of what is over (%s) has come too late', state => {
    set({ state })
    const given = received(kinds.message, { document: words('w') }, { number: 2 })
    expect(take(given)).toBe('ended')
  })

  test('behind the last one of its side has come too late; one before it is still taken', () => {
    set({ peerLast: 3, state: 'end_proposed', endBy: 'peer' })
    const at = (number: number) => take(received(kinds.message, { document: words('w') }, { number }))
    expect(at(4)).toBe('ended')
    expect(at(2)).toBe('stored')
    set({ ownLast: 1 })
    expect(at(3)).toBe('ended')
  })

  test('that its interaction does not allow now leaves nothing', () => {
    const answer = { endNumber: 1, number: 2, peerHighest: 0, missing: [] }
    expect(take(received(kinds.acceptEnd, answer, { number: 2 }))).toBe('malformed')
    expect(only()).toMatchObject({ heldTo: 1, heldHighest: 1, state: 'open' })
    expect(bob.messages(only().id)).toHaveLength(1)
  })

  test.each([kinds.message, kinds.cancelled])(
    'of kind %i numbered 0 changes nothing, whatever it says',
    kind => {
      const payload = kind === kinds.message ? { document: words('hidden') } : { reason: 'hidden' }
      const held = bob.messages(only().id).length
      expect(take(received(kind, payload as never, { number: 0 }))).toBe('malformed')
      expect(only().state).toBe('open')
      expect(bob.messages(only().id)).toHaveLength(held)
    },
  )

  test('that comes after later ones is seen in the place of its number, with the gap named until then', () => {
    const say = (number: number) =>
      take(received(kinds.message, { document: words(`w${number}`) }, { number }))
    for (const number of [2, 5, 4, 6]) say(number)
    const seen = () => taskReading(bob.ctx).views.thread(only(), { fromTurn: 1, maxChars: undefined }).turns
    expect(
      seen()
        .map(({ text, missing_before: gap }) => [text, gap])
        .slice(1),
    ).toEqual([
      ['w2', undefined],
      ['w4', 1],
      ['w5', undefined],
      ['w6', undefined],
    ])
    markRead(bob.ctx.store, only())
    say(3)
    expect(
      seen()
        .map(({ text, missing_before: gap }) => [text, gap])
        .slice(1),
    ).toEqual(['w2', 'w3', 'w4', 'w5', 'w6'].map(text => [text, undefined]))
    const late = bob.messages(only().id).find(({ text }) => text === 'w3')
    expect(late && turnOf(bob.ctx.store, late)).toBe(3)
    // whoever read up to the sixth turn is shown what came late
    expect(goOnFrom(bob.ctx.store, only(), 6)).toBe(3)
    markRead(bob.ctx.store, only())
    expect(goOnFrom(bob.ctx.store, only(), 6)).toBe(6)
    expect(bob.messages(only().id).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('proves that the sender holds our numbers up to the one it names, and no more', () => {
    const first = bob.within(() => say(bob.tasks.answers, only(), textMessage('one', []))).message.key
    const second = bob.within(() => say(bob.tasks.answers, only(), textMessage('two', []))).message.key
    take(received(kinds.message, { document: words('w') }, { number: 2, storedUpTo: 1 }))
    const stands = (key: number) => bob.ctx.threads.message(key).delivery
    expect([stands(first), stands(second)]).toEqual(['delivered', 'queued'])
    expect(hasClaim(bob.ctx.store, alice.aid)).toBe(false)
    take(received(kinds.message, { document: words('w') }, { number: 3, storedUpTo: 3 }))
    // more than was ever sent from here: another message may stand under that number
    expect(stands(second)).toBe('queued')
    expect(hasClaim(bob.ctx.store, alice.aid)).toBe(true)
  })

  test('that proposes the end proves that the sender holds what it does not name as missing', () => {
    const keys = ['one', 'two', 'three'].map(
      text => bob.within(() => say(bob.tasks.answers, only(), textMessage(text, []))).message.key,
    )
    bob.within(() => keys.map(key => bob.ctx.threads.setDelivery(key, 'failed', 'refused by the hub')))
    take(received(kinds.end, { number: 2, peerHighest: 2, missing: [1] }, { number: 2 }))
    const stands = keys.map(key => bob.ctx.threads.message(key).delivery)
    expect(stands).toEqual(['failed', 'delivered', 'failed'])
  })

  test('that proposes the end with just as many numbers as were sent claims nothing', () => {
    const { key } = bob.within(() => say(bob.tasks.answers, only(), textMessage('one', []))).message
    take(received(kinds.end, { number: 2, peerHighest: only().numbered, missing: [] }, { number: 2 }))
    expect(bob.ctx.threads.message(key).delivery).toBe('delivered')
    expect(hasClaim(bob.ctx.store, alice.aid)).toBe(false)
  })

  test.each([
    ['a list that may go on', { peerHighest: 1026, missing: 1024 }, 'failed'],
    ['a list that ends', { peerHighest: 1025, missing: 1023 }, 'delivered'],
    ['more than was sent', { peerHighest: 1027, missing: 1 }, 'failed'],
  ] as const)('that proposes the end with %s proves no more than that', (_, said, stands) => {
    const key = bob.within(() => say(bob.tasks.answers, only(), textMessage('one', []))).message.key
    bob.within(() => bob.ctx.threads.setDelivery(key, 'failed', 'refused by the hub'))
    set({ numbered: 1026 })
    const missing = Array.from({ length: said.missing }, (_, n) => n + 2)
    take(received(kinds.end, { number: 2, peerHighest: said.peerHighest, missing }, { number: 2 }))
    expect(bob.ctx.threads.message(key).delivery).toBe(stands)
  })

  test('of a stranger that claims more than was sent is not believed, and a contact is named', () => {
    const claim = (number: number) =>
      take(received(kinds.message, { document: words('w') }, { number, storedUpTo: 9 }))
    const advised = () =>
      warningsOf(bob.ctx)
        .list()
        .filter(one => one.includes('restore a newer one'))
    bob.ctx.contacts.remove('alice')
    claim(2)
    expect(advised()).toEqual([])
    bob.ctx.contacts.add(alice.aid, 'alice')
    claim(3)
    expect(advised()).toEqual([expect.stringMatching(/^alice says that it holds messages/)])
  })

  test.each([
    [
      'the end of a task with more numbers than were sent',
      kinds.end,
      { number: 2, peerHighest: 9, missing: [] },
      {},
    ],
    [
      'the result of a task that was not delegated here',
      kinds.result,
      { document: words('r') },
      { interactionId: bytes(16) },
    ],
  ] as const)('of a contact that is %s is named to the owner', (_, kind, payload, changes) => {
    const advised = () =>
      warningsOf(bob.ctx)
        .list()
        .filter(one => one.includes('restore a newer one'))
    expect(advised()).toEqual([])
    take(received(kind, payload as never, { number: 2, ...changes }))
    expect(advised()).toEqual([expect.stringMatching(/^alice says that it holds messages/)])
  })

  describe('that a contact claimed what is not here', () => {
    const advised = () =>
      warningsOf(bob.ctx)
        .list()
        .filter(one => one.includes('restore a newer one'))
    const says = (number: number, storedUpTo: number) =>
      take(received(kinds.message, { document: words('w') }, { number, storedUpTo }))

    test('is no longer said once its messages agree, and is said again', () => {
      says(2, 9)
      expect(advised()).toEqual([expect.stringContaining('which may be untrue')])
      says(3, 0)
      expect(advised()).toEqual([])
      says(4, 9)
      expect(advised()).toHaveLength(1)
    })

    test('is no longer said once the task is over', () => {
      says(2, 9)
      expect(advised()).toHaveLength(1)
      set({ state: 'ended' })
      expect(advised()).toEqual([])
    })

    test('of a task that is not here is said until its next message', () => {
      take(received(kinds.result, { document: words('r') }, { number: 2, interactionId: bytes(16) }))
      expect(advised()).toHaveLength(1)
      says(2, 0)
      expect(advised()).toEqual([])
    })

    test('in one task is said whatever it says in another', () => {
      const claimed = only()
      says(2, 9)
      const interactionId = bytes(16)
      take(delegation('another', { interactionId }))
      take(received(kinds.message, { document: words('w') }, { number: 2, interactionId }))
      expect(bob.ctx.threads.byKey(claimed.key).state).toBe('open')
      expect(advised()).toHaveLength(1)
    })
  })

  test('an end that is proposed twice crossing gives way to the requester', () => {
    bob.within(() => bob.tasks.endings.propose(only()))
    const end = { number: 2, peerHighest: 0, missing: [] }
    expect(take(received(kinds.end, end, { number: 2 }))).toBe('stored')
    expect(only()).toMatchObject({ state: 'ended', endBy: 'peer', peerLast: 2 })
  })
})

describe('a message of capabilities alone', () => {
  const loose = () => received(kinds.capabilities, {})

  test('is taken of a contact, and of the other party of an interaction', () => {
    expect(take(loose())).toBe('stored')
    take(delegation())
    bob.ctx.contacts.remove('alice')
    expect(take(loose())).toBe('stored')
    set({ state: 'declined' })
    expect(take(loose())).toBe('malformed')
  })

  test('that brings files is malformed: nothing would name them', () => {
    const attachments = [{ name: 'f', mediaType: 'text/plain', size: 1, cid: contentId(bytes(8)) }]
    expect(take(received(kinds.capabilities, {}, { attachments }))).toBe('malformed')
  })

  test('of a stranger is malformed', () => {
    bob.ctx.contacts.remove('alice')
    expect(take(loose())).toBe('malformed')
    expect(bob.ctx.peers.find(alice.aid)).toBeUndefined()
  })

  test('brings only capabilities of the mailbox of its sender, under its key, with the seed that fits', () => {
    const set = alice.ctx.keys.set
    const [one, two, three] = alice.ctx.capabilities.topUp(bob.aid)
    if (one === undefined || two === undefined || three === undefined) throw new Error('none granted')
    const { capability } = two
    const signature = capability.signature.with(0, (capability.signature[0] as number) ^ 1)
    const { body } = capability
    const finer = Capability.sign(alice.ctx.keys.mailboxSeed, { ...body, expMs: body.expMs + 1000 })
    const granted = [
      { ...two, capability: finer },
      { ...one, holderSeed: two.holderSeed },
      { ...two, capability: { ...capability, signature } },
      ...bob.ctx.capabilities.topUp(alice.aid),
      three,
    ]
    take({ ...received(kinds.capabilities, {}, { capabilities: granted }), keySet: set })
    const held = bob.ctx.store.all<{ id: Uint8Array }>('SELECT id FROM capabilities_held')
    expect(held.map(({ id }) => Buffer.from(id))).toEqual([Buffer.from(three.capability.body.id)])
  })

  test('whose key set is over brings none of it, and stops no mail', () => {
    const set = alice.ctx.keys.set
    world.pass(100 * DAY_MS)
    take({ ...received(kinds.capabilities, {}), keySet: set })
    expect(bob.ctx.peers.find(alice.aid)?.keys).toBeUndefined()
  })

  test('whose key set is dated more than five minutes ahead brings none of it, as no hub takes one', () => {
    const set = alice.ctx.keys.set
    expect(set).toBeDefined()
    bob.ctx.store.run('UPDATE peers SET keys = NULL')
    world.clock.ms = (set?.body.ts ?? 0) - 5 * 60_000 - 1
    take({ ...received(kinds.capabilities, {}), keySet: set })
    expect(bob.ctx.peers.find(alice.aid)?.keys).toBeUndefined()
    world.clock.ms += 1
    take({ ...received(kinds.capabilities, {}), keySet: set })
    expect(bob.ctx.peers.find(alice.aid)?.keys).toBeDefined()
  })

  test('brings log, key set and a stock that wakes what waits for it', () => {
    const granted = alice.ctx.capabilities.topUp(bob.aid)
    const set = alice.ctx.keys.set
    const given = received(kinds.capabilities, {}, { capabilities: granted })
    expect(take({ ...given, keySet: set })).toBe('stored')
    expect(bob.ctx.peers.find(alice.aid)?.keys).toBeDefined()
    expect(bob.ctx.capabilities.holdsAny(alice.aid)).toBe(true)
  })
})
