/** Which words may follow on a command line, read from the command table: for shells and for the screens. */
import { type CommandRow, callPaths, type Flag, GLOBAL_FLAGS } from './command.ts'

export const flagsOf = (row: CommandRow): Flag[] => [...(row.flags ?? []), ...GLOBAL_FLAGS]
export const formsOf = ({ name, short }: Flag) => (short === undefined ? [name] : [short, name])
/** Words of its own that a command takes behind its path. */
export const choicesOf = (row: CommandRow) => {
  const { name = '', values } = row.positionals?.[0] ?? {}
  return values ?? (name.includes('|') ? name.split('|') : [])
}
export const unique = (words: readonly string[]) => [...new Set(words)]
/** Names that begin with dashes are flags to a shell. */
export const pathsOf = (row: CommandRow) => callPaths(row).filter(path => !path.startsWith('-'))

/** What may follow the words of a path, from none on. */
export function suggestionsAfter(commands: readonly CommandRow[]): Map<string, string[]> {
  const behind = new Map<string, string[]>()
  const add = (path: string, words: readonly string[]) =>
    behind.set(path, unique([...(behind.get(path) ?? []), ...words]))
  for (const row of commands)
    for (const path of pathsOf(row)) {
      const words = path.split(' ')
      for (const [n, word] of words.entries()) add(words.slice(0, n).join(' '), [word])
      add(path, choicesOf(row))
    }
  return behind
}
