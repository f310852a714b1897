/** What a key may do with a task. */
import { expect, test } from 'vitest'
import { allows, mayBeAnew, sayNot } from './allowed.ts'
import { reduce } from './reduce.ts'
import { idOf, item, reply, threadOf, viewOf } from './testing.ts'

const view = viewOf([])

test('a receipt is verified, and mail that waits is held, where there is some', () => {
  const receipt = {} as never
  expect([allows(view, item(1, { receipt }), 'verify'), allows(view, item(1), 'verify')]).toEqual([
    true,
    false,
  ])
  const of = (state: 'queued' | 'delivered') =>
    allows(view, item(1, { delivery: { state } as never }), 'hold')
  expect([of('queued'), of('delivered'), allows(view, item(1), 'hold')]).toEqual([true, false, false])
})

test('only a task of ours that its recipient lost is delegated anew, once', () => {
  const lost = { side: 'sent', lost_by_peer_at: 1 } as const
  expect([
    mayBeAnew(lost),
    mayBeAnew({ ...lost, side: 'received' }),
    mayBeAnew({ side: 'sent' }),
    mayBeAnew({ ...lost, anew_as: idOf(2) }),
  ]).toEqual([true, false, false, false])
  expect([allows(view, item(1, lost), 'anew'), allows(view, item(1), 'anew')]).toEqual([true, false])
})

test('a price may be approved in every state', () => {
  const payment = { amount: 1, network: 'hub:x', state: 'open' } as const
  expect(allows(view, item(1, { side: 'sent', payment }), 'approve')).toBe(true)
  expect(allows(view, item(1, { side: 'sent', payment: { ...payment, state: 'held' } }), 'approve')).toBe(
    false,
  )
})

test('the node says what may be done in a conversation, until its state has changed', () => {
  const held = reduce(
    view,
    reply('thread', { interaction_id: idOf(1) }, threadOf(1, { actions: ['message'] })),
  )
  expect([allows(held, item(1), 'reply'), allows(held, item(1), 'end')]).toEqual([true, false])
  expect(allows(held, item(1, { state: 'end_proposed' }), 'end')).toBe(true)
  expect([allows(view, item(2), 'end'), allows(view, item(2), 'approve')]).toEqual([true, false])
  expect(allows(view, item(1), 'help' as never)).toBe(true)
})

test.each([
  ['approve', 'nothing here waits for a yes'],
  ['verify', 'there is no receipt yet'],
  ['hold', 'nothing of this task waits'],
  ['anew', 'only a task of yours that its recipient lost'],
  ['rate', 'only a task of yours with a receipt'],
  ['reply', 'it waits for your yes first'],
] as const)('why %s does nothing is said', (action, why) =>
  expect(sayNot(item(1, { state: 'pending' }), action)).toMatch(why),
)

test('what is over is answered by a new task', () => {
  expect(sayNot(item(1, { state: 'pending', side: 'sent' }), 'reply')).toMatch(/; d delegates a new one$/)
  expect(sayNot(item(1, { state: 'ended' }), 'reply')).toMatch(/^this task is .*; d delegates a new one$/)
})
