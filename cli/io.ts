/** What a command may touch: environment, streams, clock. Tests hand in their own. */
import { Failure, systemCode, wordsOf } from '../protocol/encoding/errors.ts'
import { shownJson } from '../protocol/encoding/plain-text.ts'
import { type Output, outputTo } from './output.ts'
import { withTimes } from './times.ts'

export type Io = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly now: () => number
  readonly stdin: NodeJS.ReadStream
  out(text: string): void
  readonly output: Omit<Output, 'write'>
  err(text: string): void
  /** A person reads standard error, so that a hint is welcome. */
  readonly hints: boolean
}

const AGENT_ENVIRONMENTS = ['CLAUDECODE', 'CODEX_SANDBOX', 'OPENCODE', 'AGENT']

export function processIo(): Io {
  const { env } = process
  const quiet =
    env['SVC_HINTS'] === '0' || env['CI'] !== undefined || AGENT_ENVIRONMENTS.some(name => env[name])
  const output = outputTo(process.stdout)
  return {
    env,
    cwd: process.cwd(),
    now: Date.now,
    stdin: process.stdin,
    out: output.write,
    output,
    err: errorWriter(process.stderr),
    hints: process.stderr.isTTY === true && !quiet,
  }
}

/** Writes until the reader goes away, as `head` does, and is silent from then on. */
function errorWriter(stream: NodeJS.WriteStream): (text: string) => void {
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

/** Ends a command whose output did not arrive; a reader that goes away, as `head` does, has what it wanted. */
export async function requireOutput(io: Io, needs: 'reader' | 'room'): Promise<void> {
  const fault = await io.output.taken()
  if (needs === 'reader' && io.output.isNull)
    throw new CommandFailed('standard output goes nowhere', 'leave out the redirection to /dev/null')
  if (fault === undefined) return
  const isReader = systemCode(fault) === 'EPIPE'
  if (isReader && needs === 'room') return
  const why = isReader ? 'its reader went away' : wordsOf(fault)
  throw new CommandFailed(`standard output could not be written: ${why}`)
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
