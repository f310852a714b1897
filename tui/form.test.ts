/** Settings as questions. */
import { describe, expect, test } from 'vitest'
import { fieldsOf } from '../view/settings/setting.ts'
import { settings } from '../view/settings.ts'
import type { View } from '../view/state.ts'
import { ALICE, BOB, NOW, statusOf, viewOf } from '../view/testing.ts'
import { plainLines } from './paint.ts'
import { readerFrame } from './reader.ts'
import { Screen } from './testing.ts'

const contact = (aid: string, petname: string) => ({ aid, petname, blocked: false, added_at: NOW })
/** A node of which everything is known. */
const known = (): View => ({
  ...viewOf([]),
  status: statusOf(),
  contacts: [contact(ALICE, 'anna'), contact(BOB, 'bob')],
  autoReply: { enabled: false },
  answerers: {
    agents: [
      { agent: 'claude', found: true },
      { agent: 'codex', found: false },
    ],
  },
  a2a: { on: false },
  spend: { auto_max: 1, agent_max: 2, day_max: 30, payee_day_max: 20, spent_today: 3 },
  prices: { prices: [] },
  capabilities: { modules: [], capabilities: [] },
})

/** The screen of the node with a setting selected. */
function at(id: string, size = { columns: 80, rows: 24 }): Screen {
  const screen = new Screen(known(), size).press('5')
  for (let n = settings.findIndex(row => row.id === id); n > 0; n -= 1) screen.press('j')
  return screen
}
const sets = (screen: Screen) => screen.effects.filter(({ type }) => type === 'set' || type === 'try')

describe('the screen of the node', () => {
  test.each([40, 80, 120])('lists what can be set, each by its name, %i columns', columns => {
    const screen = new Screen(known(), { columns, rows: 40 }).press('5')
    const seen = new Set<string>()
    for (let n = 0; n < settings.length; n += 1) {
      for (const line of screen.text.split('\n')) seen.add(line)
      screen.press('j')
    }
    const all = [...seen].join('\n')
    for (const { heading } of settings) expect(all).toContain(heading)
  })

  test('says why a setting is not offered, in the list and when it is opened', () => {
    const screen = at('auto_reply_off', { columns: 200, rows: 40 })
    expect(screen.text).toContain('Turn the auto-reply off  the auto-reply is off')
    expect(screen.press('enter').text).toContain('the auto-reply is off')
    expect([screen.model.form, screen.model.confirm]).toEqual([undefined, undefined])
  })
})

describe('a setting', () => {
  test('is asked field by field, with what stands there now and its bounds, and asks once more', () => {
    const screen = at('spend').press('enter')
    expect(screen.text).toContain('One payment of the node')
    expect(screen.text).toContain('1 of 4')
    expect(screen.text).toContain('a whole number of credits')
    expect(screen.text).toContain('› 1')
    screen.press('ctrl-u', '"5"', 'enter', 'enter', 'ctrl-u', '"40"', 'enter', 'enter')
    expect(screen.text).toContain('Let up to 40 credits a day go without asking you?')
    expect(sets(screen)).toEqual([])
    screen.press('y')
    const values = { auto_max: '5', agent_max: '2', day_max: '40', payee_day_max: '20' }
    expect(sets(screen)).toEqual([{ type: 'set', id: 'spend', values }])
  })

  test('says its bounds before they are hit', () => {
    const screen = at('auto_reply').press('enter')
    const seen = [screen.text]
    for (let n = 0; n < 10; n += 1) seen.push(screen.press('enter').text)
    expect(seen.join('\n')).toMatch(/a whole number of seconds from 1 to \d+/)
    expect(at('backup').press('enter').text).toMatch(/12 to \d+ characters/)
  })

  test('is closed by esc without change, also at its question', () => {
    const screen = at('spend').press('enter', '"9"', 'esc')
    expect([screen.model.form, sets(screen), screen.text]).toEqual([
      undefined,
      [],
      expect.stringContaining('nothing was changed'),
    ])
    const asked = at('spend').press('enter', 'enter', 'enter', 'ctrl-u', '"50"', 'enter', 'enter', 'n')
    expect([asked.model.confirm, sets(asked)]).toEqual([undefined, []])
    expect(asked.model.form?.values['day_max']).toBe('50')
  })

  test('says at a field what cannot be right, and asks the node nothing', () => {
    const screen = at('spend').press('enter', 'ctrl-u', '"many"', 'enter')
    expect(screen.text).toContain('✗ expected a whole number')
    expect(screen.model.form?.at).toBe(0)
    screen.press('ctrl-u', '"99"', 'enter', 'enter', 'enter', 'enter')
    expect(screen.text).toContain('so much for one payment needs at least 99 here')
    expect(screen.model.form?.at).toBe(2)
    expect(sets(screen)).toEqual([])
  })

  test('goes back to the field before, which keeps what was typed', () => {
    const screen = at('spend').press('enter', 'ctrl-u', '"7"', 'enter', 'shift-tab')
    expect([screen.model.form?.at, screen.model.form?.buffer.text]).toEqual([0, '7'])
  })

  test('is chosen from a list with the arrows, and by y and n where it is a switch', () => {
    const screen = at('auto_reply').press('enter')
    expect(screen.text).toContain('● a coding agent')
    screen.press('down')
    expect(screen.text).toContain('● a program of yours')
    screen.press('up', 'enter')
    expect(screen.text).toContain('● claude')
    expect(at('accept').press('enter', 'n').model.form?.values['on']).toBe('no')
  })

  test('is tried before it is kept, where that can be', () => {
    const screen = at('auto_reply').press('enter')
    expect(screen.text.split('\n').at(-1)).toContain('^t try it')
    screen.press('ctrl-t')
    expect(sets(screen)).toMatchObject([
      { type: 'try', id: 'auto_reply', values: { who: 'agent', agent: 'claude' } },
    ])
    expect(at('spend').press('enter').text).not.toContain('try it')
  })

  test('without fields is its question alone', () => {
    const screen = at('hub_leave').press('enter')
    expect(screen.text).toContain('Leave https://hub.example?')
    expect(screen.press('y').effects).toContainEqual({ type: 'set', id: 'hub_leave', values: {} })
  })

  test('that cannot be taken back says so before a yes', () => {
    const screen = at('rotate').press('enter', 'enter')
    expect(screen.text).toContain('Change the key of this identity?')
    expect(screen.text).toContain('this cannot be taken back')
  })

  test('never shows a secret, neither what is typed nor later', () => {
    const screen = at('backup').press('enter', '"correct horse battery"')
    expect(screen.text).not.toContain('horse')
    expect(screen.text).toContain('•'.repeat(21))
    screen.press('enter')
    expect(screen.text).not.toContain('horse')
    expect(plainLines(readerFrame(screen.scene).lines).join('\n')).not.toContain('horse')
  })

  test('takes pasted words into the field that is typed, as one line', () => {
    const screen = at('contact_add').press('enter').paste(`${BOB}\n`)
    expect(screen.model.form?.values['aid']).toBe(BOB)
  })

  test('is read out field by field to a screen reader', () => {
    const read = (screen: Screen) => plainLines(readerFrame(screen.scene).lines).join('\n')
    const screen = at('accept')
    expect(read(screen)).toMatch(/Setting \d+ of \d+: Take tasks of others\./)
    screen.press('enter')
    expect(read(screen)).toContain('Field 1 of 1: Take tasks.')
    expect(read(screen)).toContain('Choices: yes; no.')
    expect(read(screen.press('n'))).toContain('Chosen: no.')
  })

  test.each(settings.map(row => [row.id, row] as const))(
    '%s fits every screen, at each of its fields',
    (id, row) => {
      for (const size of [
        { columns: 40, rows: 12 },
        { columns: 200, rows: 60 },
      ]) {
        const screen = at(id, size).press('enter')
        if (row.unless?.(known()) !== undefined) {
          expect(screen.model.form).toBeUndefined()
          continue
        }
        const values = screen.model.form?.values ?? {}
        for (const [n, field] of fieldsOf(row, values).entries()) {
          if (screen.model.form !== undefined)
            screen.model = { ...screen.model, form: { ...screen.model.form, at: n } }
          const { lines, cursor } = screen.frame
          expect([screen.widths, lines.length]).toEqual([[size.columns], size.rows])
          expect(screen.text).toContain(field.label.slice(0, 20))
          expect(cursor === undefined || (cursor.x < size.columns && cursor.y < size.rows)).toBe(true)
        }
      }
    },
  )
})
