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
  readonly values?: readonly string[]
  /** It names the identity, as `--id` does. */
  readonly isIdentity?: true
}

export type Input = {
  /** The identity that the line names: value of `--id`, wherever it stood, or of a positional. */
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
  readonly group: 'node' | 'identity' | 'hub' | 'work' | 'credits' | 'proof' | 'agents' | 'other'
  readonly summary: string
  readonly positionals?: readonly Positional[]
  readonly flags?: readonly Flag[]
  readonly needsDaemon: boolean
  /** It calls a running node, or even less, so that it is part of the one small file that every command loads. */
  readonly client?: true
  /** It concerns no one identity. */
  readonly ofHome?: true
  /** What it does can't be undone, so it is offered to nobody who mistyped something else. */
  readonly destroys?: true
  /** It changes nothing of the node, or only with this flag. */
  readonly reads?: true | { readonly unless: string }
  /** What cannot be taken back of it, as a screen says it before it asks for a yes. */
  readonly final?: string
  readonly example: string
  readonly load: () => Promise<Run>
}

/** Flag that every command takes, anywhere on the line. */
export const ID_FLAG: Flag = { name: '--id', value: 'NAME', says: 'the identity that is meant' }

/** The reply for a person, as SVC_OUTPUT=human says it for all. */
export const HUMAN_FLAG: Flag = { name: '--human', says: 'print tables that people read, no JSON' }
export const GLOBAL_FLAGS: readonly Flag[] = [ID_FLAG, HUMAN_FLAG]

/** Every path under which a row can be called, its own first. */
export function callPaths(row: CommandRow): string[] {
  const [group, ...verb] = row.path.split(' ')
  const under =
    verb.length === 0
      ? []
      : (row.aliases ?? []).filter(alias => !alias.includes(' ')).map(alias => `${group} ${alias}`)
  return [row.path, ...(row.aliases ?? []), ...under]
}
