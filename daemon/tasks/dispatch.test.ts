import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DOCUMENT_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { fromUtf8, utf8Length } from '../../protocol/encoding/bytes.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { buildEffect, type Effect, renderEffect } from '../../protocol/proof/effect.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { type Quote, TASK } from '../../protocol/proof/quote.ts'
import { openPrice } from '../payments/priced-tasks.ts'
import type { Message } from '../store/threads.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import type { AnswerParts } from './dispatch.ts'
import { taskParts } from './open.ts'

const OBSERVED_BYTES_MAX = 4096

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('taken'))
})
afterEach(() => world[Symbol.asyncDispose]())

const of = () => bob.thread(id)
const newest = () => bob.messages(id).find(({ kind, direction }) => direction === 'out' && kind !== kinds.end)

describe('who answers', () => {
  const prices: Record<string, number> = { 'words.count': 3, [TASK]: 5 }
  const answering = (capability: string | null) =>
    taskParts({
      ...bob.ctx,
      modules: {
        serves: name => name === 'words.count' || name === 'words.list',
        priceOf: name => prices[name],
        offered: () => [],
      },
    }).dispatch.answeringOf(capability)

  test('a call of what this node serves is its provider, at the price of that call', () => {
    expect(answering('words.count')).toEqual({ by: 'provider', price: 3 })
    expect(answering('words.list')).toEqual({ by: 'provider', price: undefined })
  })

  test('a task in words is whoever has words, at the price of a task', () => {
    expect(answering(null)).toEqual({ by: 'words', price: 5 })
  })

  test('any other call is nobody, and costs nothing, unless an agent is there to answer in words', () => {
    expect(answering('image.draw')).toEqual({ by: 'nobody', price: undefined })
    bob.ctx.settings.change({ auto_reply: { backend: 'exec', command: 'cat' } })
    expect(answering('image.draw')).toEqual({ by: 'words', price: 5 })
  })
})

describe('a task that was taken', () => {
  const handed = (...[by, price]: ['provider' | 'words' | 'nobody', number?]) => {
    bob.within(() => bob.ctx.threads.update(of(), { autoReply: 1 }))
    bob.within(() => bob.tasks.dispatch.handOver(of(), { by, price }))
    return { autoReply: of().autoReply, price: openPrice(bob.ctx.store, of()), state: of().state }
  }

  test('in words is left to people and programs, once its price is paid where it has one', () => {
    expect(handed('words')).toEqual({ autoReply: 1, price: undefined, state: 'open' })
    expect(handed('words', 5)).toEqual({ autoReply: 0, price: 5, state: 'open' })
  })

  test('by a provider is answered by no agent, whatever it costs', () => {
    expect(handed('provider')).toEqual({ autoReply: 0, price: undefined, state: 'open' })
    expect(handed('provider', 3)).toEqual({ autoReply: 0, price: undefined, state: 'open' })
  })

  test('that nobody answers is answered as not served, and its end proposed', () => {
    expect(handed('nobody')).toMatchObject({ price: undefined, state: 'end_proposed' })
    expect(newest()?.text).toContain('this node does not serve')
  })
})

const answered = (effect: Effect, parts?: AnswerParts): Message => {
  bob.within(() => bob.tasks.effects.answer(of(), effect, parts))
  return newest() as Message
}
const documentOf = ({ kind, payload }: Message): Record<string, unknown> => {
  const decoded = decodePayload(kind, payload).payload
  if (!('document' in decoded)) throw new Error('no document')
  return JSON.parse(fromUtf8(decoded.document)) as Record<string, unknown>
}
const recorded = () => bob.ctx.chain.read({ eventType: 'svc.capability.effect' })[0]?.['payload']
const observed = (observedState: string): Effect =>
  buildEffect({
    status: 'OK',
    message: 'counted',
    record: { metrics: { words: 3 } },
    evidence: { verifyTrust: 2, authTrust: 1, observedState },
  })

describe('an effect', () => {
  test('is the result of the task, numbered, and stands in the evidence with its caller', () => {
    const message = answered(observed('three'))
    expect(message).toMatchObject({ kind: kinds.result, number: 1 })
    expect(documentOf(message)).toMatchObject({ status: 'OK', verifiable: true, metrics: { words: 3 } })
    expect(recorded()).toMatchObject({
      interaction_id: id,
      capability: TASK,
      caller_aid: alice.aid,
      status: 'OK',
      verifiable: true,
      metrics: { words: 3 },
      evidence: { verify_trust: 2, auth_trust: 1, observed_state: 'three' },
    })
    expect(of()).toMatchObject({ state: 'end_proposed', endBy: 'me' })
  })

  test.each([
    ['is kept in the evidence', 'x'.repeat(OBSERVED_BYTES_MAX), false, true],
    ['of more than 4096 bytes is not', 'x'.repeat(OBSERVED_BYTES_MAX + 1), false, false],
    [
      'in more bytes than characters is measured in bytes',
      'ü'.repeat(OBSERVED_BYTES_MAX / 2 + 1),
      false,
      false,
    ],
    ['of a private provider is not', 'three', true, false],
  ])('what was observed %s, and all of it is in the result', (_, state, isPrivate, isKept) => {
    const message = answered(observed(state), { isPrivate })
    expect(documentOf(message)['evidence']).toMatchObject({ observed_state: state })
    const { evidence } = recorded() as { evidence: Record<string, unknown> }
    expect(evidence).toMatchObject({ verify_trust: 2, auth_trust: 1 })
    expect(evidence['observed_state']).toBe(isKept ? state : undefined)
  })

  test('without anything observed is recorded all the same', () => {
    answered(buildEffect({ status: 'FAILED', message: 'no words' }))
    expect(recorded()).toMatchObject({ status: 'FAILED', verifiable: false, metrics: {} })
  })

  test.each([
    ['that a message just takes is answered', 0, 'OK', 'counted'],
    [
      'one byte larger is answered as one that failed, which says how much a message takes',
      1,
      'FAILED',
      `the result is larger than the ${DOCUMENT_BYTES_MAX} bytes that a message takes`,
    ],
  ])('%s', (_, beyond, status, message) => {
    const head = utf8Length(renderEffect(observed('x'))) - 1
    const sent = answered(observed('x'.repeat(DOCUMENT_BYTES_MAX - head + beyond)))
    expect(documentOf(sent)).toMatchObject({ status, message })
    expect(recorded()).toMatchObject({ status })
  })

  test('that was paid for leaves with the receipts of the hub', () => {
    const settlements = [new Uint8Array([1]), new Uint8Array([2])]
    const message = answered(observed('three'), { settlements })
    expect(decodePayload(message.kind, message.payload).payload).toMatchObject({ settlements })
  })

  test('that asks for payment is a quote, which says what it asks for', () => {
    const quote: Quote = {
      provider: bob.aid,
      what: TASK,
      amount: 5,
      network: networkOf(bob.hub.identity.aid),
      holdSeconds: 3600,
      settleSeconds: 3600,
    }
    const message = answered(buildEffect({ status: 'PAYMENT_REQUIRED', message: 'it costs 5' }), { quote })
    expect(message.kind).toBe(kinds.quote)
    expect(documentOf(message)).toMatchObject({
      status: 'PAYMENT_REQUIRED',
      payment_required: { accepts: [{ amount: '5', payTo: bob.aid }] },
    })
  })
})
