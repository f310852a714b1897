/** Copies of a store's file, as archives are made of one. */
import { openReadOnly } from '../platform/sqlite.ts'

/** Writes one moment of a store to a file, also while a node writes to it. */
export function copyStoreFile(path: string, copy: string): void {
  const database = openReadOnly(path)
  try {
    database.exec(`VACUUM INTO '${copy.replaceAll("'", "''")}'`)
  } finally {
    database.close()
  }
}

/** Content ids of the files that the messages of a store name, in their order. */
export function filesNamedIn(path: string): string[] {
  const database = openReadOnly(path)
  try {
    const rows = database.prepare('SELECT DISTINCT cid FROM message_attachments ORDER BY cid').all()
    return rows.map(row => String(row['cid']))
  } finally {
    database.close()
  }
}
