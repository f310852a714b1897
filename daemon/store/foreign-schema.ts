/**
 * A store that came from elsewhere, as in an archive, may hold more than rows: a trigger or a view is a program of whoever
 * made it, and a computed column says something else than what was written. No release writes any of them.
 */
import type { Database } from '../platform/sqlite.ts'

/** The one trigger that earlier schemas had; an upgrade drops it. */
const FORMER = `CREATE TRIGGER messages_text_added AFTER INSERT ON messages BEGIN
  INSERT INTO messages_text (rowid, text) VALUES (new.key, new.text);
END`

const KEPT = `SELECT type, name, sql FROM sqlite_schema WHERE type <> 'index' AND sql NOT LIKE 'CREATE VIRTUAL%'`
const COMPUTED = `SELECT 'computed column' AS type, ? || '.' || name AS name FROM pragma_table_xinfo(?) WHERE hidden > 1`
/** No column is computed without this word; to look at the columns of every table takes longer than to read them all. */
const WORD_OF_COMPUTED = /\bas\b/i

type Kept = { type: string; name: string; sql: string }
type Foreign = Pick<Kept, 'type' | 'name'>

/** What a store holds beside rows that it should not; undefined where there is nothing. */
export function foreignIn(database: Database): string | undefined {
  const kept = database.prepare(KEPT).all() as Kept[]
  const found = kept.find(isProgram) ?? computedIn(database, kept)
  return found && `${found.type} ${JSON.stringify(found.name)}`
}

const isProgram = ({ type, sql }: Kept): boolean => type !== 'table' && sql !== FORMER

function computedIn(database: Database, tables: readonly Kept[]): Foreign | undefined {
  for (const { name, sql } of tables) {
    if (!WORD_OF_COMPUTED.test(sql)) continue
    const found = database.prepare(COMPUTED).get(name, name) as Foreign | undefined
    if (found !== undefined) return found
  }
  return undefined
}
