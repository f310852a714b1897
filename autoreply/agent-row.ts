/** What is known of a coding agent: how it is asked once, and where its answer stands. */
import type { Login } from './private-home.ts'

export type ToolAccess = 'none' | 'read' | 'write'

/** A server of models, and the variable that holds its key. */
export type Provider = { url: string; keyEnv: string | undefined }

/** What a run is asked with. */
export type Asked = { tools: ToolAccess; model: string | undefined; provider: Provider | undefined }

type Env = Readonly<Record<string, string | undefined>>

export type AgentRow = {
  readonly id: string
  readonly bin: string
  /** Arguments; the prompt itself goes to standard input or, where the tool cannot, to a file in the work directory. */
  argv(
    given: Asked & {
      workDir: string
      /** Where {@link AgentRow.privateHome} put what the arguments name. */
      home: string
      agentId: string | undefined
      promptFile: string
    },
  ): string[]
  /** What points the tool at another server of models; a tool without it has variables of its own for that. */
  provider?(provider: Provider, model: string): { args?: string[]; settings?: Record<string, string> }
  readonly prompt: 'stdin' | 'file'
  /** Environment beyond the common list that the tool needs for its own account. */
  readonly environment: readonly string[]
  /** Folders of its owner's that it can't be asked with tools without. */
  ownFolders?(env: Env): string[]
  /** The login that a run is lent. */
  login?(env: Env): Login
  /** Settings that point the tool at a home of its own for this run, empty but for its login. */
  privateHome?(home: string, env: Env, asked: Asked): Record<string, string>
  /** Fixed settings that lock the tool down. */
  readonly settings?: Readonly<Record<string, string>>
  /** The answer in what the tool printed; undefined when it is not there. */
  answer(stdout: string): string | undefined
  /** What the run cost, in words for the log, where the tool says it. */
  cost?(stdout: string): string | undefined
}
