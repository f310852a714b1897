/** `svc completion`: what a shell offers behind `svc`, written from the command table. */
import { shells } from '../../protocol/completion.ts'
import { ID_FLAG, type Run } from '../command.ts'
import { flagsOf, pathsOf, suggestionsAfter } from '../suggestions.ts'

export const completion: Run = async (io, input, { commands }) => {
  const write = shells[input.positionals[0] as keyof typeof shells]
  const rows = commands.map(row => ({ paths: pathsOf(row), summary: row.summary, flags: flagsOf(row) }))
  const behind = suggestionsAfter(commands)
  io.out(write({ program: 'svc', commands: rows, behind, anywhere: ID_FLAG.name }))
  return 0
}
