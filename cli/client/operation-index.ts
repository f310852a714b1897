/**
 * Method, path, timeout of every operation and whether it only reads, read from the one table. The build writes them into the program, so that
 * a command does not load the shapes of the whole interface to make one call; a run from the sources reads the table.
 */
import type { OperationName } from '../../protocol/control/operations.ts'

export type OperationEntry = { method: 'GET' | 'POST'; path: string; reads: boolean; timeoutMs?: number }
export type OperationIndex = {
  operations: Record<OperationName, OperationEntry>
  /** What to do next, by code. */
  advice: Record<string, string>
}

declare global {
  var SVC_OPERATIONS: OperationIndex | undefined
}

export async function operationIndex(): Promise<OperationIndex> {
  return globalThis.SVC_OPERATIONS ?? (await import('./operation-index-source.ts')).readOperationIndex()
}
