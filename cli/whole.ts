/** The whole program: every command, by its path. Errors are reported here, since the two programs share no classes. */
import type { CommandRow } from './command.ts'
import { dispatch } from './dispatch.ts'
import type { Io } from './io.ts'
import { reporting } from './report.ts'
import { commands } from './table.ts'

export function runCommand(io: Io, path: string, words: readonly string[]): Promise<number> {
  const row = commands.find(command => command.path === path) as CommandRow
  return reporting(io, () => dispatch(io, { row, words }))
}
