/** Words of a stranger on the terminal: they show, and do nothing else. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTmux, Tmux, withTmux } from './tmux.ts'
import { openInbox, openPair, type Pair } from './world.ts'

const ESC = '\u001b'
const words = [
  `${ESC}]52;c;cm0gLXJmIH4=\u0007clipboard`,
  `${ESC}]0;root shell\u0007title`,
  `${ESC}[2J${ESC}[H${ESC}[1;1Hfake head`,
  `${ESC}[?1049l${ESC}cleft`,
  `\u009b31mred \u202eevil\u202c \u2066x\u2069`,
  `zero\u200b\u200d\u2060width`,
  `\n● queued   bob      4m  a row of its own`,
  `a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308tower`,
  `\r\b\b\bback`,
  '👨‍👩‍👧‍👦 ❤️ 你好 العربية',
].join(' ')

describe.skipIf(!hasTmux)(`words of a stranger on a terminal${withTmux}`, () => {
  let tmux: Tmux
  let pair: Pair
  beforeAll(async () => {
    tmux = new Tmux()
    pair = await openPair()
    const file = pair.world.dir('words.json')
    writeFileSync(file, words)
  })
  afterAll(async () => {
    tmux?.close()
    await pair?.world[Symbol.asyncDispose]()
  })

  test('move nothing, hide nothing and pass for no row, in the list and in the conversation', async () => {
    const terminal = await openInbox(tmux, pair.world, 'bob')
    const title = terminal.fact('pane_title')
    await pair.world.svc('alice', 'delegate', pair.aids.bob, words)
    await terminal.sees('asks you')
    const list = terminal.screen.split('\n')
    expect(list[0]).toMatch(/^ svc {2}bob@/)
    expect(list[1]).toMatch(/^ 1 To me 1/)
    // one row, and no other that looks like one
    expect(list.filter(line => /^[•\s][●?↑→◐✓×$] /.test(line))).toHaveLength(1)
    terminal.press('Enter')
    await terminal.sees('sealed · signed by')
    const screen = terminal.screen
    expect(screen.split('\n')[0]).toMatch(/^ svc {2}bob@/)
    expect(screen).not.toMatch(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069]/)
    expect(screen).toContain('a row of its own')
    // what stands beside the rows stays in its column
    const lines = screen.split('\n')
    const first = lines.findIndex(line => /^[•\s][●?↑→◐✓×$] /.test(line))
    const edges = lines.slice(first, first + 20).map(line => [...line].indexOf('│'))
    expect(new Set(edges).size, screen).toBe(1)
    expect(edges[0]).toBeGreaterThan(0)
    expect(terminal.fact('pane_title')).toBe(title)
    expect(terminal.fact('alternate_on')).toBe('1')
    const { bytes } = terminal
    for (const sequence of [']52', ']0;', 'c']) expect(bytes).not.toContain(ESC + sequence)
    expect(bytes).not.toMatch(/[\u0080-\u009f\u202a-\u202e\u2066-\u2069]/)
  })

  test('that are very long are read without harm', async () => {
    const terminal = await openInbox(tmux, pair.world, 'bob', { size: { columns: 60, rows: 14 } })
    const long = pair.world.dir('long.md')
    writeFileSync(long, `${'word '.repeat(30_000)}\u001b[2Jend of it`)
    await pair.world.svc('alice', 'delegate', pair.aids.bob, 'a long one', '--attach', long)
    await terminal.sees('a long one')
    terminal.press('g', 'Enter')
    await terminal.sees('long.md')
    expect(terminal.screen.split('\n').every(line => line.length <= 60)).toBe(true)
  })
})
