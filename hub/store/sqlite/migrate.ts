/** Bringing a database to the schema of this build: numbered SQL files, one transaction, a copy before it. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { StoreRefused } from '../port.ts'
import { putSetting } from './account-writes.ts'
import { copyDatabase, type Database, rollBack } from './database.ts'

const FOLDER = new URL(import.meta.url.endsWith('.ts') ? '../migrations/' : './migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/

export type Migration = { number: number; sql: string }

/** The migrations that this build carries, in order and without a gap. */
export function readMigrations(folder: URL = FOLDER): Migration[] {
  const names = readdirSync(folder).filter(name => FILE_NAME.test(name))
  if (names.length === 0) throw new StoreRefused('this build contains no migrations; reinstall it')
  return names.sort().map((name, index) => {
    const number = Number(name.slice(0, 4))
    if (number !== index + 1)
      throw new StoreRefused(`migration ${index + 1} is missing from this build; reinstall it`)
    return { number, sql: readFileSync(new URL(name, folder), 'utf8') }
  })
}

/** Migrates in one transaction; refuses a database that a newer release wrote. */
export function migrate(
  database: Database,
  path: string,
  release: string,
  migrations = readMigrations(),
  needsHeld = false,
): void {
  const held = schemaNumber(database)
  const newest = migrations.length
  if (held > newest) throw newerThanThis(database, held, newest)
  if (held === newest) return
  if (held === 0 && needsHeld)
    throw new StoreRefused(
      `${path} holds no store of a hub; restore a backup: svc-hub restore <backup> --data-dir <new folder>`,
    )
  if (held > 0) backUp(database, `${path}.before-schema-${held + 1}`)
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const { number, sql } of migrations.slice(held)) {
      database.exec(sql)
      database.exec(`PRAGMA user_version = ${number}`)
    }
    putSetting(database, { name: 'release', value: release })
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

export function schemaNumber(database: Database): number {
  return database.one<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
}

function backUp(database: Database, copy: string): void {
  if (existsSync(copy)) rmSync(copy)
  copyDatabase(database, copy)
}

function newerThanThis(database: Database, held: number, newest: number): StoreRefused {
  const row = database.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', 'release')
  const release = row === undefined ? 'a newer release' : `release ${row.value}`
  return new StoreRefused(
    `the store has schema ${held}, this build knows up to ${newest}; run svc-hub ${release} or newer`,
  )
}
