/** Refuses an operation of the node by a code of the control table. */
import type { ControlCode } from '../protocol/control/codes.ts'
import { OperationRefused } from '../protocol/control/refusal.ts'

export function refuse(code: ControlCode, sentence: string, next?: string): never {
  throw new OperationRefused(code, sentence, next)
}
