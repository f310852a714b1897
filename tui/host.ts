/** What the terminal inbox needs of the program that opens it: the node, drafts on disk, commands, an editor. */
import type { NodeClient } from '../view/node-client.ts'

export type Draft = { readonly text: string; readonly files: readonly string[] }
export type Host = {
  readonly node: NodeClient
  /** Nobody has made an identity here, and no node runs. */
  readonly isNew: boolean
  readonly now: () => number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly drafts: {
    /** Names of tasks and agents with a draft. */
    names(): readonly string[]
    read(name: string): Draft | undefined
    write(name: string, draft: Draft): void
    remove(name: string): void
  }
  /** What was explained once, and the choices of a person; kept with the node. */
  readonly notes: { read(): readonly string[]; write(notes: readonly string[]): void }
  /** Runs a command line of svc; `said` gets what it prints, the signal ends it. Resolves to its exit code. */
  command(line: string, said: (text: string) => void, signal: AbortSignal): Promise<number>
  /** What the line does that cannot be taken back; undefined where it can. */
  finalOf(line: string): string | undefined
  /** Whether the line may change something of the node. */
  isStep(line: string): boolean
  /** How the last word of a command line may go on. */
  completions(line: string): readonly string[]
  /** Files and folders whose path begins so. */
  paths(begin: string): readonly string[]
  /** The path as the node takes it: absolute, `~` resolved; a sentence why not where there is no such file. */
  file(path: string): { path: string } | { fault: string }
  /** The folder that a person means, whether it is there yet or not. */
  folder(path: string): string
  /** A text of ours with its commands as they are called where svc was started. */
  asCalled(text: string): string
  startNode(): Promise<void>
  /** Shows the demo on the terminal that was given up, until the person ends it. */
  demo(): Promise<void>
  /** Opens the text in the person's editor on the terminal that was given up; the text as it was saved. */
  edit(text: string): Promise<string>
}
