/** What a node refuses: thrown by its handlers, and thrown again by whoever called them from outside. */
import { Refusal } from '../encoding/errors.ts'
import type { ControlCode } from './codes.ts'

/** A refused operation; a newer node may answer with a code that the table here does not have yet. */
export class OperationRefused extends Refusal<ControlCode> {
  override name = 'OperationRefused'
  /** The command that helps, where it is better than the table's. */
  readonly next: string | undefined
  constructor(code: ControlCode, sentence: string, next?: string) {
    super(code, sentence)
    this.next = next
  }
}
