/** Places of the page and their addresses. */
import { describe, expect, test } from 'vitest'
import { addressOf, emptyDraft, emptyOrder, filesIn, routeOf, withPath } from './ui.ts'

describe('a place of the page', () => {
  test.each([
    ['#/inbox', 'inbox', undefined],
    ['#/sent/paXE9xEGO_8WT1-KPH7mLA', 'sent', 'paXE9xEGO_8WT1-KPH7mLA'],
    ['#/evidence/12', 'evidence', '12'],
  ] as const)('%s is one, and its address is that', (address, screen, open) => {
    expect(routeOf(address)).toEqual({ screen, open })
    expect(addressOf({ screen, open })).toBe(address)
  })

  test.each([
    ['#/inbox?q=old+report&waits=yes', { screen: 'inbox', open: undefined, q: 'old report', waits: true }],
    ['#/inbox?archived=yes', { screen: 'inbox', open: undefined, archived: true }],
    ['#/sent?waits=yes', { screen: 'sent', open: undefined, waits: true }],
    ['#/inbox/paXE9xEGO_8WT1-KPH7mLA?turn=3', { screen: 'inbox', open: 'paXE9xEGO_8WT1-KPH7mLA', turn: 3 }],
    ['#/evidence?q=receipt', { screen: 'evidence', open: undefined, q: 'receipt' }],
    [
      '#/sent/paXE9xEGO_8WT1-KPH7mLA?q=%23%26%3D&turn=12',
      { screen: 'sent', open: 'paXE9xEGO_8WT1-KPH7mLA', q: '#&=', turn: 12 },
    ],
  ] as const)('%s holds what is searched there, and its address is that', (address, route) => {
    expect(routeOf(address)).toEqual(route)
    expect(addressOf(route)).toBe(address)
  })

  test('takes no more of an address than a filter may be', () => {
    expect(routeOf(`#/inbox?q=${'x'.repeat(900)}`).q).toHaveLength(256)
    expect(routeOf('#/node?waits=yes&turn=7&t=secret')).toEqual({ screen: 'node', open: undefined })
    expect(routeOf('#/agents?archived=yes')).toEqual({ screen: 'agents', open: undefined })
    expect(routeOf('#/inbox?archived=no&waits=no&q=')).toEqual({ screen: 'inbox', open: undefined })
    expect(routeOf('#/inbox?turn=7')).toEqual({ screen: 'inbox', open: undefined })
  })

  test.each([
    '',
    '#',
    '#t=secret',
    '#/nothing',
    '#/inbox/<img src=x>',
    '#/sent/%E4',
    `#/inbox/${'x'.repeat(300)}`,
  ])('%s is none: the first screen, with nothing open', address => {
    expect(routeOf(address)).toEqual({ screen: 'inbox', open: undefined })
  })

  test.each(['#/sent/12', '#/evidence/paXE9xEGO_8WT1-KPH7mLA', '#/node/1', '#/agents/bob'])(
    '%s opens nothing: no such thing stands there',
    address => {
      expect(routeOf(address)).toEqual({ screen: /[a-z]+/.exec(address)?.[0], open: undefined })
    },
  )
})

test('a place without words that are searched names none', () => {
  expect(addressOf({ screen: 'inbox', open: undefined, q: '  ' })).toBe('#/inbox')
})

test('a new form is not on its way, and pays nothing', () => {
  expect([emptyDraft.busy, emptyOrder.busy, emptyOrder.pay]).toEqual([false, false, false])
})

test('a file that is added to a draft comes after the others', () => {
  expect([withPath({ files: '' }, '/a'), withPath({ files: ' /a \n' }, '/b')]).toEqual(['/a', '/a\n/b'])
})

test('files of a draft are one a line, without blanks around them', () => {
  expect(filesIn({ ...emptyDraft, files: ' /a b.txt\n\n/c\r\n' })).toEqual(['/a b.txt', '/c'])
})
