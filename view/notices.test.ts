/** What is worth telling somebody who looks elsewhere. */
import { expect, test } from 'vitest'
import { noticesOf } from './notices.ts'
import { firstView } from './state.ts'
import { item, NOW, viewOf } from './testing.ts'

const says = (before: Parameters<typeof viewOf>[0], now: Parameters<typeof viewOf>[0]) =>
  noticesOf(viewOf(before), viewOf(now)).map(notice => notice.says)
const price = { amount: 7, network: 'hub:x', state: 'open' } as const

test('is what came, each in words of ours', () => {
  const before = [item(1), item(2, { side: 'sent' })]
  expect(says(before, [...before, item(0, { unread: 1 })])).toEqual(['bob gives you a task'])
  expect(says(before, [item(1, { unread: 1 }), item(2, { side: 'sent', unread: 2 })])).toEqual([
    'bob wrote',
    'bob wrote',
  ])
  expect(says(before, [...before, item(0, { state: 'pending', peer_name: null, unread: 1 })])).toEqual([
    'a stranger asks you to take a task',
  ])
  const proposes = item(1, { news: { proposes_end: true } } as never)
  expect(says(before, [proposes, item(2, { side: 'sent' })])).toEqual(['bob proposes to end a task'])
  expect(says([proposes], [{ ...proposes }])).toEqual([])
  expect(says(before, [item(1), item(2, { side: 'sent', payment: price })])).toEqual([
    'bob asks 7 credits; you decide',
  ])
})

test('keeps the words of the other side apart', () => {
  const [notice] = noticesOf(viewOf([item(1)]), viewOf([item(1, { unread: 1, unread_preview: 'a secret' })]))
  expect([notice?.says, notice?.words]).toEqual(['bob wrote', 'a secret'])
})

test('is nothing of what was there: at the start, once read, or on an older page', () => {
  expect(noticesOf(firstView, viewOf([item(1, { unread: 3 })]))).toEqual([])
  expect(says([item(1, { unread: 2 })], [item(1)])).toEqual([])
  expect(says([item(1)], [item(1), item(9, { unread: 1, last_at: NOW - 9e6 })])).toEqual([])
})
