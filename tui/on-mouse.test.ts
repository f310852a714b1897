/** Clicks and the wheel, on the frame that is seen. */
import { describe, expect, test } from 'vitest'
import { idOf, item, viewOf } from '../view/testing.ts'
import { everyScreen, fullView, Screen } from './testing.ts'

const many = () => viewOf(Array.from({ length: 60 }, (_, n) => item(n + 1)))
const selected = (screen: Screen) => screen.model.panes[screen.model.screen].selected

describe('a click', () => {
  test('selects a row, and opens the one that is selected', () => {
    const screen = new Screen(many(), { columns: 80, rows: 24 }).click('task 7')
    expect([selected(screen), screen.model.thread]).toEqual([idOf(7), undefined])
    screen.click('task 7')
    expect(screen.model.thread?.id).toBe(idOf(7))
    expect(screen.effects).toContainEqual({ type: 'open_thread', id: idOf(7), read: true })
  })

  test('beside an open conversation opens another one in its place', () => {
    const screen = new Screen(many()).press('enter').click({ x: 10, y: 6 })
    expect(screen.model.thread?.id).toBe(selected(screen))
    expect(selected(screen)).not.toBe(idOf(1))
  })

  test('on the conversation beside the list opens it', () => {
    expect(new Screen(fullView).click({ x: 100, y: 10 }).model.thread?.id).toBe(idOf(1))
  })

  test('on a tab goes to its screen, on a word of the foot does what its key does', () => {
    const screen = new Screen(fullView).click('3 Agents')
    expect([screen.model.screen, screen.effects]).toEqual([
      'agents',
      expect.arrayContaining([{ type: 'screen', screen: 'agents' }]),
    ])
    expect(screen.click('delegate').model.composer?.target).toMatchObject({ kind: 'delegate' })
    expect(new Screen(fullView).click('keys').model.help).toBeDefined()
  })

  test('on yes is a yes, where all of the question was seen', () => {
    const screen = new Screen(viewOf([item(1, { state: 'pending', peer_name: null })])).press('a')
    expect(screen.click('yes').effects).toContainEqual(expect.objectContaining({ name: 'approve' }))
    const small = new Screen(viewOf([item(1, { state: 'pending', peer_name: null })]), {
      columns: 40,
      rows: 12,
    }).press('a')
    expect(small.text).not.toMatch(/^ *y yes/m)
  })

  test('on a row does nothing while something is written or asked', () => {
    const screen = new Screen(many()).press('r', '"words"').click('task 7')
    expect([selected(screen), screen.model.composer?.buffer.text]).toEqual([idOf(1), 'words'])
  })

  test('anywhere on any screen breaks nothing', () => {
    const size = { columns: 100, rows: 20 }
    for (const [, screen] of everyScreen(size)) {
      const { model } = screen
      for (let y = 0; y < size.rows; y += 4)
        for (let x = 3; x < size.columns; x += 24) {
          screen.model = model
          expect(screen.click({ x, y }).widths).toEqual([size.columns])
        }
    }
  })
})

describe('the wheel', () => {
  test('moves the selection of the list that is under it', () => {
    const screen = new Screen(many()).wheel('down', { x: 5, y: 8 }).wheel('down', { x: 5, y: 8 })
    expect(selected(screen)).toBe(idOf(3))
    expect(selected(screen.wheel('up', { x: 5, y: 8 }))).toBe(idOf(2))
  })

  test('scrolls the conversation that is under it, open or not', () => {
    const size = { columns: 120, rows: 12 }
    const screen = new Screen(fullView, size)
    const end = screen.text
    screen.wheel('up', { x: 100, y: 6 })
    expect(screen.text).not.toBe(end)
    expect(selected(screen)).toBe(idOf(1))
    expect(screen.wheel('down', { x: 100, y: 6 }).text).toBe(end)
    screen.press('enter', 'G').wheel('up', { x: 100, y: 6 })
    expect(screen.model.thread?.up).toBe(3)
  })

  test('scrolls help, and what a command printed', () => {
    const screen = new Screen(fullView, { columns: 80, rows: 14 }).press('?').wheel('down', { x: 5, y: 8 })
    expect(screen.model.help?.top).toBe(3)
  })
})

test('M gives the mouse back to the terminal, which then selects text, and takes it again', () => {
  const screen = new Screen(fullView).press('M')
  expect(screen.effects).toEqual([{ type: 'mouse', on: true }])
  expect(screen.text).toContain('shift selects text')
  expect(screen.press('M').effects.at(-1)).toEqual({ type: 'mouse', on: false })
  expect(screen.text).toContain('M turns it on')
})
