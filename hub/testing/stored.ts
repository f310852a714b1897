/** For tests: all that a hub stores, and where two such pictures differ. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { openReader, type Row } from '../store/sqlite/database.ts'

const TABLES =
  "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"

/** Each place with what it holds: `table key` with the columns of a row, or `file name` with its digest. */
export type Stored = Map<string, Record<string, string>>

const text = (value: Row[string]): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : JSON.stringify(value)

/** Every row of every table, and every file beside them. */
export function readStored(directory: string): Stored {
  const stored: Stored = new Map()
  const db = openReader(join(directory, 'hub.db'))
  try {
    const tables = db.all<{ name: string }>(TABLES)
    for (const { name } of tables) {
      const keys = db.all<{ name: string }>('SELECT name FROM pragma_table_info(?) WHERE pk > 0', name)
      for (const row of db.all(`SELECT * FROM "${name}"`)) {
        const columns = Object.fromEntries(
          Object.entries(row).map(([column, value]) => [column, text(value)]),
        )
        const key = keys.length > 0 ? keys.map(one => columns[one.name]) : Object.values(columns)
        stored.set(`${name} ${key.join(' ')}`, columns)
      }
    }
  } finally {
    db.close()
  }
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name)
    if (name.startsWith('hub.db') || !statSync(path).isFile()) continue
    stored.set(`file ${name}`, { digest: Buffer.from(sha256(readFileSync(path))).toString('hex') })
  }
  return stored
}

/** What came, went and changed, as `+table`, `-table` and `table.column`, each once. */
export function differences(before: Stored, after: Stored): string[] {
  const found = new Set<string>()
  const tableOf = (place: string): string => place.slice(0, place.indexOf(' '))
  for (const [place, columns] of after) {
    const was = before.get(place)
    if (was === undefined) found.add(`+${tableOf(place)}`)
    else
      for (const [column, value] of Object.entries(columns))
        if (was[column] !== value) found.add(`${tableOf(place)}.${column}`)
  }
  for (const place of before.keys()) if (!after.has(place)) found.add(`-${tableOf(place)}`)
  return [...found].sort()
}
