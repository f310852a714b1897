/** Frames at the widths of narrow, usual and wide terminals. */
import { describe, expect, test } from 'vitest'
import { reduce } from '../view/reduce.ts'
import { screens } from '../view/rows.ts'
import { firstView } from '../view/state.ts'
import { idOf, item, reply, statusOf, threadOf, turn, viewOf } from '../view/testing.ts'
import { Screen } from './testing.ts'

const tasks = [
  item(1, { unread: 2, preview: 'Summarise the report that is attached', attachments: 1 }),
  item(2, { state: 'pending', peer_name: null, preview: '你好，请翻译这份文件' }),
  item(3, { state: 'ended', receipt: { id: 'r', verified: true, status: 'OK', result_cid: 'c' } }),
  item(4, { side: 'sent', state: 'queued', delivery: { state: 'queued', reason: 'hub down' } }),
]
const widths = [60, 100, 160] as const
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

  test('below the smallest size is a notice', () => {
    expect(new Screen(viewOf(tasks), { columns: 59, rows: 30 }).text).toMatch(/^svc: make the terminal/)
    expect(new Screen(viewOf(tasks), { columns: 80, rows: 11 }).text).toMatch(/^svc: make the terminal/)
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
