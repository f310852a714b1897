/**
 * What a tool is: one row with its texts, shapes and annotations, and a run that maps arguments to control operations.
 * Replies hold only the members declared here; a peer's words stand in fenced fields only.
 */
import type * as z from 'zod'
import type { Call } from '../protocol/contract/client.ts'
import type { ReplyOf } from '../protocol/contract/route.ts'
import type { EventType, OperationName, Operations } from '../protocol/control/operations.ts'
import type { AskUser } from './approval.ts'
import type { Arguments } from './call.ts'
import type { Files } from './files.ts'

export type ControlCall = <N extends OperationName>(
  name: N,
  body?: Call<Operations[N]>['body'],
  query?: Record<string, string>,
  options?: { signal?: AbortSignal },
) => Promise<ReplyOf<Operations[N]>>

/** What happens in a node; `shutdown` also when it is lost, `reset` when it is there again. */
export type NodeEvent = {
  readonly type: EventType
  readonly data: Readonly<Record<string, string | number | boolean>>
}

/** The node behind a server. */
export type NodeLink = {
  readonly call: ControlCall
  /** Hears of events until the function that is returned is called. */
  listen(onEvent: (event: NodeEvent) => void): () => void
}

export type ToolContext = {
  call: ControlCall
  /** Wraps a peer's words in this result's random marker, control characters removed. */
  fence(text: string): string
  signal: AbortSignal
  /** A command as this user's shell knows it. */
  command(line: string): string
  files: Files
  /** Nothing is changed, not even what counts as read. */
  readOnly: boolean
  /** Names of the tools that this server does not have. */
  absent?: ReadonlySet<string>
  /** Asks the user of the client, where the client can. */
  askUser?: AskUser
  /** How often the user was asked about an interaction in this session. */
  asked: Map<string, number>
  /** The same in each round of one call. */
  callKey?: string
}

export type Tool<I extends z.ZodObject = z.ZodObject> = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: I
  /** Arguments that a call needs, as placeholders. */
  readonly example: Readonly<Record<string, unknown>>
  /** Makes one call of arguments that are good one by one. */
  mend?(args: Arguments): Arguments
  /** Members of the structured result; `error` is added to every tool. */
  readonly output: readonly string[]
  readonly annotations: {
    readOnlyHint: boolean
    destructiveHint: boolean
    idempotentHint: boolean
    openWorldHint: boolean
  }
  run(args: z.infer<I>, context: ToolContext): Promise<Record<string, unknown>>
}

export function tool<I extends z.ZodObject>(row: Tool<I>): Tool<I> {
  return row
}

export const reads = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
} as const
export const readsLocal = { ...reads, openWorldHint: false } as const
export const sends = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
} as const
