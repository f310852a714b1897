/** What a command may touch: environment, streams, clock. Tests hand in their own. */
import { Failure, wordsOf } from '../protocol/encoding/errors.ts'
import { shownJson } from '../protocol/encoding/plain-text.ts'
import { withTimes } from './times.ts'

export type Io = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly now: () => number
  readonly stdin: NodeJS.ReadStream
  out(text: string): void
  err(text: string): void
  /** A person reads standard error, so that a hint is welcome. */
  readonly hints: boolean
}

const AGENT_ENVIRONMENTS = ['CLAUDECODE', 'CODEX_SANDBOX', 'OPENCODE', 'AGENT']

export function processIo(): Io {
  const { env } = process
  const quiet =
    env['SVC_HINTS'] === '0' || env['CI'] !== undefined || AGENT_ENVIRONMENTS.some(name => env[name])
  return {
    env,
    cwd: process.cwd(),
    now: Date.now,
    stdin: process.stdin,
    out: writer(process.stdout),
    err: writer(process.stderr),
    hints: process.stderr.isTTY === true && !quiet,
  }
}

/** Writes until the reader goes away, as `head` does, and is silent from then on. */
function writer(stream: NodeJS.WriteStream): (text: string) => void {
  let isOpen = true
  let isWatched = false
  return text => {
    if (!isOpen) return
    if (!isWatched)
      stream.on('error', () => {
        isOpen = false
      })
    isWatched = true
    stream.write(text)
  }
}

/** A failure of a command: one sentence, and the command that helps. */
export class CommandFailed extends Failure {
  override name = 'CommandFailed'
  readonly next: string | undefined
  readonly exitCode: number
  constructor(message: string, next?: string, exitCode = 1, cause?: unknown) {
    super(message, { cause })
    this.next = next
    this.exitCode = exitCode
  }
}

/** What an error says, for a sentence of ours that goes on with it. */
export function messageOf(error: unknown): string {
  return wordsOf(error)
}

/** JSON as a terminal may see it. */
export function jsonText(value: unknown, indent?: number): string {
  return shownJson(JSON.stringify(value, null, indent))
}

/** Output of every command: the reply as indented JSON, with times that a person can read. */
export function printJson(io: Io, reply: unknown): void {
  io.out(`${jsonText(withTimes(reply), 2)}\n`)
}

/** One dim line for a person after the JSON. */
export function hint(io: Io, text: string): void {
  if (!io.hints) return
  const isPlain = Boolean(io.env['NO_COLOR']) || io.env['TERM'] === 'dumb'
  io.err(isPlain ? `next: ${text}\n` : `\u001b[2mnext: ${text}\u001b[0m\n`)
}
