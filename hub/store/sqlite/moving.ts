/** All rows of a hub in a SQLite file that nobody has open, to be moved out or in. */
import type { Cell, CellKind, MovedRows } from '../moving-port.ts'
import { StoreRefused } from '../port.ts'
import { putSetting } from './account-writes.ts'
import { type Database, openWriter, type Value } from './database.ts'
import { digestsOf } from './digests.ts'
import { migrate } from './migrate.ts'
import { lastGiven, setLastGiven } from './sequences.ts'

const ROWS_AT_ONCE = 500
/** What a table has here alone, and what stands there in a row that came from elsewhere. */
const HERE_ALONE: Readonly<Record<string, Readonly<Record<string, Value>>>> = {
  envelope: { rid: new Uint8Array(0) },
}

export type MovedFile = MovedRows & {
  setting(name: string): string | undefined
  putSetting(name: string, value: string): void
  /** May be called again. */
  close(): void
}

const listed = (names: readonly string[]): string => names.map(name => `"${name}"`).join(', ')

/** Opens a file of the newest schema to move its rows out. */
export function openMovedOut(path: string): MovedFile {
  const db = openWriter(path)
  digestsOf(db).sortIn()
  const row = db.one<{ held: number }>('SELECT count(*) AS held FROM envelope WHERE length(rid) > 0')
  if ((row?.held ?? 0) > 0) {
    db.close()
    throw new StoreRefused(
      `${row?.held} waiting envelopes have names of an older release, which only this store knows; let them be collected, or wait until they expire`,
    )
  }
  return movedRowsOf(db)
}

/** Makes a file without a row, to move rows in; `commit` keeps them. */
export function openMovedIn(path: string, release: string): MovedFile & { commit(): void } {
  const db = openWriter(path)
  migrate(db, path, { release })
  db.exec('PRAGMA foreign_keys = OFF')
  db.exec('BEGIN IMMEDIATE')
  for (const { name } of db.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  ))
    db.exec(`DELETE FROM "${name}"`)
  return {
    ...movedRowsOf(db),
    commit() {
      putSetting(db, { name: 'release', value: release })
      db.exec('COMMIT')
    },
  }
}

function movedRowsOf(db: Database): MovedFile {
  let isOpen = true
  return {
    async *read({ name, columns, key }) {
      const names = columns.map(column => column.name)
      let rows: Cell[][] = []
      for (const row of db.each(`SELECT ${listed(names)} FROM "${name}" ORDER BY ${listed(key)}`)) {
        rows.push(columns.map(column => cellOf(row[column.name] ?? null, column.kind)))
        if (rows.length < ROWS_AT_ONCE) continue
        yield rows
        rows = []
      }
      if (rows.length > 0) yield rows
    },
    async write({ name, columns }, rows) {
      const more = HERE_ALONE[name] ?? {}
      const names = [...columns.map(column => column.name), ...Object.keys(more)]
      const sql = `INSERT INTO "${name}" (${listed(names)}) VALUES (${names.map(() => '?').join(', ')})`
      for (const row of rows) db.run(sql, ...row.map(storedOf), ...Object.values(more))
    },
    async counter(table) {
      const { name, counts } = table
      const max = db.one<{ last: number | null }>(`SELECT max("${counts}") AS last FROM "${name}"`)
      return Math.max(max?.last ?? 0, lastGiven(db, name))
    },
    setCounter: async ({ name }, last) => setLastGiven(db, name, last),
    setting: name => db.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', name)?.value,
    putSetting: (name, value) => putSetting(db, { name, value }),
    close() {
      if (isOpen) db.close()
      isOpen = false
    },
  }
}

function cellOf(value: Value, kind: CellKind): Cell {
  if (value === null) return null
  if (kind === 'boolean') return value !== 0
  // a setting may have been written as a number
  return kind === 'text' ? String(value) : value
}

const storedOf = (cell: Cell): Value => (typeof cell === 'boolean' ? Number(cell) : cell)
