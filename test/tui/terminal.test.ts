/** What the inbox does to a terminal: it draws without flicker and gives it back whole, however it ends. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTmux, PROMPT, type Terminal, Tmux, withTmux } from './tmux.ts'
import { openInbox, openPair, type Pair } from './world.ts'

const ESC = '\u001b'
const countOf = (bytes: string, sequence: string) => bytes.split(sequence).length - 1
/** Clears of the whole screen or of all below the cursor. */
const clears = (bytes: string) =>
  ['', '0', '1', '2', '3'].reduce((sum, how) => sum + countOf(bytes, `${ESC}[${how}J`), 0)
/** Frames, as Ink marks them for the terminal. */
const frames = (bytes: string) => countOf(bytes, `${ESC}[?2026h`)
const read = (path: string) => readFileSync(path, 'utf8')
/** The shell waits for a line. */
const AT_PROMPT = new RegExp(`(^|\\n)${PROMPT.trim()}\\s*$`)

const UNREAD = new URL('unread-terminal.py', import.meta.url).pathname
const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0

/** The process that the shell of a terminal runs. */
function child(terminal: Terminal): number {
  const shell = terminal.fact('pane_pid')
  const [first] = readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim().split(' ')
  return Number(first)
}

describe.skipIf(!hasTmux)(`a terminal${withTmux}`, () => {
  let tmux: Tmux
  let pair: Pair
  beforeAll(async () => {
    tmux = new Tmux()
    pair = await openPair()
    await pair.world.svc('bob', 'contact', 'add', pair.aids.alice, 'alice')
  })
  afterAll(async () => {
    tmux?.close()
    await pair?.world[Symbol.asyncDispose]()
  })

  const open = (options: Parameters<typeof openInbox>[3] = {}) => openInbox(tmux, pair.world, 'bob', options)

  /** The shell reads lines again, on the screen that was there before, with a cursor. */
  async function isWhole(terminal: Terminal) {
    await terminal.sees(AT_PROMPT)
    expect([terminal.fact('alternate_on'), terminal.fact('cursor_flag')]).toEqual(['0', '1'])
    expect(terminal.fact('mouse_any_flag')).toBe('0')
    terminal.type('stty -a; echo do"ne"').press('Enter')
    const screen = await terminal.sees('done')
    expect(screen).toMatch(/ icanon /)
    expect(screen).toMatch(/ echo /)
  }

  test('is whole after a quit', async () => {
    const terminal = await open()
    expect(terminal.fact('alternate_on')).toBe('1')
    terminal.press('q')
    await isWhole(terminal)
  })

  test('is the shell’s after ctrl-z, and the inbox is there again after fg', async () => {
    const terminal = await open()
    expect([terminal.fact('mouse_any_flag'), terminal.fact('mouse_sgr_flag')]).toEqual(['1', '1'])
    terminal.press('C-z')
    await terminal.sees('Stopped')
    expect([terminal.fact('alternate_on'), terminal.fact('mouse_any_flag')]).toEqual(['0', '0'])
    terminal.type('echo still"-"here').press('Enter')
    await terminal.sees('still-here')
    terminal.type('fg').press('Enter')
    await terminal.sees('● online')
    expect([terminal.fact('alternate_on'), terminal.fact('mouse_any_flag')]).toEqual(['1', '1'])
    terminal.press('?')
    await terminal.sees('keys: tasks to me')
    terminal.press('Escape')
    await terminal.sees('no tasks yet')
    terminal.press('q')
    await isWhole(terminal)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('is whole after %s', async signal => {
    const terminal = await open()
    process.kill(child(terminal), signal)
    await isWhole(terminal)
  })

  test.skipIf(!hasPython).each(['SIGTERM', 'SIGHUP'])(
    'that nobody reads any more keeps nothing alive after %s',
    async signal => {
      const { world } = pair
      const { stdout } = await promisify(execFile)(
        'python3',
        [UNREAD, signal, 'no tasks yet', world.node, world.programs.svc, 'tui'],
        { env: { ...process.env, ...world.env('bob') } },
      )
      const [ended, seconds] = stdout.trim().split(' ')
      expect(ended).toBe('ended')
      expect(Number(seconds)).toBeLessThan(5)
    },
  )

  test('is whole after a crash, which says what broke', async () => {
    const breaks = `process.on('SIGUSR2', () => setImmediate(() => { throw new Error('it broke here') }))`
    const given = `--import data:text/javascript,${encodeURIComponent(breaks)}`
    const terminal = await open({ env: { NODE_OPTIONS: given } })
    process.kill(child(terminal), 'SIGUSR2')
    await terminal.sees('it broke here')
    terminal.type('clear').press('Enter')
    await isWhole(terminal)
  })

  test('that dies takes no draft with it', async () => {
    const terminal = await open()
    terminal.press('3')
    await terminal.sees('alice')
    terminal.press('d').type('a thought that matters')
    const kept = () => {
      const folder = pair.world.dir('bob', 'drafts')
      return (
        existsSync(folder) &&
        readdirSync(folder).some(file => read(join(folder, file)).includes('that matters'))
      )
    }
    await terminal.until(kept, 'the draft on the disk')
    process.kill(child(terminal), 'SIGKILL')
    await terminal.sees('Killed')
    const again = await open()
    again.press('3')
    await again.sees('draft')
    again.press('d')
    await again.sees('› a thought that matters')
    again.press('C-u', 'Escape')
    await again.sees('open')
    again.press('q')
  })

  test('is never cleared but at start and when it is resized, whatever comes', async () => {
    const terminal = await open()
    terminal.press('2', '3', '4', '5', '1')
    await terminal.sees('no tasks yet')
    const started = terminal.bytes.length
    for (let n = 0; n < 3; n += 1) await pair.world.svc('alice', 'delegate', pair.aids.bob, `task ${n}`)
    await terminal.sees('task 2')
    terminal.press('j', 'j', 'k', 'Enter', 'r').type('words').press('Escape')
    await terminal.sees('the draft is kept')
    terminal.press('Escape')
    await terminal.sees('open  r reply')
    expect(clears(terminal.bytes.slice(started))).toBe(0)

    terminal.resize({ columns: 70, rows: 20 })
    await terminal.until(screen => !screen.includes('│'), 'one pane')
    terminal.resize({ columns: 130, rows: 40 })
    await terminal.sees('│')
    expect(clears(terminal.bytes.slice(started))).toBeLessThanOrEqual(4)
    terminal.press('q')
    await isWhole(terminal)
  })

  test('gets no byte while nothing changes, and few frames for many changes', async () => {
    const terminal = await open()
    await terminal.sees('task 2')
    await quiet(terminal)
    const before = terminal.bytes.length
    const started = performance.now()
    const all = Array.from({ length: 12 }, (_, n) =>
      pair.world.svc('alice', 'delegate', pair.aids.bob, `burst ${n}`),
    )
    await Promise.all(all)
    await terminal.until(screen => (screen.match(/burst \d+/g)?.length ?? 0) >= 12, 'all of them')
    await quiet(terminal)
    const seconds = (performance.now() - started) / 1000
    expect(frames(terminal.bytes.slice(before)) / seconds).toBeLessThanOrEqual(10)
    terminal.press('q')
    await isWhole(terminal)
  })

  /** Nothing is written for two seconds, which are two ticks of the clock on the screen. */
  async function quiet(terminal: Terminal): Promise<void> {
    let length = -1
    let since = 0
    await terminal.until(() => {
      const now = performance.now()
      if (terminal.bytes.length !== length) since = now
      length = terminal.bytes.length
      return now - since > 2_000
    }, 'two seconds without a byte')
  }
})
