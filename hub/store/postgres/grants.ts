/** What a role needs that serves a hub and changes no schema. */
import { StoreRefused } from '../port.ts'
import type { Queries } from './connections.ts'
import { connectionsTo, type DatabaseWay } from './way.ts'

const NAMES =
  'SELECT quote_ident(current_schema()) AS schema, quote_ident($1) AS role, to_regrole(quote_ident($1)) IS NOT NULL AS there'

/** Run by the role that owns the schema; what later migrations make is granted too. */
export async function grantServing(way: DatabaseWay, role: string): Promise<void> {
  const connections = connectionsTo(way)
  try {
    await connections.transaction(db => grant(db, role))
  } finally {
    await connections.close()
  }
}

async function grant(db: Queries, name: string): Promise<void> {
  const names = await db.one<{ schema: string; role: string; there: boolean }>(NAMES, name)
  if (names?.there !== true)
    throw new StoreRefused(`the database has no role ${name}; make it with: createuser ${name}`)
  const { schema, role } = names
  const tables = 'SELECT, INSERT, UPDATE, DELETE'
  for (const statement of [
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
    `GRANT ${tables} ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    `GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT ${tables} ON TABLES TO ${role}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE, UPDATE ON SEQUENCES TO ${role}`,
    `GRANT TRUNCATE ON reserve TO ${role}`,
    `REVOKE INSERT, UPDATE, DELETE ON schema_held FROM ${role}`,
  ])
    await db.run(statement)
}
