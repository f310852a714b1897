/** What a command waits for, said on a terminal once it takes longer than a second; with the time and how far it is. */
import { plainText } from '../protocol/encoding/plain-text.ts'
import { type Io, sayOnTerminal } from './io.ts'

const SILENT_MS = 1_000
const STEP_MS = 1_000
const CLEARED = '\r\u001b[K'

/**
 * Says it unless what it gives is called before. A terminal that can take a line back sees it counted by the second, and
 * what `howFar` finds out; it is gone at the end. Any other one is told once, and so is whoever wants no motion.
 */
export function sayWhileWaiting(
  io: Io,
  what: string,
  howFar: () => Promise<string | undefined> = async () => undefined,
): () => void {
  if (!io.onTerminal) return () => undefined
  const { TERM: term, NO_MOTION: still } = io.env
  const takesBack = term !== undefined && term !== 'dumb' && !still
  let timer: NodeJS.Timeout
  let [seconds, far, isOver] = [0, '', false]
  const look = async () => {
    const found = await howFar().catch(() => undefined)
    if (found !== undefined) far = `: ${found}`
  }
  const show = () => {
    if (isOver) return
    seconds += 1
    const line = plainText(io.asCalled(`waiting for ${what}${far}, ${seconds} s …`)).replaceAll('\n', ' ')
    io.err(`${CLEARED}svc: ${line.slice(0, io.columns - 6)}`)
    void look()
    timer = setTimeout(show, STEP_MS)
  }
  timer = setTimeout(takesBack ? show : () => sayOnTerminal(io, `waiting for ${what} …`), SILENT_MS)
  return () => {
    isOver = true
    clearTimeout(timer)
    if (seconds > 0) io.err(CLEARED)
  }
}
