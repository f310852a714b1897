/** The index as the build computes it, from the table of operations. */
import { controlCodes } from '../../protocol/control/codes.ts'
import { operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { OperationEntry, OperationIndex } from './operation-index.ts'

export function readOperationIndex(): OperationIndex {
  const entries = Object.entries(operations).map(([name, row]) => {
    const { method, path, reads, timeoutMs } = row as OperationEntry
    return [name, { method, path, reads, ...present({ timeoutMs }) }]
  })
  const advice = Object.entries(controlCodes).map(([code, { next }]) => [code, next])
  return { operations: Object.fromEntries(entries), advice: Object.fromEntries(advice) }
}
