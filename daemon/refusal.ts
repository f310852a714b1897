/** What an operation of the node refuses, by the codes of the control table. */
import type { ControlCode } from '../protocol/control/operations.ts'

export class OperationRefused extends Error {
  override name = 'OperationRefused'
  readonly code: ControlCode
  /** The command that helps, where it is better than the table's. */
  readonly next: string | undefined
  constructor(code: ControlCode, sentence: string, next?: string) {
    super(sentence)
    this.code = code
    this.next = next
  }
}

export function refuse(code: ControlCode, sentence: string, next?: string): never {
  throw new OperationRefused(code, sentence, next)
}
