/** What tools throw. */
import { Failure, Refusal } from '../protocol/encoding/errors.ts'

/** A refusal that the model reads; what to do next goes by its code. */
export class ToolError extends Refusal {
  override name = 'ToolError'
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
