/** What a command is: a row of the table, and what its code gets. */
import type { Io } from './io.ts'

export type Flag = {
  readonly name: `--${string}`
  /** Name of the value in help; a flag without one is a switch. */
  readonly value?: string
  /** What it does, in help. */
  readonly says: string
  readonly repeat?: true
  readonly short?: `-${string}`
  readonly values?: readonly string[]
}

export type Positional = {
  readonly name: string
  readonly says: string
  readonly required?: true
  readonly repeat?: true
}

export type Input = {
  /** Value of `--id`, wherever it stood. */
  readonly id: string | undefined
  readonly flags: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
}

/** The table as a command sees it; `help` is read from it. */
export type Table = {
  readonly commands: readonly CommandRow[]
  /** The commands that these words name: one, or all of a group. */
  find(words: readonly string[]): readonly CommandRow[]
}

export type Run = (io: Io, input: Input, table: Table) => Promise<number>

export type CommandRow = {
  readonly path: string
  readonly aliases?: readonly string[]
  readonly group: 'node' | 'identity' | 'hub' | 'work' | 'proof' | 'agents' | 'other'
  readonly summary: string
  readonly positionals?: readonly Positional[]
  readonly flags?: readonly Flag[]
  readonly needsDaemon: boolean
  /** It calls a running node, or even less, so that it is part of the one small file that every command loads. */
  readonly client?: true
  readonly example: string
  readonly load: () => Promise<Run>
}

/** Flag that every command takes, anywhere on the line. */
export const ID_FLAG: Flag = { name: '--id', value: 'NAME', says: 'the identity that is meant' }

/** Every path under which a row can be called, its own first. */
export function callPaths(row: CommandRow): string[] {
  const [group, ...verb] = row.path.split(' ')
  const under =
    verb.length === 0
      ? []
      : (row.aliases ?? []).filter(alias => !alias.includes(' ')).map(alias => `${group} ${alias}`)
  return [row.path, ...(row.aliases ?? []), ...under]
}
