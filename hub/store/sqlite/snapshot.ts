/** The ledger of one moment, for a thread that has nothing of the store but its path. */
import type { LedgerSnapshot } from '../ledger-port.ts'
import { openReader } from './database.ts'
import { readSnapshot } from './ledger-reads.ts'

export function snapshotAt(path: string): LedgerSnapshot {
  const reader = openReader(path)
  try {
    return readSnapshot(reader)
  } finally {
    reader.close()
  }
}
