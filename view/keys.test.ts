/** The keys of both screens. */
import { describe, expect, test } from 'vitest'
import { actOf, keyRows, keysOf } from './keys.ts'
import { screens } from './rows.ts'

describe('the keys', () => {
  test.each(screens)('of %s mean one thing each', screen => {
    const keys = keysOf(screen).flatMap(row => row.keys)
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  })

  test('the numbers are the screens, in their order', () => {
    expect(keyRows[0]?.keys).toEqual(['1', '2', '3', '4', '5'])
    expect(actOf('5', 'inbox')).toBe('screen')
  })

  test('of a task work where tasks are, and nowhere else', () => {
    expect(screens.filter(screen => actOf('r', screen) === 'reply')).toEqual(['inbox', 'sent'])
    expect(actOf('d', 'agents')).toBe('delegate')
    expect(actOf('d', 'inbox')).toBeUndefined()
    expect(actOf('constructor', 'inbox')).toBeUndefined()
  })
})
