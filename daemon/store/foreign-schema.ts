/**
 * A store that came from elsewhere, as in an archive, may hold more than rows: a trigger or a view is a program of whoever
 * made it, and a computed column says something else than what was written. No release writes any of them.
 */
import type { Database } from '../platform/sqlite.ts'

/** The one trigger that earlier schemas had; an upgrade drops it. */
const FORMER = `CREATE TRIGGER messages_text_added AFTER INSERT ON messages BEGIN
  INSERT INTO messages_text (rowid, text) VALUES (new.key, new.text);
END`

const PROGRAMS = `SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view') AND sql <> ? LIMIT 1`
const TABLES = `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`
const COMPUTED = `SELECT 'computed column' AS type, ? || '.' || name AS name FROM pragma_table_xinfo(?) WHERE hidden > 1`
/** No column is computed without this word; to look at the columns of every table takes longer than to read them all. */
const WORD_OF_COMPUTED = /\bas\b/i

type Foreign = { type: string; name: string }

/** What a store holds beside rows that it should not; undefined where there is nothing. */
export function foreignIn(database: Database): string | undefined {
  const found = programIn(database) ?? computedIn(database)
  return found && `${found.type} ${JSON.stringify(found.name)}`
}

const programIn = (database: Database): Foreign | undefined =>
  database.prepare(PROGRAMS).get(FORMER) as Foreign | undefined

function computedIn(database: Database): Foreign | undefined {
  const tables = database.prepare(TABLES).all() as { name: string; sql: string }[]
  for (const { name, sql } of tables) {
    if (!WORD_OF_COMPUTED.test(sql)) continue
    const found = database.prepare(COMPUTED).get(name, name) as Foreign | undefined
    if (found !== undefined) return found
  }
  return undefined
}
