/** What a message is: sealed, signed, by whom, delivered. */
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../protocol/control/shapes.ts'
import { interactionStates } from '../protocol/control/shapes.ts'
import {
  messageFacts,
  sayDelivery,
  sayPayment,
  sayReceipt,
  sayState,
  sayTerms,
  type WayOut,
  wayOut,
} from './sentences.ts'
import { NOW, statusOf, threadOf, turn } from './testing.ts'

const facts = (given: Parameters<typeof turn>[1], thread: Parameters<typeof threadOf>[1] = {}) =>
  messageFacts(turn(1, given), threadOf(1, thread), { now: NOW })

describe('a message', () => {
  test('of the other side is sealed and signed by it', () => {
    expect(facts({})).toMatchObject({ who: 'bob', proof: { says: 'sealed · signed by bob', tone: 'quiet' } })
  })
  test('that is not sealed says so as a warning', () => {
    expect(facts({}, { sealed: false }).proof).toMatchObject({
      says: expect.stringMatching(/^NOT sealed/),
      tone: 'warn',
    })
  })
  test('over a local interface is no mail, and says so', () => {
    const local = facts({ mine: true, delivery: { state: 'delivered' } }, { local: true })
    expect(local).toMatchObject({ proof: { says: 'over the A2A interface of this node', tone: 'quiet' } })
    expect(local.delivery).toBeUndefined()
  })
  test('under a retired key says so', () => {
    expect(facts({ retired_key: true }).proof).toMatchObject({
      says: 'sealed · signed by bob under a retired key',
      tone: 'warn',
    })
  })
  test.each([
    [1, 'sealed · signed by bob · a message before it has not come yet'],
    [3, 'sealed · signed by bob · 3 messages before it have not come yet'],
  ])('behind %i that are missing says so', (missing_before, says) => {
    expect(facts({ missing_before }).proof).toEqual({ says, tone: 'warn' })
  })
  test('of the auto-reply is known from one of a person', () => {
    expect(facts({ mine: true, auto: true }).who).toBe('you, by auto-reply')
  })
  test('that is more than words is named', () => {
    expect(facts({ kind: 'end' }).what).toBe('proposes to end')
    expect(facts({ kind: 'end', mine: true }).what).toBe('propose to end')
    expect(facts({ kind: 'new_\u001bkind' }).what).toBe('new kind')
  })
})

describe('a delivery', () => {
  test.each([
    [
      { state: 'queued', reason: 'hub down', next_try_at: NOW + 12_000 },
      'waits on this machine: hub down; next try in 12s',
    ],
    [{ state: 'queued' }, 'waits on this machine'],
    [{ state: 'queued', next_try_at: NOW - 60_000 }, 'waits on this machine; trying now'],
    [{ state: 'at_hub' }, 'at the hub; bob has not confirmed it yet'],
    [
      { state: 'at_hub', reason: 'its hub is away' },
      'at the hub; bob has not confirmed it yet: its hub is away',
    ],
    [{ state: 'delivered' }, "delivered: bob's node confirmed it"],
    [{ state: 'delivered', direct: true }, "delivered directly: bob's node confirmed it"],
    [{ state: 'failed', reason: 'too large' }, 'not delivered: too large'],
    [{ state: 'unknown' }, 'no proof that it arrived'],
  ] as const)('%o', (delivery, says) => expect(sayDelivery(delivery, 'bob', { now: NOW }).says).toBe(says))

  test('is not said to be tried while the hub or the node is away', () => {
    const due = { state: 'queued', next_try_at: NOW - 60_000 } as const
    const says = (delivery: Delivery, way: WayOut) => sayDelivery(delivery, 'bob', { now: NOW, way }).says
    expect(says(due, 'hub_away')).toBe(
      'waits on this machine; the hub did not answer, and is tried every few seconds',
    )
    expect(says({ ...due, next_try_at: NOW + 5_000 }, 'hub_away')).toBe(
      'waits on this machine; next try in 5s',
    )
    for (const next_try_at of [NOW - 60_000, NOW + 60_000])
      expect(says({ ...due, next_try_at }, 'node_away')).toBe(
        'waits on this machine; nothing is tried while the node is away',
      )
    const live = { state: 'live' } as const
    expect(wayOut({ status: statusOf(), connection: live })).toBe('open')
    const offline = { ...statusOf().hub, state: 'offline' } as never
    expect(wayOut({ status: statusOf({ hub: offline }), connection: live })).toBe('hub_away')
    const lost = { state: 'lost', says: 'gone', since: 0, retryAt: 0 } as const
    expect(wayOut({ status: statusOf({ hub: offline }), connection: lost })).toBe('node_away')
  })
})

test('every state has a word and a mark', () => {
  for (const state of interactionStates)
    for (const side of ['sent', 'received'] as const)
      expect(sayState(state, side)).toMatchObject({ word: /./, mark: /./ })
})

test('a receipt with a fault is never shown as good', () => {
  const receipt = { id: 'r', verified: false, status: 'OK', result_cid: 'c', fault: 'another request' }
  expect(sayReceipt({ side: 'sent', receipt }, 'bob')).toEqual({
    says: 'receipt NOT verified: another request',
    tone: 'bad',
  })
  expect(
    sayReceipt({ side: 'sent', receipt: { ...receipt, fault: undefined, verified: true } as never }, 'bob'),
  ).toEqual({
    says: 'receipt verified, signed by bob: OK',
    tone: 'good',
  })
})

test('a verified receipt of words contradicts itself in no word', () => {
  const receipt = { id: 'r', verified: true, status: 'UNVERIFIED', result_cid: 'c' }
  expect(sayReceipt({ side: 'received', receipt }, 'bob')?.says).toBe(
    'receipt verified, signed by you; an answer in words, not checked by a program (UNVERIFIED)',
  )
})

test('a verified receipt of a failed task reads as no failed verification', () => {
  const receipt = { id: 'r', verified: true, status: 'FAILED', result_cid: 'c' }
  expect(sayReceipt({ side: 'received', receipt }, 'bob')?.says).toBe(
    'receipt verified, signed by you; it records that the task failed: ended without an answer (FAILED)',
  )
})

test('a price that waits says who decides', () => {
  expect(sayPayment({ amount: 1, network: 'hub:x', state: 'open' }, 'bob').says).toBe(
    'bob asks 1 credit; you decide',
  )
  expect(sayPayment({ amount: 9, network: 'hub:x', state: 'taken', given_back: 4 }, 'bob').says).toBe(
    '9 credits paid, 4 credits of it given back',
  )
})

test('what may be lost of a payment is said, with the words of its provider', () => {
  const terms = (more: object) => sayTerms({ amount: 5, network: 'hub:x', state: 'open', ...more })
  expect(terms({})).toBe('')
  expect(terms({ unheld: true, starts: 2 })).toBe('; paid at once, nothing of it comes back')
  expect(terms({ unheld: false, starts: 0 })).toBe('; to withdraw it costs nothing once the work has begun')
  expect(terms({ starts: 4 })).toBe('; to withdraw it costs 4 credits once the work has begun')
  expect(terms({ starts: 5 })).toBe('; to withdraw it costs all of it once the work has begun')
  expect(terms({ says: 'only 2' })).toBe('; its own words: “only 2”')
})
