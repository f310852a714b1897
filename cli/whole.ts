/** The whole program: every command, by its path. Errors are reported here, since the two programs share no classes. */
import type { CommandRow } from './command.ts'
import { dispatch } from './dispatch.ts'
import { humanText } from './human/reply.ts'
import type { Io } from './io.ts'
import { reporting } from './report.ts'
import { commands } from './table.ts'

export function runCommand(
  given: Io,
  path: string,
  { words, human }: { words: readonly string[]; human: boolean },
): Promise<number> {
  const row = commands.find(command => command.path === path) as CommandRow
  const io = human ? forPeople(given) : given
  return reporting(io, () => dispatch(io, { row, words }))
}

function forPeople(io: Io): Io {
  const human = (reply: unknown): string => humanText(reply, { now: io.now(), columns: io.columns })
  return Object.create(io, { human: { value: human } }) as Io
}
