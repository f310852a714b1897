/**
 * Runs one command line: the table says which command it is, clipanion parses what follows. Commands that only call a running node
 * are all of the program that one file holds; the others run in the whole program, which loads when one of them is asked.
 */
import { calledFor } from './as-called.ts'
import { dispatch } from './dispatch.ts'
import { findCommand, groupOf } from './flags.ts'
import { type Io, REFUSED_EXIT_CODE, requireOutput, UsageRefused } from './io.ts'
import { reporting } from './report.ts'

/** Parses and runs; returns the exit code. Errors are one sentence on standard error and the command that helps. */
export async function main(terminal: Io, argv: readonly string[]): Promise<number> {
  const io = calledFor(terminal, undefined)
  const exitCode = await reporting(io, async () => {
    // a person who typed nothing more is shown what comes next
    const found = findCommand(argv.length === 0 && io.hints ? ['welcome'] : argv)
    const human = found.human || isForPeople(io.env['SVC_OUTPUT'])
    const code =
      found.row.client && !human
        ? await dispatch(io, found)
        : await (await import('./whole.ts')).runCommand(io, found.row.path, { words: found.words, human })
    if (code === 0) await requireOutput(io, 'room')
    return code
  })
  // by this code of a hook an agent is held up
  return exitCode === REFUSED_EXIT_CODE && groupOf(argv) === 'hook' ? 1 : exitCode
}

function isForPeople(output: string | undefined): boolean {
  if (output !== undefined && !['', 'json', 'human'].includes(output))
    throw new UsageRefused(`expected json or human for SVC_OUTPUT, got "${output}"`)
  return output === 'human'
}
