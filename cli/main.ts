/** Runs one command line: clipanion dispatches what the normaliser has made of it; every failure ends here. */
import { plainText } from '../protocol/encoding/plain-text.ts'
import { dispatch } from './dispatch.ts'
import { parseArguments } from './flags.ts'
import { CommandFailed, type Io } from './io.ts'

/** Parses and runs; returns the exit code. Errors are one sentence on standard error and the command that helps. */
export async function main(io: Io, argv: readonly string[]): Promise<number> {
  try {
    const { row, input } = parseArguments(argv)
    return await dispatch(io, row, input)
  } catch (error) {
    return report(io, error)
  }
}

function report(io: Io, error: unknown): number {
  if (error instanceof CommandFailed) {
    io.err(`svc: ${plainText(error.message)}\n`)
    if (error.next !== undefined) io.err(`try: ${plainText(error.next)}\n`)
    return error.exitCode
  }
  const message = error instanceof Error ? error.message : String(error)
  io.err(`svc: ${plainText(message)}\n`)
  if (io.env['SVC_DEBUG'] && error instanceof Error) io.err(`${error.stack}\n`)
  return 1
}
