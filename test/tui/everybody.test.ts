/** The inbox for everybody: in ASCII, with a mouse or without, without motion, with emoji of any kind, on a small screen. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTmux, PROMPT, Tmux, withTmux } from './tmux.ts'
import { openInbox, openPair, type Pair } from './world.ts'

/** Joined people, a flag, a tone of skin, a heart that is an emoji, a keycap, marks on letters. */
const emoji = '👨‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ 1️⃣ e\u0301\u0302 n\u0303 🏳️‍🌈'

describe.skipIf(!hasTmux)(`the inbox for everybody${withTmux}`, () => {
  let tmux: Tmux
  let pair: Pair
  beforeAll(async () => {
    tmux = new Tmux()
    pair = await openPair()
    await pair.world.svc('bob', 'contact', 'add', pair.aids.alice, 'alice')
    for (const words of [`a first task, with ${emoji} at the end`, '请数到三', 'a third task'])
      await pair.world.svc('alice', 'delegate', pair.aids.bob, words)
  })
  afterAll(async () => {
    tmux?.close()
    await pair?.world[Symbol.asyncDispose]()
  })
  const open = (options: Parameters<typeof openInbox>[3] = {}) => openInbox(tmux, pair.world, 'bob', options)

  test.each([
    ['a locale without more', { LC_ALL: 'C' }],
    ['the console of Linux', { TERM: 'linux' }],
  ])('%s gets no byte but ASCII, on every screen', async (_what, env) => {
    const terminal = await open({ env })
    await terminal.sees('a third task')
    for (const [key, what] of [
      ['Enter', 'signed by'],
      ['?', 'keys: a conversation'],
      ['Escape', 'signed by'],
      ['Escape', 'a third task'],
      ['3', 'alice'],
      ['4', 'our head'],
      ['5', 'what can be set'],
    ] as const) {
      terminal.press(key)
      await terminal.sees(what)
    }
    terminal.press('q')
    await terminal.sees(PROMPT)
    const begun = terminal.bytes.slice(terminal.bytes.indexOf('\u001b[?1049h'))
    expect([...begun].filter(letter => letter > '\u007f')).toEqual([])
    expect(begun).toContain('????????')
  })

  test('emoji of any kind leave the columns in line, in the list and in the conversation', async () => {
    const terminal = await open()
    await terminal.sees('a first task')
    terminal.press('G')
    await terminal.sees('sealed · signed by')
    const edges = terminal.screen.split('\n').flatMap(line => {
      const at = line.indexOf('│')
      return at < 0 ? [] : [tmux.widthOf(line.slice(0, at))]
    })
    expect(edges.length).toBeGreaterThan(20)
    expect(new Set(edges.slice(0, 26)).size, terminal.screen).toBe(1)
    terminal.press('q')
  })

  test('on 40 columns and 12 rows says states in words, and a smaller one what is missing', async () => {
    const terminal = await open({ size: { columns: 40, rows: 12 } })
    const screen = await terminal.sees('running')
    expect(screen).toMatch(/alice +a third/)
    terminal.resize({ columns: 20, rows: 4 })
    await terminal.sees('svc: make the')
    terminal.resize({ columns: 10, rows: 2 })
    await terminal.until(small => small.trim() === 'svc needs\n40×12', 'the notice on two lines')
    terminal.resize({ columns: 80, rows: 20 })
    await terminal.sees('a third task')
    terminal.press('q')
    await terminal.sees(PROMPT)
  })

  test('a mouse selects and opens rows, scrolls, and presses tabs and words of the foot', async () => {
    const terminal = await open({ size: { columns: 80, rows: 24 } })
    await terminal.sees('a first task')
    terminal.click('a first task')
    terminal.click('a first task')
    await terminal.sees('sealed · signed by')
    terminal.click('back')
    await terminal.sees('a third task')
    terminal.click('4 Evidence')
    await terminal.sees('no records yet')
    terminal.click('keys')
    await terminal.sees('keys: evidence')
    terminal.mouse(65, { x: 10, y: 10 })
    await terminal.sees('4–')
    terminal.press('Escape', 'M')
    await terminal.sees('the mouse is off')
    expect(terminal.fact('mouse_any_flag')).toBe('0')
    terminal.press('M')
    await terminal.sees('shift selects text')
    expect(terminal.fact('mouse_any_flag')).toBe('1')
    terminal.press('q')
    await terminal.sees(PROMPT)
    expect(terminal.fact('mouse_any_flag')).toBe('0')
  })

  test('without a mouse leaves it to the terminal', async () => {
    const terminal = await open({ flags: ['--no-mouse'] })
    await terminal.sees('a third task')
    expect(terminal.fact('mouse_any_flag')).toBe('0')
    terminal.press('q')
  })

  test('without motion writes nothing by the clock, also while no node answers', async () => {
    const terminal = await open({ env: { NO_MOTION: '1' } })
    await terminal.sees('a third task')
    await pair.world.svc('bob', 'stop')
    await terminal.sees('the node was stopped')
    const before = terminal.bytes.length
    await new Promise(resolve => setTimeout(resolve, 4_000))
    expect(terminal.bytes.length).toBe(before)
    terminal.press('U')
    await terminal.sees('● online')
    terminal.press('q')
  })
})
