/**
 * The log of a hub: one JSON object a line on stderr. A hub writes few lines, so they need no library; they hold no
 * words of a request, no address and no mailbox but what the operator himself named in an order.
 */
import { writeSync } from 'node:fs'
import type { Alert } from './core/context.ts'

export type Log = { info: Alert; warn: Alert; error: Alert }

const STDERR = 2

/** A log that hands each whole line to `write`; `now` gives Unix milliseconds. */
export function makeLog(write: (line: string) => void, now: () => number): Log {
  const at =
    (level: keyof Log): Alert =>
    (event, facts) =>
      write(`${JSON.stringify({ time: new Date(now()).toISOString(), level, event, ...facts })}\n`)
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

/** Writes to stderr at once, so that the last line of a failing hub is there; a closed stderr is no reason to end. */
export function toStderr(line: string): void {
  try {
    writeSync(STDERR, line)
  } catch {
    // nobody reads it
  }
}
