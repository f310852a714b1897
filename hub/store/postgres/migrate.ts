/** Bringing a database to the schema of this build: numbered SQL files, one transaction, one process at a time. */
import { readdirSync, readFileSync } from 'node:fs'
import { newerStore } from '../engine-port.ts'
import { StoreRefused } from '../port.ts'
import type { Connections, Queries } from './connections.ts'

const FOLDER = new URL('./schema/', import.meta.url)
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/
/** The name under which processes wait for the one that migrates. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('svc-hub schema', 0))"
const HELD = 'CREATE TABLE IF NOT EXISTS schema_held (number bigint PRIMARY KEY, release text NOT NULL)'

/** The migrations that this build carries, in order and without a gap. */
export function readMigrations(): string[] {
  const names = readdirSync(FOLDER).filter(name => FILE_NAME.test(name))
  return names.sort().map((name, index) => {
    if (Number(name.slice(0, 4)) !== index + 1)
      throw new StoreRefused(`migration ${index + 1} is missing from this build; reinstall it`)
    return readFileSync(new URL(name, FOLDER), 'utf8')
  })
}

/** Migrates in one transaction; refuses a database that a newer release wrote. */
export async function migrate(connections: Connections, release: string): Promise<void> {
  const migrations = readMigrations()
  const bring = async (db: Queries): Promise<void> => {
    await db.run(LOCK)
    await db.run(HELD)
    const { held, wrote } = await heldIn(db)
    const newest = migrations.length
    if (held > newest) throw newerStore('the database', { held, newest, release, wrote })
    for (let number = held + 1; number <= newest; number++) {
      for (const statement of statementsOf(migrations[number - 1] ?? '')) await db.run(statement)
      await db.run('INSERT INTO schema_held (number, release) VALUES ($1, $2)', number, release)
    }
  }
  await connections.transaction(bring, { patient: true })
}

async function heldIn(db: Queries): Promise<{ held: number; wrote: string }> {
  const row = await db.one<{ number: number; release: string }>(
    'SELECT number, release FROM schema_held ORDER BY number DESC LIMIT 1',
  )
  return { held: row?.number ?? 0, wrote: row?.release ?? '' }
}

/** Each ends with a semicolon at the end of its line. */
const statementsOf = (sql: string): string[] => sql.split(/;\n/).filter(part => /\S/.test(part))
