/** Runs one command line: clipanion dispatches what the normaliser has made of it; every failure ends here. */
import { OperationRefused } from '../protocol/control/refusal.ts'
import { plainText } from '../protocol/encoding/plain-text.ts'
import { dispatch } from './dispatch.ts'
import { parseArguments } from './flags.ts'
import { CommandFailed, type Io, messageOf } from './io.ts'
import { commands } from './table.ts'

/** Parses and runs; returns the exit code. Errors are one sentence on standard error and the command that helps. */
export async function main(io: Io, argv: readonly string[]): Promise<number> {
  try {
    const { row, input } = parseArguments(argv)
    return await dispatch(io, { commands, find: words => parseArguments(words).row }, row, input)
  } catch (error) {
    return report(io, error)
  }
}

function report(io: Io, error: unknown): number {
  if (error instanceof OperationRefused) return say(io, `${error.code}: ${error.message}`, error.next)
  if (error instanceof CommandFailed) return say(io, error.message, error.next, error.exitCode)
  say(io, messageOf(error))
  if (io.env['SVC_DEBUG'] && error instanceof Error) io.err(`${error.stack}\n`)
  return 1
}

function say(io: Io, sentence: string, next?: string, exitCode = 1): number {
  io.err(`svc: ${plainText(sentence)}\n`)
  if (next !== undefined) io.err(`try: ${plainText(next)}\n`)
  return exitCode
}
