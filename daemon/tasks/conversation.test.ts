import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OperationRefused } from '../../protocol/control/refusal.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import type { Interaction } from '../store/threads.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { maySend } from './conversation.ts'
import { mayCancel } from './leaving.ts'
import { textMessage } from './messages.ts'
import { isCut, isOver, isRequester } from './standing.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('taken'))
})
afterEach(() => world[Symbol.asyncDispose]())

const of = (node: TestNode) => node.thread(id)
const says = (node: TestNode, text: string) => node.say(id, text)
const ends = (node: TestNode) => node.within(() => node.tasks.endings.propose(of(node)))
const accepts = (node: TestNode) => node.within(() => node.tasks.endings.accept(of(node)))
const set = (node: TestNode, changes: Partial<Interaction>) =>
  node.within(() => node.ctx.threads.update(of(node), changes))
const refusal = (work: () => unknown): OperationRefused => {
  try {
    work()
  } catch (error) {
    return error as OperationRefused
  }
  throw new Error('nothing was refused')
}

describe('who and when', () => {
  test('the requester is who sent the task', () => {
    expect([isRequester(of(alice)), isRequester(of(bob))]).toEqual([true, false])
  })

  test.each([
    ['queued', true, false],
    ['delivered', true, false],
    ['pending', false, false],
    ['open', true, false],
    ['end_proposed', true, false],
    ['expired', true, true],
    ['ended', false, true],
    ['declined', false, true],
    ['cancelled', false, true],
    ['failed', false, true],
  ] as const)('in the state %s a side may send: %s, and it is over: %s', (state, sends, over) => {
    const interaction = { ...of(alice), state }
    expect([maySend(interaction), isOver(interaction)]).toEqual([sends, over])
    expect(maySend({ ...interaction, ownLast: 3 })).toBe(false)
    expect(mayCancel(interaction)).toBe(!over || state === 'expired')
    expect(mayCancel({ ...interaction, side: 'received' })).toBe(false)
  })

  test('the cut exists once both last messages do', () => {
    const cut = (ownLast: number | null, peerLast: number | null) =>
      isCut({ ...of(alice), ownLast, peerLast })
    expect([cut(null, null), cut(1, null), cut(null, 1), cut(1, 1)]).toEqual([false, false, false, true])
  })
})

describe('a step of this side is an event with the peer and the state after it', () => {
  const steps = {
    declined: () => bob.within(() => bob.tasks.leaving.decline(of(bob), 'not today')) && bob,
    cancelled: () => alice.within(() => alice.tasks.leaving.cancel(of(alice), 'done already')) && alice,
    end_proposed: () => ends(alice) && alice,
  }
  test.each(Object.entries(steps))('%s', (state, step) => {
    const node = step()
    const peer = of(node).peer
    expect(node.heard).toContainEqual({ type: 'inbox', data: { interaction_id: id, peer, state } })
  })

  test('ended', () => {
    set(bob, { endBy: 'peer', peerLast: 1, state: 'end_proposed' })
    accepts(bob)
    const data = { interaction_id: id, peer: alice.aid, state: 'ended' }
    expect(bob.heard).toContainEqual({ type: 'inbox', data })
  })
})

describe('saying something', () => {
  test('numbers go up by one on each side, and the words arrive', async () => {
    expect(says(alice, 'one').number).toBe(2)
    expect(says(alice, 'two').number).toBe(3)
    expect(says(bob, 'three').number).toBe(1)
    await world.settle()
    expect(bob.messages(id).map(({ text }) => text)).toEqual(['count the words', 'three', 'one', 'two'])
  })

  test('a side that has sent its last message is refused, with the state in the sentence', () => {
    set(alice, { ownLast: 1, state: 'end_proposed' })
    expect(refusal(() => says(alice, 'more'))).toMatchObject({
      code: 'wrong_state',
      message: expect.stringContaining('end_proposed') as string,
    })
  })

  test('the two messages that end an interaction keep their room', () => {
    set(alice, { numbered: 99_997 })
    expect(says(alice, 'the last word').number).toBe(99_998)
    expect(refusal(() => says(alice, 'one more')).message).toContain('100000 messages')
    expect(ends(alice)).toMatchObject({ state: 'end_proposed', ownLast: 99_999 })
  })
})

describe('ending', () => {
  test('a proposal is the last message of its side, with what it holds and what it lacks', () => {
    set(alice, { heldHighest: 4, heldTo: 1 })
    const proposed = ends(alice)
    expect(proposed).toMatchObject({ state: 'end_proposed', endBy: 'me', ownLast: 2, peerLast: null })
    expect(proposed.ownEndAt).toBe(world.clock.ms)
    const sent = alice.messages(id).at(-1)
    expect(sent?.payload).toEqual(encodePayload(kinds.end, { number: 2, peerHighest: 4, missing: [2, 3] }))
  })

  test('nobody accepts what nobody proposed, nor twice', async () => {
    expect(refusal(() => accepts(bob)).code).toBe('wrong_state')
    ends(alice)
    expect(refusal(() => accepts(alice)).code).toBe('wrong_state')
    await world.settle()
    accepts(bob)
    expect(refusal(() => accepts(bob)).code).toBe('wrong_state')
  })

  test('an accepted proposal ends both sides, and the receipt is signed by both', async () => {
    ends(alice)
    await world.settle()
    expect(of(bob)).toMatchObject({ state: 'end_proposed', endBy: 'peer', peerLast: 2, ownLast: null })
    accepts(bob)
    expect(of(bob)).toMatchObject({ state: 'ended', ownLast: 1, receiptState: 'made' })
    await world.settle()
    expect(of(alice)).toMatchObject({ state: 'ended', peerLast: 1, receiptState: 'signed' })
    expect(of(bob)).toMatchObject({ state: 'ended', receiptState: 'signed' })
    expect(of(bob).counterSignature).not.toBeNull()
    expect(refusal(() => ends(alice)).code).toBe('wrong_state')
  })

  test('to propose what the other side proposed is to accept it', async () => {
    ends(alice)
    await world.settle()
    expect(ends(bob)).toMatchObject({ state: 'ended', endBy: 'peer' })
  })

  test('of two proposals that cross the one of the requester counts', async () => {
    ends(alice)
    ends(bob)
    expect(of(bob)).toMatchObject({ endBy: 'me', ownLast: 1 })
    await world.settle()
    expect(of(alice)).toMatchObject({ state: 'ended', endBy: 'me', ownLast: 2, peerLast: 2 })
    expect(of(bob)).toMatchObject({ state: 'ended', endBy: 'peer', ownLast: 2, peerLast: 2 })
    expect(of(alice).receiptState).toBe('signed')
  })

  test('a requester agrees by itself to the end of a call that has its result, and to no other', async () => {
    const payload = { number: 5, peerHighest: 1, missing: [] }
    expect(alice.within(() => alice.tasks.endings.takeEnd(of(alice), payload))?.state).toBe('end_proposed')
    set(alice, { endBy: null, state: 'open', capability: 'text.count', peerLast: null })
    expect(alice.within(() => alice.tasks.endings.takeEnd(of(alice), payload))?.state).toBe('end_proposed')
  })

  test('a requester agrees by itself to the end of a call with its result, and of any task with a price', async () => {
    const ended = async (kind: 1 | 7, capability: string | null) => {
      const task = alice.delegate(bob).id
      await world.settle()
      alice.within(() => alice.ctx.threads.update(alice.thread(task), { capability }))
      const document = documentBytes({ text: 'three', attachments: [] })
      const payload = encodePayload(kind, { document })
      bob.within(() =>
        bob.ctx.threads.queue(bob.thread(task), { ...textMessage('three', []), kind, payload }),
      )
      bob.within(() => bob.tasks.endings.propose(bob.thread(task)))
      await world.settle()
      return alice.thread(task).state
    }
    const { result, quote } = kinds
    expect(await ended(result, 'words.count')).toBe('ended')
    expect(await ended(quote, 'words.count')).toBe('ended')
    expect(await ended(quote, null)).toBe('ended')
    expect(await ended(result, null)).toBe('end_proposed')
  })

  test('a proposal for what is over changes nothing, nor does one that crosses that of the requester', () => {
    const payload = { number: 5, peerHighest: 1, missing: [4] }
    ends(alice)
    expect(alice.within(() => alice.tasks.endings.takeEnd(of(alice), payload))).toEqual(of(alice))
    set(bob, { ownLast: 1, peerLast: 2, state: 'ended' })
    expect(bob.within(() => bob.tasks.endings.takeEnd(of(bob), payload))).toBeUndefined()
  })

  test('what waits for approval goes on waiting when its requester ends it, and nothing is said for it', () => {
    set(bob, { state: 'pending' })
    const payload = { number: 2, peerHighest: 0, missing: [] }
    const proposed = bob.within(() => bob.tasks.endings.takeEnd(of(bob), payload))
    expect(proposed).toMatchObject({ state: 'pending', endBy: 'peer', peerLast: 2, peerLacks: '[]' })
    for (const step of [() => says(bob, 'yes'), () => ends(bob), () => accepts(bob)])
      expect(refusal(step)).toMatchObject({ message: expect.stringContaining('approval') as string })
  })

  test('an answer to another proposal than ours changes nothing', () => {
    ends(alice)
    const answer = { endNumber: 7, number: 1, peerHighest: 2, missing: [] }
    expect(alice.tasks.endings.takeAcceptance(of(alice), answer)).toBeUndefined()
    const early = { ...answer, endNumber: 2 }
    set(alice, { endBy: 'peer' })
    expect(alice.tasks.endings.takeAcceptance(of(alice), early)).toBeUndefined()
    set(alice, { endBy: 'me' })
    expect(
      alice.within(() => alice.tasks.endings.takeAcceptance(of(alice), { ...early, missing: [1] })),
    ).toMatchObject({
      state: 'ended',
      peerLast: 1,
      peerLacks: '[1]',
    })
  })
})

describe('leaving', () => {
  test('a provider declines with its reason, and the requester reads it', async () => {
    bob.within(() => bob.tasks.leaving.decline(of(bob), 'not today'))
    await world.settle()
    for (const node of [alice, bob])
      expect(of(node)).toMatchObject({ state: 'declined', reason: 'not today' })
  })

  test('a requester cancels with its reason, and the provider reads it', async () => {
    alice.within(() => alice.tasks.leaving.cancel(of(alice), 'done already'))
    await world.settle()
    for (const node of [alice, bob])
      expect(of(node)).toMatchObject({ state: 'cancelled', reason: 'done already' })
  })

  test('a stranger whose task is declined may write no more, a contact may', async () => {
    const eve = await world.node('eve')
    eve.ctx.contacts.add(bob.aid, 'bob')
    const { id: pending } = eve.delegate(bob)
    await world.settle()
    for (const { aid } of [alice, eve]) bob.within(() => bob.ctx.capabilities.topUp(aid))
    const issued = () => [alice, eve].map(({ aid }) => bob.ctx.capabilities.issuedTo(aid).length > 0)
    expect(issued()).toEqual([true, true])
    for (const task of [id, pending]) bob.within(() => bob.tasks.leaving.decline(bob.thread(task), 'no'))
    expect(issued()).toEqual([true, false])
  })

  test('neither takes the way of the other, nor leaves what is over', () => {
    expect(refusal(() => alice.tasks.leaving.decline(of(alice), '')).code).toBe('wrong_state')
    expect(refusal(() => bob.tasks.leaving.cancel(of(bob), '')).code).toBe('wrong_state')
    set(bob, { ownLast: 1 })
    expect(refusal(() => bob.tasks.leaving.decline(of(bob), '')).code).toBe('wrong_state')
    set(bob, { ownLast: null, state: 'ended' })
    expect(refusal(() => bob.tasks.leaving.decline(of(bob), '')).message).toContain('ended')
    set(alice, { state: 'declined' })
    expect(refusal(() => alice.tasks.leaving.cancel(of(alice), '')).message).toContain('declined')
  })
})
