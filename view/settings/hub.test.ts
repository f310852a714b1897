/** Settings about hubs, in each state of the node. */
import { describe, expect, test } from 'vitest'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { firstView, type View } from '../state.ts'
import { NOW, statusOf } from '../testing.ts'
import { hub } from './hub.ts'
import type { Setting } from './setting.ts'

const row = (id: string) => hub.find(one => one.id === id) as Setting
const at = (status: Partial<NodeStatus>, more: Partial<View> = {}): View => ({
  ...firstView,
  status: statusOf(status),
  ...more,
})
const member = (more: Partial<View> = {}) =>
  at({ hub: { aid: 'H', state: 'online' } as never, hub_url: 'https://hub.example' }, more)
const nowhere = () => at({ hub: null, hub_url: null })

describe('joining a hub', () => {
  const join = row('hub_join')
  const values = { url: ' https://other.example ', name: 'nora' }

  test('says where the node is, and that a first hub needs no question', () => {
    expect(join.shows?.(firstView, NOW)).toBeUndefined()
    expect([join.shows?.(nowhere(), NOW), join.opens?.(nowhere())]).toEqual([
      'none yet: nobody can reach you',
      'Join a hub',
    ])
    expect(join.asks?.(values, nowhere())).toBeUndefined()
    expect([join.shows?.(member(), NOW), join.opens?.(member())]).toEqual([
      'https://hub.example',
      'Move to another',
    ])
    expect(join.asks?.(values, member())).toMatchObject({
      asks: 'Move to https://other.example?',
      facts: [
        ['from', 'https://hub.example'],
        ['then', expect.any(String)],
        ['credits', expect.any(String)],
      ],
    })
  })

  test('takes an address of scheme, host and port alone', () => {
    const isTaken = (url: string) => join.fault?.({ url }, member()) === undefined
    expect(['https://a', 'http://a:1', 'https://a/'].map(isTaken)).toEqual([true, true, true])
    expect(['a', 'https://a/b', 'https://a?b', 'https://a#b', 'https://u@a'].some(isTaken)).toBe(false)
  })

  test('says afterwards where the node is, or what the node notes', () => {
    expect(join.says({ hub_url: 'https://a' }, {})).toBe('you are at https://a')
    expect(join.says({ hub_url: 'https://a', note: 'a note' }, {})).toBe('a note')
  })
})

describe('leaving a hub', () => {
  const leave = row('hub_leave')

  test('is offered where there is one, and names the credits that stay', () => {
    expect(leave.unless?.(nowhere())).toBe('this node is at no hub')
    expect(leave.unless?.(member())).toBeUndefined()
    expect(leave.input({}, member())).toEqual({ url: 'https://hub.example' })
    expect(leave.input({}, nowhere())).toEqual({})
    const facts = (balance: number | undefined) =>
      leave
        .asks?.({}, member(balance === undefined ? {} : { balance: { balance } as never }))
        ?.facts?.slice(1)
    expect(facts(undefined)).toEqual([])
    expect(facts(0)).toEqual([])
    expect(facts(1)).toEqual([['credits', '1 stay at the hub']])
  })

  test('says afterwards which one was left, or what the node notes', () => {
    expect(leave.says({ hub_url: 'https://a' }, {})).toBe('you left https://a')
    expect(leave.says({ hub_url: 'https://a', note: 'a note' }, {})).toBe('a note')
  })
})

test('a hub is looked at again where the node has stopped talking to it', () => {
  const look = row('hub_look')
  const state = (name: string) => look.unless?.(at({ hub: { aid: 'H', state: name } as never }))
  expect(state('stopped')).toBeUndefined()
  expect([state('offline'), look.unless?.(nowhere())]).toEqual(
    Array(2).fill('the node has not stopped talking to its hub'),
  )
  expect([true, false].map(talking => look.says({ talking }, {}))).toEqual([
    'the node talks to its hub again',
    'the hub has not changed',
  ])
})

describe('the A2A interface', () => {
  const a2a = row('a2a')
  const opened = (value: View['a2a']) => ({ ...firstView, a2a: value })

  test('says whether it is open, and where', () => {
    expect(a2a.shows?.(firstView, NOW)).toBeUndefined()
    expect(a2a.shows?.(opened({ on: false }), NOW)).toBe('closed')
    expect(a2a.shows?.(opened({ on: true, addr: '127.0.0.1:1' }), NOW)).toBe('open at 127.0.0.1:1')
    expect(a2a.shows?.(opened({ on: true, addr: 'x', url: 'http://h' } as never), NOW)).toBe(
      'open at http://h',
    )
  })

  test('asks before other machines reach it', () => {
    const asks = (addr: string, on = 'yes') => a2a.asks?.({ on, addr }, firstView)?.asks
    for (const here of ['', '127.0.0.1:1', 'localhost:41241', '[::1]:1', ' 127.0.0.1 '])
      expect(asks(here)).toBeUndefined()
    for (const wide of ['0.0.0.0:1', '192.0.2.1', 'host:1'])
      expect(asks(wide)).toBe('Open the A2A interface to other machines?')
    expect(asks('0.0.0.0:1', 'no')).toBeUndefined()
  })

  test('is given an address where it is open and one is filled in', () => {
    const input = (on: string, addr: string) => a2a.input({ on, addr }, firstView)
    expect(input('yes', ' h:1 ')).toEqual({ on: true, addr: 'h:1' })
    expect(input('yes', ' ')).toEqual({ on: true })
    expect(input('no', 'h:1')).toEqual({ on: false })
  })

  test('says what became of it, first of all a warning, and is set back as it was', () => {
    const says = (reply: object) => a2a.says(reply, {})
    expect(says({ on: true, url: 'http://h' })).toBe('open at http://h')
    expect(says({ on: true })).toBe('open at its address')
    expect(says({ on: false })).toBe('the A2A interface is closed')
    expect(says({ on: true, warning: 'beware' })).toBe('beware')
    expect(a2a.undo?.({}, firstView)).toBeUndefined()
    expect(a2a.undo?.({}, opened({ on: true, addr: 'h:1' }))).toMatchObject({
      order: { input: { on: true, addr: 'h:1' } },
      says: 'the A2A interface is open again',
    })
    expect(a2a.undo?.({}, opened({ on: false }))?.says).toBe('the A2A interface is closed again')
  })
})
