/** What the page of the node shows first. */
import { expect, test } from 'vitest'
import { attention } from './attention.ts'
import { item, NOW, viewOf } from './testing.ts'

const DAY = 86_400_000
const counts = { unread: 0, pending: 0, outbox: 0, outbox_held: 0, foreign: 0, strangers_refused: 0 }
const says = (...given: Parameters<typeof viewOf>) => attention(viewOf(...given), NOW).map(face => face.says)

test('a node of which all is well, and that was backed up, needs nobody', () => {
  expect(says([], { backup_at: NOW - DAY })).toEqual([])
  expect(says([])).toEqual([])
})

test('what is wrong stands before what waits, and that before what is only to be known', () => {
  const price = { amount: 7, network: 'hub:x', state: 'open' } as const
  const found = attention(
    viewOf([item(1, { side: 'sent', payment: price })], {
      deactivated: true,
      warnings: ['the disk is nearly full'],
      counts: { ...counts, pending: 2, unread: 1, unread_received: 1 },
    }),
    NOW,
  )
  expect(found.map(({ tone }) => tone)).toEqual(['bad', 'warn', 'warn', 'wait', 'warn'])
  expect(found[1]).toMatchObject({
    says: '2 tasks of strangers wait for your yes',
    help: { does: { to: 'screen', screen: 'inbox', waits: true } },
  })
  expect(found[2]?.says).toBe('1 price waits for your yes')
  expect(found[3]?.says).toBe('1 task to you with something unread')
})

test('one stranger waits as well as two', () => {
  expect(says([], { backup_at: NOW, counts: { ...counts, pending: 1 } })).toEqual([
    '1 task of a stranger waits for your yes',
  ])
})

test('a chain without a backup is said, and one whose backup is old', () => {
  const chain = { chain_did: 'did:x', head_id: 'b', length: 3, state: 'ACTIVE' } as const
  expect(says([], { chain })).toEqual([
    'no backup is known: if this disk dies, your identity is gone with it',
  ])
  expect(says([], { chain, backup_at: NOW - 40 * DAY })).toEqual(['the last backup is 5w old'])
})
