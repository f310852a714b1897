/**
 * What a tool is: one row with its texts, shapes and annotations, and a run that maps arguments to control operations.
 * Replies hold only the members declared here; a peer's words stand in fenced fields only.
 */
import type * as z from 'zod'
import type { Call } from '../protocol/contract/client.ts'
import type { ReplyOf } from '../protocol/contract/route.ts'
import type { OperationName, Operations } from '../protocol/control/operations.ts'
import { Failure, Refusal } from '../protocol/encoding/errors.ts'
import type { AskUser } from './approval.ts'

export type ControlCall = <N extends OperationName>(
  name: N,
  body?: Call<Operations[N]>['body'],
  query?: Record<string, string>,
  options?: { signal?: AbortSignal },
) => Promise<ReplyOf<Operations[N]>>

/** A refusal that the model reads: code, what happened, what to do next. */
export class ToolError extends Refusal {
  override name = 'ToolError'
  readonly next: string
  constructor(code: string, message: string, next: string) {
    super(code, message)
    this.next = next
  }
}

/** The node behind the tools does not answer; `next` is the command that may help. */
export class NodeUnavailable extends Failure {
  override name = 'NodeUnavailable'
  readonly next: string | undefined
  constructor(message: string, next: string | undefined, options?: ErrorOptions) {
    super(message, options)
    this.next = next
  }
}

export type ToolContext = {
  call: ControlCall
  /** Wraps a peer's words in this result's random marker, control characters removed. */
  fence(text: string): string
  signal: AbortSignal
  /** Asks the user of the client, where the client can. */
  askUser?: AskUser
  /** How often the user was asked about an interaction in this session. */
  asked: Map<string, number>
}

export type Tool<I extends z.ZodType = z.ZodType> = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: I
  /** Members of the structured result; `error` is added to every tool. */
  readonly output: z.ZodObject
  readonly annotations: {
    readOnlyHint: boolean
    destructiveHint: boolean
    idempotentHint: boolean
    openWorldHint: boolean
  }
  /** The result holds a peer's words. */
  readonly untrusted?: true
  run(args: z.infer<I>, context: ToolContext): Promise<Record<string, unknown>>
}

export function tool<I extends z.ZodType>(row: Tool<I>): Tool<I> {
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
