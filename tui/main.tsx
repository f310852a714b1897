/** Opens the inbox on this terminal and gives it back whole: at the end, while it is suspended, and after a crash. */
import { setTimeout as pause } from 'node:timers/promises'
import { render } from 'ink'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { App, type Lend } from './app.tsx'
import { Driver } from './driver.ts'
import type { Host } from './host.ts'
import { hasColours } from './paint.ts'

/** Frames of what a person does; changes from outside come at most ten times a second. */
const FRAMES_PER_SECOND = 60
const WORDS_MAX = 400
/** After a stop signal the process stands still before this is over. */
const STOP_MS = 50
/** What a terminal does not take within this time is let go. */
const LAST_WORDS_MS = 1_000
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const

/** Resolves once the person quits. */
export async function openInbox(host: Host, isReader: boolean): Promise<void> {
  const { stdout } = process
  neverWaitFor(stdout)
  let lend: Lend | undefined
  let lent = 0
  const driver = new Driver(
    host,
    {
      lend: async work => {
        if (lend === undefined) return
        lent += 1
        await lend(work).finally(() => {
          lent -= 1
        })
      },
      async suspend() {
        if (lend === undefined || process.platform === 'win32') return
        await lend(async () => {
          // the whole job, as a shell knows it
          process.kill(0, 'SIGTSTP')
          await pause(STOP_MS)
        })
      },
      redraw: () => void lend?.(async () => undefined),
      copy: text => void stdout.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`),
      quit: () => instance.unmount(),
    },
    { colours: hasColours(host.env), isReader, isBusy: () => stdout.writableNeedDrain },
    { columns: stdout.columns, rows: stdout.rows },
  )
  stdout.on('drain', driver.drawAnew)
  const instance = render(<App driver={driver} onTerminal={given => (lend = given)} />, {
    alternateScreen: !isReader,
    incrementalRendering: true,
    exitOnCtrlC: false,
    maxFps: FRAMES_PER_SECOND,
    isScreenReaderEnabled: isReader,
    kittyKeyboard: { mode: 'auto' },
    interactive: true,
  })
  // a terminal that is gone
  stdout.on('error', () => instance.unmount())
  // printed on the screen of before, where it is read
  const crash = (error: unknown) => {
    instance.unmount()
    process.stderr.write(`svc: the inbox broke: ${plainLine(wordsOf(error), WORDS_MAX)}; drafts are kept\n`)
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  const ended = endOnSignals(
    () => {
      driver.stop()
      instance.unmount()
    },
    () => lent > 0,
  )
  try {
    await instance.waitUntilExit()
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
