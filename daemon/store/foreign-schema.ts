/**
 * A store that came from elsewhere, as in an archive, may hold more than rows: a trigger or a view is a program of whoever
 * made it, and a computed column says something else than what was written. No release writes any of them.
 */
import type { Database } from '../platform/sqlite.ts'

/** The one trigger that earlier schemas had; an upgrade drops it. */
const FORMER = `CREATE TRIGGER messages_text_added AFTER INSERT ON messages BEGIN
  INSERT INTO messages_text (rowid, text) VALUES (new.key, new.text);
END`

const PROGRAMS = `SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view') AND sql <> ?
  UNION ALL
  SELECT 'computed column', m.name || '.' || x.name
    FROM sqlite_schema AS m CROSS JOIN pragma_table_xinfo(m.name) AS x
    WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND x.hidden > 1
  LIMIT 1`

/** What a store holds beside rows that it should not; undefined where there is nothing. */
export function foreignIn(database: Database): string | undefined {
  const found = database.prepare(PROGRAMS).get(FORMER) as { type: string; name: string } | undefined
  return found && `${found.type} ${JSON.stringify(found.name)}`
}
