/** Files and prices on the terminal; and terminals without colours, and for a screen reader. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTmux, type Terminal, Tmux, withTmux } from './tmux.ts'
import { openInbox, openPair, type Pair } from './world.ts'

const ESC = '\u001b'

describe.skipIf(!hasTmux)(`work on a terminal${withTmux}`, () => {
  let tmux: Tmux
  let pair: Pair
  beforeAll(async () => {
    tmux = new Tmux()
    pair = await openPair()
    await pair.world.svc('alice', 'contact', 'add', pair.aids.bob, 'bob')
    await pair.world.svc('bob', 'contact', 'add', pair.aids.alice, 'alice')
  })
  afterAll(async () => {
    tmux?.close()
    await pair?.world[Symbol.asyncDispose]()
  })

  test('a file is attached by its path, which tab completes, and saved on the other side', async () => {
    const { world } = pair
    writeFileSync(world.dir('home', 'report-of-may.md'), 'words\n')
    const alice = await openInbox(tmux, world, 'alice')
    const bob = await openInbox(tmux, world, 'bob')
    alice.press('3')
    await alice.sees('bob')
    alice.press('d').type('Read this').press('C-t').type('~/rep').press('Tab')
    await alice.sees('attach file: ~/report-of-may.md')
    alice.press('Enter')
    await alice.sees('+ ~/report-of-may.md')
    alice.press('C-t').type('~/nothing.md').press('Enter', 'Enter')
    await alice.sees('there is no file ~/nothing.md')
    alice.press('C-x', 'Enter')
    await alice.sees('delegated')
    await bob.sees('Read this')
    bob.press('Enter')
    await bob.sees('report-of-may.md')
    bob.press('S').press('C-u').type(world.dir('home', 'saved')).press('Enter')
    await bob.sees(/\d files? in/)
    alice.press('q')
    bob.press('Escape', 'q')
  })

  test('a price is approved with one key and y, which show payee, amount, hub and purpose', async () => {
    const { world, aids } = pair
    await world.svc('bob', 'price', 'set', 'task', '5')
    const alice = await openInbox(tmux, world, 'alice')
    await world.svc('alice', 'delegate', 'bob', 'a task that costs')
    alice.press('2')
    await alice.sees('PAYMENT_REQUIRED')
    alice.press('g')
    await alice.sees('asks 5 credits')
    alice.press('a')
    const question = await alice.sees('Pay 5 credits to bob?')
    for (const said of [aids.bob, '5 credits', 'http://127.0.0.1', 'a task that costs'])
      expect(question).toContain(said)
    await alice.sees(/balance +\d+, \d+ after it/)
    alice.press('y')
    await alice.sees('paid; the task goes on')
    // price and paid task are one row, which stays selected
    await alice.sees(/a task that costs +5cr.*5 credits (on the way|held by the hub|paid)/s)
    alice.press('q')
  })

  /** What a run of the inbox asked of the terminal: the numbers of its colours, and of its other attributes. */
  async function asked(env: Record<string, string>) {
    const terminal = await openInbox(tmux, pair.world, 'bob', { env })
    await terminal.sees('Read this')
    terminal.press('5')
    await terminal.sees('this node')
    terminal.press('q')
    await terminal.sees(/shell>\s*$/)
    const codes = [...terminal.bytes.matchAll(new RegExp(`${ESC}\\[([0-9;:]*)m`, 'g'))]
      .flatMap(([, given = '']) => (given === '' ? ['0'] : given.split(/[;:]/)))
      .map(Number)
    const isColour = (code: number) => (code >= 30 && code <= 49) || code >= 90
    return {
      colours: new Set(codes.filter(isColour)),
      others: new Set(codes.filter(code => !isColour(code))),
    }
  }

  test.each([
    ['no colours', { NO_COLOR: '1', COLORTERM: 'truecolor' }],
    ['a terminal that has none', { TERM: 'dumb' }],
  ])('%s: everything is said by words, bold and inverse', async (_what, env) => {
    const { colours, others } = await asked(env)
    expect([...colours]).toEqual([])
    expect(others).toContain(7)
    expect(others).toContain(1)
  })

  // a light terminal and a dark one have chosen these, and never a background or a shade of ours
  test.each([
    ['16 colours', { TERM: 'xterm', COLORTERM: '' }],
    ['256 colours', { TERM: 'xterm-256color', COLORTERM: '' }],
    ['true colours', { TERM: 'xterm-256color', COLORTERM: 'truecolor' }],
    ['a light background', { TERM: 'xterm-256color', COLORFGBG: '0;15' }],
  ])('%s: only foregrounds of the terminal’s own sixteen', async (_what, env) => {
    const { colours } = await asked(env)
    expect(colours.size).toBeGreaterThan(1)
    for (const code of colours) expect([31, 32, 33, 36, 39]).toContain(code)
  })

  test('for a screen reader is plain lines on the usual screen', async () => {
    const { world } = pair
    const terminal: Terminal = tmux.open(world.env('bob'))
    terminal.type(`${world.node} ${world.programs.svc} tui --screen-reader`).press('Enter')
    await terminal.sees(/Tasks to me, row 1 of \d/)
    expect(terminal.fact('alternate_on')).toBe('0')
    expect(terminal.screen).not.toMatch(/[│▌─]/)
    terminal.press('j')
    await terminal.sees(/row 2 of \d/)
    terminal.press('k', 'Enter')
    await terminal.sees('signed by')
    terminal.press('Escape', '5')
    await terminal.sees('this node')
    terminal.press('q')
    await terminal.sees(/shell>\s*$/)
  })
})
