/** The table of keys. */
import { describe, expect, test } from 'vitest'
import { actionOf, type Focus, keyRows, keysOf } from './keys.ts'

const places = [...new Set(keyRows.flatMap(row => row.places))]

describe('in every place', () => {
  test.each(places)('%s: a key has one meaning', place => {
    const given = keysOf(place).flatMap(row => row.keys)
    expect(given.filter((key, n) => given.indexOf(key) !== n)).toEqual([])
  })

  test.each(places)('%s: every key of the help does what the help says', place => {
    for (const row of keysOf(place)) for (const key of row.keys) expect(actionOf(place, key)).toBe(row.action)
  })

  test.each(places)('%s: there is a way out, and esc never quits', place => {
    const out = ['back', 'quit', 'no']
    expect(keysOf(place).some(row => out.includes(row.action))).toBe(true)
    expect(actionOf(place, 'esc')).not.toBe('quit')
  })
})

test('a yes is never the key that asked, nor enter', () => {
  const yes = keysOf('confirm').filter(row => row.action === 'yes')
  expect(yes.flatMap(row => row.keys)).toEqual(['y'])
  const asking: readonly Focus[] = ['inbox', 'sent', 'thread']
  for (const place of asking)
    for (const action of ['approve', 'end', 'accept_end', 'cancel', 'decline'])
      expect(keysOf(place).find(row => row.action === action)?.keys).not.toContain('y')
})
