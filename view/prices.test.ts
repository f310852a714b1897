/** Prices that an agent asked so far. */
import { expect, test } from 'vitest'
import { pricesAsked } from './prices.ts'
import { ALICE, BOB, item, NOW, viewOf } from './testing.ts'

const payment = (amount: number) => ({ amount, network: 'hub:x', state: 'taken' as const })

test('are the newest of each thing, of this agent alone, and never what it paid', () => {
  const view = viewOf([
    item(1, { side: 'sent', payment: payment(9) }),
    item(2, { side: 'sent', payment: payment(7) }),
    item(3, { side: 'sent', capability: 'weather.now', payment: payment(5) }),
    item(4, { side: 'sent', peer: ALICE, payment: payment(3) }),
    item(5, { payment: payment(2) }),
    item(6, { side: 'sent' }),
  ])
  expect(pricesAsked(view, BOB)).toEqual([
    { what: 'a task in words', amount: 9, at: NOW - 60_000 },
    { what: 'weather.now', amount: 5, at: NOW - 180_000 },
  ])
})
