/** What a command is: a row of the table, and what its code gets. */
import type { Io } from './io.ts'

export type Flag = {
  readonly name: `--${string}`
  /** Name of the value in help; a flag without one is a switch. */
  readonly value?: string
  readonly repeat?: true
  readonly short?: `-${string}`
  readonly values?: readonly string[]
}

export type Positional = { readonly name: string; readonly required?: true; readonly repeat?: true }

export type Input = {
  /** Value of `--id`, wherever it stood. */
  readonly id: string | undefined
  readonly flags: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
}

export type Run = (io: Io, input: Input) => Promise<number>

export type CommandRow = {
  readonly path: string
  readonly aliases?: readonly string[]
  readonly group: 'node' | 'identity' | 'hub' | 'work' | 'proof' | 'agents' | 'other'
  readonly summary: string
  readonly positionals?: readonly Positional[]
  readonly flags?: readonly Flag[]
  readonly needsDaemon: boolean
  readonly example?: string
  readonly load: () => Promise<Run>
}
