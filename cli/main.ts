/**
 * Runs one command line: the table says which command it is, clipanion parses what follows. Commands that only call a running node
 * are all of the program that one file holds; the others run in the whole program, which loads when one of them is asked.
 */
import { dispatch } from './dispatch.ts'
import { findCommand } from './flags.ts'
import { type Io, requireOutput } from './io.ts'
import { reporting } from './report.ts'

/** Parses and runs; returns the exit code. Errors are one sentence on standard error and the command that helps. */
export function main(io: Io, argv: readonly string[]): Promise<number> {
  return reporting(io, async () => {
    const found = findCommand(argv)
    const code = found.row.client
      ? await dispatch(io, found)
      : await (await import('./whole.ts')).runCommand(io, found.row.path, found.words)
    if (code === 0) await requireOutput(io, 'room')
    return code
  })
}
