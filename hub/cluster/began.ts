/** When the processes of a hub began to remember: what they took before is forgotten. */
import { CLOCK_SETTING } from '../core/clocks.ts'
import type { Queries } from '../store/postgres/connections.ts'
import { NOW } from '../store/postgres/state.ts'
import { Forgotten } from '../store/postgres/watched.ts'

const REMEMBERED = ['signed_time', 'sending_session', 'contact_count', 'contact_waiting', 'visit']
/** A server that took the place of another may have a clock that is behind what processes took by the one before. */
const BEGIN =
  `INSERT INTO memory_began (at_ms) SELECT greatest(${NOW}, (SELECT value::bigint FROM setting WHERE name = $1))` +
  ' RETURNING at_ms'

/**
 * 0 where nothing was ever lost; else the time at which a process found that all was: by the clock of the database, and
 * no earlier than the newest time that any process stored.
 */
export async function beganMs(db: Queries): Promise<number> {
  const atMs = await beganAtMs(db)
  if (atMs === undefined) throw new Forgotten()
  return atMs
}

/** Undefined where all was lost, and no process has found that yet. */
export const beganAtMs = async (db: Queries): Promise<number | undefined> =>
  (await db.one<{ at_ms: number }>('SELECT at_ms FROM memory_began'))?.at_ms

/** Forgets what there may be, and notes the time. */
export async function beginAnew(db: Queries): Promise<number> {
  for (const table of [...REMEMBERED, 'memory_began']) await db.run(`DELETE FROM ${table}`)
  return (await db.one<{ at_ms: number }>(BEGIN, CLOCK_SETTING))?.at_ms ?? 0
}
