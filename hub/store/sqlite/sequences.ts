/** Numbers that are never given again: SQLite keeps the last one of each table. */
import type { Database } from './database.ts'

/** 0 where none was given. */
export const lastGiven = (db: Database, table: string): number =>
  db.one<{ seq: number }>('SELECT seq FROM sqlite_sequence WHERE name = ?', table)?.seq ?? 0

/** The next one lies above. */
export function setLastGiven(db: Database, table: string, last: number): void {
  const changed = db.run('UPDATE sqlite_sequence SET seq = ? WHERE name = ?', last, table)
  if (changed === 0) db.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', table, last)
}
