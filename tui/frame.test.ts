/** Frames at the widths of narrow, usual and wide terminals. */
import { describe, expect, test } from 'vitest'
import { reduce } from '../view/reduce.ts'
import { screens } from '../view/rows.ts'
import { firstView } from '../view/state.ts'
import { idOf, item, reply, statusOf, threadOf, turn, viewOf } from '../view/testing.ts'
import { everyScreen, Screen } from './testing.ts'

const tasks = [
  item(1, { unread: 2, preview: 'Summarise the report that is attached', attachments: 1 }),
  item(2, { state: 'pending', peer_name: null, preview: '你好，请翻译这份文件' }),
  item(3, { state: 'ended', receipt: { id: 'r', verified: true, status: 'OK', result_cid: 'c' } }),
  item(4, { side: 'sent', state: 'queued', delivery: { state: 'queued', reason: 'hub down' } }),
]
const widths = [40, 60, 100, 160] as const
const sizes = widths.flatMap(columns => [12, 24, 50].map(rows => ({ columns, rows })))

/** The clock is that of the place where the test runs. */
const timeless = (text: string) => text.replace(/\d\d:\d\d/g, 'hh:mm')

describe('a frame', () => {
  test.each(sizes)('is exactly as large as the terminal on every screen: %o', size => {
    const screen = new Screen(viewOf(tasks), size)
    for (const n of screens.keys()) {
      screen.press(String(n + 1))
      expect([screen.widths, screen.frame.lines.length]).toEqual([[size.columns], size.rows])
      for (const overlay of ['?', ':']) {
        screen.press(overlay)
        expect([screen.widths, screen.frame.lines.length]).toEqual([[size.columns], size.rows])
        screen.press('esc')
      }
    }
    screen.press('1', 'enter', 'r', '"a reply"')
    expect([screen.widths, screen.frame.lines.length]).toEqual([[size.columns], size.rows])
    const { cursor } = screen.frame
    expect(cursor?.y).toBeLessThan(size.rows)
    expect(cursor?.x).toBeLessThan(size.columns)
  })

  test.each(widths)('of the inbox, %i columns', columns => {
    const screen = new Screen(viewOf(tasks), { columns, rows: 14 })
    expect(timeless(screen.text)).toMatchSnapshot()
  })

  test.each(widths)('of a conversation, %i columns', columns => {
    const view = reduce(
      viewOf(tasks),
      reply(
        'thread',
        { interaction_id: idOf(1) },
        threadOf(1, {
          turns: [
            turn(1, {
              kind: 'delegate',
              text: 'Summarise the report',
              attachments: [
                {
                  name: 'report.pdf',
                  media_type: 'application/pdf',
                  bytes: 1_250_000,
                  cid: `bafkrei${'c'.repeat(52)}`,
                  path: null,
                },
              ],
            }),
            turn(2, { mine: true, auto: true, text: 'Working on it', delivery: { state: 'delivered' } }),
            turn(3, { kind: 'end', text: '' }),
          ],
        }),
      ),
    )
    expect(timeless(new Screen(view, { columns, rows: 24 }).press('enter').text)).toMatchSnapshot()
  })

  test.each([
    { columns: 40, rows: 12 },
    { columns: 80, rows: 24 },
    { columns: 200, rows: 60 },
  ])('of every screen, and of what may stand over it, has no line that is too wide: %o', size => {
    for (const [name, screen] of everyScreen(size)) {
      const { lines, cursor = { x: 0, y: 0 } } = screen.frame
      expect([name, screen.widths, lines.length]).toEqual([name, [size.columns], size.rows])
      expect([name, cursor.x < size.columns, cursor.y < size.rows]).toEqual([name, true, true])
    }
  })

  test.each([
    [39, 30, 'svc: make the terminal at least 40×12;\\nq quits'],
    [80, 11, 'svc: make the terminal at least 40×12; q quits'],
    [24, 1, 'svc needs 40×12; q quits'],
    [10, 2, 'svc needs\n40×12'],
  ])('below the smallest size is a notice that fits: %i×%i', (columns, rows, says) => {
    const screen = new Screen(viewOf(tasks), { columns, rows })
    expect(screen.text).toMatch(new RegExp(`^${says}`))
    expect([screen.widths, screen.frame.lines.length]).toEqual([[columns], rows])
    // what is not seen is not answered
    screen.press('j', 'a', 'y', 'r', '"words"')
    expect([screen.effects, screen.model.confirm, screen.model.composer]).toEqual([[], undefined, undefined])
    expect(screen.press('q').model.isQuitting).toBe(true)
  })

  test.each([40, 60, 100])('says every state in a word, %i columns', columns => {
    const states = ['pending', 'open', 'end_proposed', 'ended', 'declined', 'failed'] as const
    const screen = new Screen(
      viewOf(states.map((state, n) => item(n + 1, { state, unread: n === 1 ? 3 : 0 }))),
      {
        columns,
        rows: 14,
      },
    )
    for (const word of [
      'asks you',
      'running',
      'end proposed',
      'ended',
      'declined',
      'failed',
      '3 new',
      'online',
    ])
      expect(screen.text).toContain(word)
    expect(screen.press('j', 'enter').text).toContain('running')
  })

  test('before anything is known says that it loads', () => {
    expect(new Screen(firstView).text).toContain('connecting')
    expect(new Screen(firstView).text).toContain('loading')
  })

  test('names the worst first, and counts the rest', () => {
    const hub = { ...statusOf().hub!, state: 'offline' as const }
    const chain = { ...statusOf().chain, state: 'QUARANTINED' as const }
    const { text } = new Screen(viewOf(tasks, { hub, chain, warnings: ['one', 'two'] }), {
      columns: 80,
      rows: 24,
    })
    expect(text).toMatch(/✗ QUARANTINED/)
    expect(text).toMatch(/! hub not reached.*\(\+2: !\)/)
  })
})
