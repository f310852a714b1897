/** `svc demo --tui`: a newcomer sees a task go over. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { hasTmux, Tmux, withTmux } from './tmux.ts'

const program = new URL('../../dist/svc.js', import.meta.url).pathname

describe.skipIf(!hasTmux)(`the demo with both inboxes${withTmux}`, () => {
  const tmux = new Tmux()
  afterAll(() => tmux.close())

  test('shows them beside each other, and a task that is handed over; both quits end it and leave nothing', async () => {
    const terminal = tmux.open(
      { PATH: process.env['PATH'] ?? '', TMPDIR: process.env['TMPDIR'] ?? '/tmp' },
      { columns: 160, rows: 30 },
    )
    terminal.type(`${process.execPath} ${program} demo --tui`).press('Enter')
    await terminal.sees(/\b[5-9]\/13|1[0-3]\/13|● online/)
    await terminal.until(screen => (screen.match(/● online/g)?.length ?? 0) === 2, 'two inboxes')
    terminal.press('3')
    await terminal.sees('text.count')
    terminal.press('d').type('Count the words of this line: one two three').press('Enter')
    await terminal.sees('delegated')
    terminal.press('2')
    await terminal.sees('3 words')
    terminal.press('q')
    // the other one has the whole width then
    await terminal.sees(/^ svc {2}bob@/)
    terminal.press('q')
    await terminal.sees(/shell>\s*$/)
    const root = /\/\S*svc-demo-\w+/.exec(terminal.bytes)?.[0]
    expect(root === undefined || !existsSync(root)).toBe(true)
  })

  test('is refused where no terminal is, before anything is started', () => {
    const ran = spawnSync(process.execPath, [program, 'demo', '--tui'], { encoding: 'utf8' })
    expect([ran.status, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toContain('--tui needs a terminal')
  })
})
