/** What a command may touch: environment, streams, clock. Tests hand in their own. */
import { accessSync, constants, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure, systemCode, wordsOf } from '../protocol/encoding/errors.ts'
import { plainText, shownJson } from '../protocol/encoding/plain-text.ts'
import { callForm, isCommandLine } from '../protocol/shell.ts'
import { type Output, outputTo } from './output.ts'
import { shownReply, withCalls } from './reply.ts'

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
  /** Standard error is a terminal. */
  readonly onTerminal: boolean
  /** How wide a line of standard output may be. */
  readonly columns: number
  /** How this program is called where it was started. */
  readonly program: string
  /** The reply as a person reads it, where one does. */
  readonly human?: (reply: unknown) => string
  /** A text of ours with its commands as they are called here, for the identity that was named. */
  asCalled(text: string): string
}

/** Of a command line that is refused before anything is done. */
export const REFUSED_EXIT_CODE = 2

/** Where no terminal says how wide it is. */
const COLUMNS_DEFAULT = 80

const AGENT_ENVIRONMENTS = ['CLAUDECODE', 'CODEX_SANDBOX', 'OPENCODE', 'AGENT']

export function processIo(): Io {
  const { env } = process
  const quiet =
    env['SVC_HINTS'] === '0' || env['CI'] !== undefined || AGENT_ENVIRONMENTS.some(name => env[name])
  // each stream costs the start of a command, and most commands need one of them
  const output = once(() => outputTo(process.stdout))
  const err = once(() => errorWriter(process.stderr))
  const program = once(ownForm)
  return {
    env,
    cwd: process.cwd(),
    now: Date.now,
    get stdin() {
      return process.stdin
    },
    out: text => output().write(text),
    get output() {
      return output()
    },
    err: text => err()(text),
    get hints() {
      return !quiet && process.stderr.isTTY === true
    },
    get onTerminal() {
      return process.stderr.isTTY === true
    },
    get columns() {
      return (process.stdout.isTTY && process.stdout.columns) || COLUMNS_DEFAULT
    },
    get program() {
      return program()
    },
    asCalled: text => text,
  }
}

/** The launcher stands in the package beside the folder of the program. */
function ownForm(): string {
  const launcher = join(dirname(process.argv[1] as string), '..', 'bin', 'svc.js')
  const disk = { accessSync, constants, realpathSync }
  return callForm({ name: 'svc', launcher, cwd: process.cwd(), env: process.env }, disk)
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
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

/** A failure of a command: one sentence, and what helps, as {@link nextLines} reads it. */
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

/** A command line that is none: an unknown word, a missing one, a value that does not fit. Nothing was done. */
export class UsageRefused extends CommandFailed {
  override name = 'UsageRefused'
  constructor(message: string, next?: string) {
    super(message, next, REFUSED_EXIT_CODE)
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

/** Output of every command: the reply as indented JSON with times and commands that a person can use, or all of it for one. */
export function printReply(io: Io, reply: unknown): void {
  const { human, asCalled } = io
  io.out(
    human === undefined ? `${jsonText(shownReply(reply, asCalled), 2)}\n` : human(withCalls(reply, asCalled)),
  )
}

/** A line on standard error beside what the command prints. */
export function notice(io: Io, text: string): void {
  io.err(`svc: ${plainText(io.asCalled(text))}\n`)
}

/** Says on a terminal what a command reads or waits for that says nothing by itself. */
export function sayOnTerminal(io: Io, text: string): void {
  if (io.onTerminal) notice(io, text)
}

/** The lines of a next step: a command, which can be copied whole, behind `try:`, and words behind `next:`. */
export function nextLines(io: Io, next: string): string[] {
  return next
    .split('\n')
    .map(line => `${isCommandLine(line) ? 'try' : 'next'}: ${plainText(io.asCalled(line))}\n`)
}

/** What to do next, dim, for a person after the JSON. */
export function hint(io: Io, next: string): void {
  if (!io.hints) return
  const isPlain = Boolean(io.env['NO_COLOR']) || io.env['TERM'] === 'dumb'
  for (const line of nextLines(io, next)) io.err(isPlain ? line : `\u001b[2m${line.slice(0, -1)}\u001b[0m\n`)
}
