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

/** Resolves once the person quits. */
export async function openInbox(host: Host, isReader: boolean): Promise<void> {
  const { stdout } = process
  let lend: Lend | undefined
  const driver = new Driver(
    host,
    {
      lend: async work => {
        if (lend !== undefined) await lend(work)
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
    { colours: hasColours(host.env), isReader },
    { columns: stdout.columns, rows: stdout.rows },
  )
  const instance = render(<App driver={driver} onTerminal={given => (lend = given)} />, {
    alternateScreen: !isReader,
    incrementalRendering: true,
    exitOnCtrlC: false,
    maxFps: FRAMES_PER_SECOND,
    isScreenReaderEnabled: isReader,
    kittyKeyboard: { mode: 'auto' },
    interactive: true,
  })
  // printed on the screen of before, where it is read
  const crash = (error: unknown) => {
    instance.unmount()
    process.stderr.write(`svc: the inbox broke: ${plainLine(wordsOf(error), WORDS_MAX)}; drafts are kept\n`)
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  try {
    await instance.waitUntilExit()
  } finally {
    process.off('uncaughtException', crash)
    driver.stop()
  }
}
