/** Opens the inbox on this terminal and gives it back whole: at the end, while it is suspended, and after a crash. */
import { setTimeout as pause } from 'node:timers/promises'
import { render } from 'ink'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { App, type Lend } from './app.tsx'
import { Driver, type Ways } from './driver.ts'
import type { Terminal } from './effects.ts'
import type { Host } from './host.ts'
import { MouseMode, withoutMouse } from './mouse.ts'
import { hasColours } from './paint.ts'
import { isAsciiOnly } from './signs.ts'
import { wantsStill } from './still.ts'

/** Frames of what a person does; changes from outside come at most ten times a second. */
const FRAMES_PER_SECOND = 60
const WORDS_MAX = 400
/** After a stop signal the process stands still before this is over. */
const STOP_MS = 50
/** What a terminal does not take within this time is let go. */
const LAST_WORDS_MS = 1_000
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const

/** What a person wants of the screen. */
export type Wishes = { readonly isReader: boolean; readonly hasMouse: boolean; readonly isStill: boolean }

/** The terminal while it is somebody else's: an editor's, the demo's or the shell's. */
class Lending {
  /** How Ink gives it up, once it has it. */
  lend: Lend | undefined
  readonly #mouse: MouseMode
  #count = 0

  constructor(mouse: MouseMode) {
    this.#mouse = mouse
  }

  /** A program has it now, and its Ctrl-C. */
  get isLent(): boolean {
    return this.#count > 0
  }

  async to(work: () => Promise<void>): Promise<void> {
    this.#count += 1
    await this.#given(work).finally(() => {
      this.#count -= 1
    })
  }

  async toShell(): Promise<void> {
    if (process.platform === 'win32') return
    await this.#given(async () => {
      // the whole job, as a shell knows it
      process.kill(0, 'SIGTSTP')
      await pause(STOP_MS)
    })
  }

  /** Given and taken back, after which all is drawn anew. */
  forNothing(): void {
    void this.lend?.(async () => undefined)
  }

  async #given(work: () => Promise<void>): Promise<void> {
    if (this.lend === undefined) return
    this.#mouse.pause()
    await this.lend(work).finally(() => this.#mouse.resume())
  }
}

/** Resolves once the person quits. */
export async function openInbox(host: Host, { isReader, hasMouse, isStill }: Wishes): Promise<void> {
  const { stdout, stdin } = process
  neverWaitFor(stdout)
  const mouse = new MouseMode(stdout)
  const lending = new Lending(mouse)
  const terminal: Terminal = {
    lend: work => lending.to(work),
    suspend: () => lending.toShell(),
    redraw: () => lending.forNothing(),
    copy: text => void stdout.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`),
    mouse: on => mouse.turn(on),
    quit: () => instance.unmount(),
  }
  const ways: Ways = {
    colours: hasColours(host.env),
    isReader,
    hasMouse,
    isAscii: isAsciiOnly(host.env),
    // a reader says anew what counts by the second
    isStill: isReader || isStill || wantsStill(host.env),
    isBusy: () => stdout.writableNeedDrain,
  }
  const driver = new Driver(host, terminal, ways, { columns: stdout.columns, rows: stdout.rows })
  stdout.on('drain', driver.drawAnew)
  const instance = render(<App driver={driver} onTerminal={given => (lending.lend = given)} />, {
    stdin: withoutMouse(stdin, report => driver.point(report)),
    alternateScreen: !isReader,
    incrementalRendering: true,
    exitOnCtrlC: false,
    maxFps: FRAMES_PER_SECOND,
    isScreenReaderEnabled: isReader,
    kittyKeyboard: { mode: 'auto' },
    interactive: true,
  })
  mouse.turn(hasMouse)
  // a terminal that is gone
  stdout.on('error', () => instance.unmount())
  // printed on the screen of before, where it is read
  const crash = (error: unknown) => {
    mouse.turn(false)
    instance.unmount()
    process.stderr.write(`svc: the inbox broke: ${plainLine(wordsOf(error), WORDS_MAX)}; drafts are kept\n`)
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  const ended = endOnSignals(
    () => {
      driver.stop()
      mouse.turn(false)
      instance.unmount()
    },
    () => lending.isLent,
  )
  try {
    await instance.waitUntilExit()
    mouse.turn(false)
    await flushed()
  } finally {
    process.off('uncaughtException', crash)
    stdout.off('drain', driver.drawAnew)
    ended()
    driver.stop()
  }
}

/** Writes to a terminal wait for whoever reads it, and nothing else runs then, no signal is heard; these don't. */
function neverWaitFor(stdout: NodeJS.WriteStream): void {
  const { _handle: handle } = stdout as { _handle?: { setBlocking?: (on: boolean) => void } }
  handle?.setBlocking?.(false)
}

/**
 * Ends as the signal says once the terminal is whole, or after a while where nobody reads it; gives what stops that.
 * Ctrl-C on a terminal that is lent ends the program it is lent to, and nothing else.
 */
function endOnSignals(close: () => void, isLent: () => boolean): () => void {
  let ending = false
  const listeners = SIGNALS.map(signal => {
    const end = async () => {
      if (ending || (signal === 'SIGINT' && isLent())) return
      ending = true
      close()
      await flushed()
      for (const one of SIGNALS) process.removeAllListeners(one)
      process.kill(process.pid, signal)
    }
    process.on(signal, end)
    return () => void process.off(signal, end)
  })
  return () => {
    for (const off of listeners) off()
  }
}

/** Once the terminal has taken everything, or does not. */
function flushed(): Promise<void> {
  const { stdout } = process
  if (stdout.writableLength === 0 || stdout.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(end, LAST_WORDS_MS)
    stdout.write('', end)
  })
}
