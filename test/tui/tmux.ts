/** Terminals of tmux, in which stories type and read the screen as a person does. */
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import stringWidth from 'string-width'

export const hasTmux = spawnSync('tmux', ['-V']).status === 0
/** For the title of what is skipped. */
export const withTmux = hasTmux ? '' : ' (skipped: tmux is not installed)'

/** Of the shell in each terminal. */
export const PROMPT = 'shell> '
const WAIT_MS = 60_000
const LOOK_MS = 30

export type Size = { columns: number; rows: number }

/** A server of tmux of its own, which ends with its terminals. */
export class Tmux {
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-tmux-'))
  readonly #socket = join(this.#folder, 'socket')
  readonly #rc = join(this.#folder, 'rc')
  #count = 0

  constructor() {
    writeFileSync(this.#rc, `PS1='${PROMPT}'\nunset HISTFILE\n`)
  }

  run(...words: string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, '-f', '/dev/null', ...words], {
      encoding: 'utf8',
      env: { ...process.env, TERM: 'xterm-256color' },
    })
  }

  /** A terminal with a shell that keeps its history, its title and its settings to itself. */
  open(env: Record<string, string>, { columns, rows }: Size = { columns: 120, rows: 30 }): Terminal {
    const name = `t${this.#count++}`
    const given = Object.entries(env).flatMap(([key, value]) => ['-e', `${key}=${value}`])
    const size = ['-x', String(columns), '-y', String(rows)]
    this.run('new-session', '-d', '-s', name, ...size, ...given, `bash --noprofile --rcfile '${this.#rc}' -i`)
    return new Terminal(this, name, join(this.#folder, `${name}.bytes`))
  }

  /** Cells that this terminal gives to a text. */
  widthOf(text: string): number {
    this.run('set-option', '-g', '@text', text)
    return Number(this.run('display-message', '-p', '#{w:@text}'))
  }

  close(): void {
    spawnSync('tmux', ['-S', this.#socket, 'kill-server'])
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export class Terminal {
  readonly #tmux: Tmux
  readonly #name: string
  readonly #bytes: string

  constructor(tmux: Tmux, name: string, bytes: string) {
    this.#tmux = tmux
    this.#name = name
    this.#bytes = bytes
    appendFileSync(bytes, '')
    tmux.run('pipe-pane', '-t', name, `cat >> '${bytes}'`)
  }

  /** Keys as tmux names them: `Enter`, `C-e`, `Escape`, `G`. */
  press(...keys: string[]): this {
    for (const key of keys) this.#tmux.run('send-keys', '-t', this.#name, key)
    return this
  }

  /** Letters, one after the other. */
  type(text: string): this {
    this.#tmux.run('send-keys', '-t', this.#name, '-l', text)
    return this
  }

  /** A report of the mouse, as a terminal sends it: cells from 1, and the button. */
  mouse(button: number, { x, y }: { x: number; y: number }): this {
    const bytes = [...`\u001b[<${button};${x};${y}M`].map(letter => letter.charCodeAt(0).toString(16))
    this.#tmux.run('send-keys', '-t', this.#name, '-H', ...bytes)
    return this
  }

  /** A click on the first place that shows these words. */
  click(words: string): this {
    const lines = this.screen.split('\n')
    const y = lines.findIndex(line => line.includes(words))
    const line = lines[y] ?? ''
    return this.mouse(0, { x: stringWidth(line.slice(0, line.indexOf(words))) + 1, y: y + 1 })
  }

  /** As a terminal pastes. */
  paste(text: string): this {
    this.#tmux.run('set-buffer', '--', text)
    this.#tmux.run('paste-buffer', '-p', '-t', this.#name)
    return this
  }

  resize({ columns, rows }: Size): this {
    this.#tmux.run('resize-window', '-t', this.#name, '-x', String(columns), '-y', String(rows))
    return this
  }

  get screen(): string {
    return this.#tmux.run('capture-pane', '-p', '-t', this.#name)
  }

  /** With the sequences that colour it. */
  get coloured(): string {
    return this.#tmux.run('capture-pane', '-e', '-N', '-p', '-t', this.#name)
  }

  /** What tmux knows of the terminal, as `alternate_on`. */
  fact(name: string): string {
    return this.#tmux.run('display-message', '-p', '-t', this.#name, `#{${name}}`).trim()
  }

  /** Everything that was written to the terminal so far. */
  get bytes(): string {
    return readFileSync(this.#bytes, 'utf8')
  }

  /** Waits until the screen shows something. */
  async sees(what: string | RegExp, withinMs = WAIT_MS): Promise<string> {
    return await this.until(
      screen => screen.search(typeof what === 'string' ? literal(what) : what) >= 0,
      `${what}`,
      withinMs,
    )
  }

  async until(holds: (screen: string) => boolean, what: string, withinMs = WAIT_MS): Promise<string> {
    const end = performance.now() + withinMs
    for (;;) {
      const { screen } = this
      if (holds(screen)) return screen
      if (performance.now() > end) throw new Error(`the terminal never showed ${what}:\n${screen}`)
      await pause(LOOK_MS)
    }
  }
}

const literal = (text: string): RegExp => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
