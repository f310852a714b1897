/** Prices that a card names. */
import { expect, test } from 'vitest'
import { cardPrices } from './card.ts'

const priced = (prices: unknown) =>
  cardPrices({ capabilities: { extensions: [{ uri: 'x' }, { uri: 'y', params: { prices } as never }] } })

test('are whole credits of at least 1 by capability, and whatever else stands there is none', () => {
  expect(priced({ task: 12, 'weather.now': 5 })).toEqual({ task: 12, 'weather.now': 5 })
  expect(priced({ task: 0, a: -1, b: 1.5, c: '7', d: 2 ** 60, ' ': 3, 'e\nf': 4 })).toEqual({})
  for (const odd of [[1, 2], 'seven', 7, null, undefined]) expect(priced(odd)).toEqual({})
  expect(cardPrices({ capabilities: {} })).toEqual({})
})

test('are at most 128', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`cap.${n}`, n + 1]))
  expect(Object.keys(priced(many))).toHaveLength(128)
})
