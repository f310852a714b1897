/** How a command ends: its exit code, and for a failure one sentence with what helps. */
import { OperationRefused } from '../protocol/control/refusal.ts'
import { CommandFailed, type Io, messageOf, nextLines, notice, REFUSED_EXIT_CODE } from './io.ts'

/** Runs a command; every failure ends here. */
export async function reporting(io: Io, run: () => Promise<number>): Promise<number> {
  try {
    return await run()
  } catch (error) {
    return report(io, error)
  }
}

function report(io: Io, error: unknown): number {
  if (error instanceof OperationRefused) {
    const exitCode = error.code === 'bad_request' ? REFUSED_EXIT_CODE : 1
    return say(io, `${error.code}: ${error.message}`, error.next, exitCode)
  }
  if (error instanceof CommandFailed) return say(io, error.message, error.next, error.exitCode)
  say(io, messageOf(error))
  if (io.env['SVC_DEBUG'] && error instanceof Error) io.err(`${error.stack}\n`)
  return 1
}

function say(io: Io, sentence: string, next?: string, exitCode = 1): number {
  notice(io, sentence)
  if (next !== undefined) io.err(nextLines(io, next).join(''))
  return exitCode
}
