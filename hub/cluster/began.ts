/** When the processes of a hub began to remember: what they took before is forgotten. */
import type { Queries } from '../store/postgres/connections.ts'

const BEGIN =
  'INSERT INTO memory_began (at_ms) VALUES (floor(extract(epoch FROM clock_timestamp()) * 1000)) ON CONFLICT DO NOTHING'

/** 0 where nothing was ever lost; else the time, by the clock of the database, at which a process found that all was. */
export async function beganMs(db: Queries): Promise<number> {
  const held = await read(db)
  if (held !== undefined) return held
  await db.run(BEGIN)
  return (await read(db)) ?? 0
}

const read = async (db: Queries): Promise<number | undefined> =>
  (await db.one<{ at_ms: number }>('SELECT at_ms FROM memory_began'))?.at_ms
