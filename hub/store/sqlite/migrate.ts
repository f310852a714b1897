/** Bringing a database to the schema of this build: numbered SQL files, one transaction, a copy before it. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Migrated, newerStore } from '../engine-port.ts'
import { StoreRefused } from '../port.ts'
import { putSetting } from './account-writes.ts'
import { copyDatabase, type Database, rollBack } from './database.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
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

export type MigrateOptions = {
  release: string
  migrations?: Migration[]
  /** There was a store before: an empty one is not taken for it. */
  needsHeld?: boolean | undefined
  /** An older store is left as it is, and refused. */
  keepsOlder?: boolean | undefined
}

/** Migrates in one transaction; refuses a database that a newer release wrote. Undefined where nothing was to do. */
export function migrate(database: Database, path: string, options: MigrateOptions): Migrated | undefined {
  const { release, migrations = readMigrations() } = options
  const held = schemaNumber(database)
  const newest = migrations.length
  if (held > newest) throw newerStore(path, { held, newest, release, wrote: writerOf(database) })
  if (held === newest) return undefined
  if (held === 0 && options.needsHeld === true)
    throw new StoreRefused(
      `${path} holds no store of a hub; restore a backup: svc-hub restore <backup> --data-dir <new folder>`,
    )
  if (held > 0 && options.keepsOlder === true)
    throw new StoreRefused(
      `${path} has schema ${held}, and svc-hub ${release} works with ${newest}; start the hub, which migrates it: svc-hub serve --data-dir ${dirname(path)}`,
    )
  const copy = `${path}.before-schema-${held + 1}`
  if (held > 0) backUp(database, copy)
  apply(database, migrations.slice(held), release)
  return held > 0 ? { from: held, to: newest, copy } : undefined
}

function apply(database: Database, migrations: Migration[], release: string): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const { number, sql } of migrations) {
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

function writerOf(database: Database): string {
  const row = database.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', 'release')
  return row?.value ?? ''
}
