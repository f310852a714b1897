/** When the processes of a hub began to remember: what they took before is forgotten. */
import { CLOCK_SETTING } from '../core/clocks.ts'
import type { Queries } from '../store/postgres/connections.ts'
import { NOW } from '../store/postgres/state.ts'

/** A server that took the place of another may have a clock that is behind what processes took by the one before. */
const BEGIN =
  `INSERT INTO memory_began (at_ms) SELECT greatest(${NOW}, (SELECT value::bigint FROM setting WHERE name = $1))` +
  ' ON CONFLICT DO NOTHING'

/**
 * 0 where nothing was ever lost; else the time at which a process found that all was: by the clock of the database, and
 * no earlier than the newest time that any process stored.
 */
export async function beganMs(db: Queries): Promise<number> {
  const held = await read(db)
  if (held !== undefined) return held
  await db.run(BEGIN, CLOCK_SETTING)
  return (await read(db)) ?? 0
}

const read = async (db: Queries): Promise<number | undefined> =>
  (await db.one<{ at_ms: number }>('SELECT at_ms FROM memory_began'))?.at_ms
