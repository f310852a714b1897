/** The index as the build computes it, from the table of operations. */
import { controlCodes } from '../../protocol/control/codes.ts'
import { operations } from '../../protocol/control/operations.ts'
import type { OperationIndex } from './operation-index.ts'

export function readOperationIndex(): OperationIndex {
  const entries = Object.entries(operations).map(([name, row]) => {
    const { method, path, timeoutMs } = row as { method: 'GET' | 'POST'; path: string; timeoutMs?: number }
    return [name, timeoutMs === undefined ? { method, path } : { method, path, timeoutMs }]
  })
  const advice = Object.entries(controlCodes).map(([code, { next }]) => [code, next])
  return { operations: Object.fromEntries(entries), advice: Object.fromEntries(advice) }
}
