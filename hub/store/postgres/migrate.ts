/** Bringing a database to the schema of this build: numbered SQL files, one transaction, one process at a time. */
import { readdirSync, readFileSync } from 'node:fs'
import { newerStore } from '../engine-port.ts'
import { StoreRefused } from '../port.ts'
import { SetupRefused } from '../setup-refused.ts'
import type { Connections, Queries } from './connections.ts'

const FOLDER = new URL('./schema/', import.meta.url)
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/
/** The name under which processes wait for the one that migrates. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('svc-hub schema', 0))"
/** Every process shares it while it serves; nobody else has it meanwhile. */
export const SERVED_LOCK = 7_305_442_018_337
/**
 * How a migration begins with which the build before it does not work. All others leave what that build needs, so that
 * its processes go on until they are started with the new one.
 */
const ALONE = '-- alone\n'
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

export type SchemaHeld = { held: number; newest: number; wrote: string }
type MigrateOptions = { release: string; keepsOlder?: boolean | undefined }

/** Which schema a database has, 0 where it has none, and which one this build knows. */
export async function schemaIn(db: Queries): Promise<SchemaHeld> {
  const newest = readMigrations().length
  const row = await db.one<{ there: boolean }>("SELECT to_regclass('schema_held') IS NOT NULL AS there")
  return row?.there === true ? { ...(await heldIn(db)), newest } : { held: 0, wrote: '', newest }
}

/**
 * Brings a database to the schema of this build, in one transaction; one that has it is only read. Refuses what a newer
 * release wrote, and what this role may not change.
 */
export async function migrate(connections: Connections, options: MigrateOptions): Promise<void> {
  const seen = await schemaIn(connections)
  if (seen.held === seen.newest) return
  if (options.keepsOlder === true && seen.held < seen.newest) throw olderSchema(seen)
  const bring = (db: Queries) => bringTo(readMigrations(), db, options.release)
  try {
    await connections.transaction(bring, { patient: true })
  } catch (error) {
    if (!isForbidden(error)) throw error
    throw new SetupRefused(
      `the role of this hub may not change the schema of its database, which has ${seen.held} and needs ${seen.newest}; bring it there with the role that owns it: svc-hub init --store <URL> --grant <ROLE>`,
    )
  }
}

async function bringTo(migrations: readonly string[], db: Queries, release: string): Promise<void> {
  await db.run(LOCK)
  await db.run(HELD)
  const { held, wrote } = await heldIn(db)
  const newest = migrations.length
  if (held > newest) throw newerStore('the database', { held, newest, release, wrote })
  for (let number = held + 1; number <= newest; number++) {
    if (migrations[number - 1]?.startsWith(ALONE) === true) await refuseServed(db, number)
    for (const statement of statementsOf(migrations[number - 1] ?? '')) await db.run(statement)
    await db.run('INSERT INTO schema_held (number, release) VALUES ($1, $2)', number, release)
  }
}

/** The lock is held until the transaction ends. */
async function refuseServed(db: Queries, number: number): Promise<void> {
  const row = await db.one<{ alone: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS alone', SERVED_LOCK)
  if (row?.alone !== true)
    throw new StoreRefused(
      `schema ${number} works with no process of the release before, and some serve this database; stop all of them, then start this one`,
    )
}

const FORBIDDEN = '42501'
const isForbidden = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === FORBIDDEN

/** An order leaves the schema to whoever serves. */
const olderSchema = ({ held, newest }: SchemaHeld): SetupRefused =>
  held === 0
    ? noHubThere()
    : new SetupRefused(
        `the database has schema ${held}, and this svc-hub works with ${newest}; bring it there: svc-hub init --store <URL>`,
      )

export const noHubThere = (): SetupRefused =>
  new SetupRefused('there is no hub in this database; make one there: svc-hub init --store <URL>')

async function heldIn(db: Queries): Promise<{ held: number; wrote: string }> {
  const row = await db.one<{ number: number; release: string }>(
    'SELECT number, release FROM schema_held ORDER BY number DESC LIMIT 1',
  )
  return { held: row?.number ?? 0, wrote: row?.release ?? '' }
}

/** Each ends with a semicolon at the end of its line. */
const statementsOf = (sql: string): string[] => sql.split(/;\n/).filter(part => /\S/.test(part))
