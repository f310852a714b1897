/** What a form becomes when it is sent. */
import { describe, expect, test } from 'vitest'
import { inputOf, keyAfter, newKey } from './orders.ts'
import { emptyOrder } from './ui.ts'

const input = (more: Partial<typeof emptyOrder>) => inputOf('bob', { ...emptyOrder, ...more })

describe('a new task', () => {
  test('in words has its files, each on a line of its own', () => {
    expect(input({ text: 'count', files: ' /a \n\n/b' })).toEqual({
      to: 'bob',
      task: 'count',
      attach: ['/a', '/b'],
    })
  })

  test('that is a call has its arguments, and neither words nor files', () => {
    expect(input({ capability: 'a.b', text: 'x', files: '/a' })).toEqual({ to: 'bob', capability: 'a.b' })
    expect(input({ capability: 'a.b', args: ' {"n":1} ' })).toEqual({
      to: 'bob',
      capability: 'a.b',
      args: { n: 1 },
    })
    for (const args of ['[]', 'null', '1', '"x"', '{'])
      expect(() => input({ capability: 'a.b', args })).toThrow(/JSON object/)
  })

  test('is paid for by a person, with a most where one is filled in', () => {
    const paid = { to: 'bob', task: '', attach: [], pay: true, pay_as: 'person' }
    expect(input({ pay: true })).toEqual(paid)
    expect(input({ pay: true, maxCredits: ' 20 ' })).toEqual({ ...paid, max_credits: 20 })
    expect(input({ maxCredits: '20' })).toEqual({ to: 'bob', task: '', attach: [] })
    for (const maxCredits of ['x', '1.5', '-1', '1'.repeat(13)])
      expect(() => input({ pay: true, maxCredits })).toThrow(/whole number of credits/)
    expect(input({ pay: true, maxCredits: '1'.repeat(12) })).toHaveProperty('max_credits')
  })
})

test('the same is sent under one key until something in it changes', () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/)
  expect([keyAfter({ busy: true }), keyAfter({ fault: 'x', key: 'k' }), keyAfter({})]).toEqual([{}, {}, {}])
  expect(keyAfter({ busy: false, fault: 'the node is gone', isGone: true })).toEqual({})
  expect(keyAfter({ text: 'x', busy: false })).toEqual({ key: undefined })
  expect('key' in keyAfter({ text: 'x' })).toBe(true)
})
