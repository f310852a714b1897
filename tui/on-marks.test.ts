/** Several tasks at once. */
import { describe, expect, test } from 'vitest'
import { idOf, item, viewOf } from '../view/testing.ts'
import { Screen } from './testing.ts'

const view = viewOf([
  item(1, { state: 'pending', peer_name: null, preview: 'look over our terms' }),
  item(2, { state: 'pending', peer_name: 'carol', preview: 'sort my mail' }),
  item(3, { state: 'ended' }),
])
const bulks = (screen: Screen) => screen.effects.filter(({ type }) => type === 'bulk')

describe('tasks that are marked', () => {
  test('are approved together after one question with every name', () => {
    const screen = new Screen(view).press('x', 'x', 'x', 'a')
    expect(screen.text).toContain('Approve 2 tasks?')
    for (const said of ['Abbbbbbbbb…', 'look over our terms', 'carol', 'sort my mail', '1 of the marked'])
      expect(screen.text).toContain(said)
    expect(bulks(screen)).toEqual([])
    expect(bulks(screen.press('y'))).toEqual([
      { type: 'bulk', name: 'approve', ids: [idOf(1), idOf(2)], reason: '' },
    ])
  })

  test('are declined together, with a reason where one is written', () => {
    const screen = new Screen(view).press('x', 'x', 'N', 'r', '"no time"', 'enter')
    expect(screen.text).toContain('“no time”')
    expect(bulks(screen.press('y'))).toMatchObject([{ name: 'decline', reason: 'no time' }])
  })

  test.each([40, 80, 120])('are named by word and sign, and counted, %i columns', columns => {
    const screen = new Screen(view, { columns, rows: 14 }).press('x')
    expect(screen.text).toMatch(/\+.*asks you/)
    expect(screen.text).toContain('1 marked')
    expect(screen.press('k', 'x').text).not.toContain('1 marked')
  })

  test('are marked no more after esc, which leaves the filter', () => {
    const screen = new Screen(view).press('/', '"mail"', 'enter', 'x', 'esc')
    expect([screen.model.marks.size, screen.model.panes.inbox.filter]).toEqual([0, 'mail'])
  })

  test('that failed stay marked, and say why in their row', () => {
    const screen = new Screen(view)
    screen.model = { ...screen.model, marks: new Map([[idOf(1), 'it is over']]) }
    expect(screen.text).toContain('not done: it is over')
  })

  test('of which none waits for a yes are not asked about', () => {
    const screen = new Screen(view).press('G', 'x', 'a')
    expect([screen.model.confirm, screen.text]).toEqual([
      undefined,
      expect.stringContaining('nothing that is marked waits for a yes'),
    ])
  })
})

describe('a task', () => {
  test('is taken out of the list with one key, and not while it waits for a yes', () => {
    const screen = new Screen(view).press('G', 'z')
    expect(bulks(screen)).toEqual([{ type: 'bulk', name: 'archive', ids: [idOf(3)] }])
    expect(new Screen(view).press('z').text).toContain('what waits for your yes stays')
  })

  test('that was taken out stands in a list of its own, from which it is put back', () => {
    const archived = viewOf([item(1), item(2, { archived: true, state: 'ended', preview: 'an old one' })])
    const screen = new Screen(archived)
    expect(screen.text).not.toContain('an old one')
    screen.press('Z')
    expect(screen.effects).toContainEqual({ type: 'narrow' })
    expect(screen.text).toContain('only what was archived')
    expect(screen.text).toContain('an old one')
    expect(bulks(screen.press('z'))).toMatchObject([{ name: 'unarchive', ids: [idOf(2)] }])
  })
})
