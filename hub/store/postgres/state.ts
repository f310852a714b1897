/** What a server says of itself, its standbys and the processes of a hub: for figures and for the doctor. */
import { present } from '../../../protocol/encoding/present.ts'
import type { Standby } from '../operator-port.ts'
import type { Queries } from './connections.ts'

/** Who was silent for so long is taken for dead. */
export const SILENT_MS = 10_000
export const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** `names` is the setting of the server; empty where none has to confirm. */
export type Standbys = { names: string; all: Standby[] }

const PROCESSES = `SELECT release, key_events AS "keyEvents", head, peers FROM process WHERE beat_ms > ${NOW} - ${SILENT_MS}`
const STANDBYS = `
SELECT application_name AS name, sync_state AS sync,
  pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint AS bytes,
  floor(extract(epoch FROM replay_lag) * 1000)::bigint AS ms
FROM pg_stat_replication ORDER BY application_name`

/** What a process that serves says of itself: its release, and its copies of what is a file of each machine. */
export type LiveProcess = { release: string; keyEvents: number; head: string; peers: string }

export const processesIn = (db: Queries): Promise<LiveProcess[]> => db.all<LiveProcess>(PROCESSES)

export async function standbysOf(db: Queries): Promise<Standbys> {
  const set = await db.one<{ names: string }>("SELECT current_setting('synchronous_standby_names') AS names")
  type Row = { name: string; sync: string | null; bytes: number | null; ms: number | null }
  const rows = await db.all<Row>(STANDBYS)
  return {
    names: set?.names ?? '',
    all: rows.map(({ name, sync, bytes, ms }) => ({
      name: name === '' ? 'a standby' : name,
      isSynchronous: sync === 'sync' || sync === 'quorum',
      // a standby that has replayed all and hears nothing new has no lag in time
      ...present({
        lagBytes: bytes === null ? undefined : Math.max(0, bytes),
        lagMs: bytes === null ? undefined : (ms ?? 0),
      }),
    })),
  }
}

/** Tables that hold much which is gone already. */
export type DeadRows = { table: string; dead: number; live: number }
const DEAD = `
SELECT relname AS table, n_dead_tup AS dead, n_live_tup AS live FROM pg_stat_user_tables
WHERE schemaname = current_schema() ORDER BY n_dead_tup DESC LIMIT 1`
/** Transactions of others are seen by this role too, and their age where it may see that. */
const OLDEST =
  "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::bigint AS seconds FROM pg_stat_activity WHERE state <> 'idle' AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
const LACKING = `
SELECT count(*)::bigint AS lacking FROM pg_tables
WHERE schemaname = current_schema() AND tablename <> 'schema_held'
AND NOT (has_table_privilege(schemaname || '.' || tablename, 'SELECT') AND has_table_privilege(schemaname || '.' || tablename, 'INSERT')
AND has_table_privilege(schemaname || '.' || tablename, 'UPDATE') AND has_table_privilege(schemaname || '.' || tablename, 'DELETE')
AND (tablename <> 'reserve' OR has_table_privilege(schemaname || '.' || tablename, 'TRUNCATE')))`

/** The table with most rows that are gone and take room. */
export const deadRowsIn = (db: Queries): Promise<DeadRows | undefined> => db.one<DeadRows>(DEAD)

/** How long the oldest transaction has been open. */
export const oldestTransactionIn = async (db: Queries): Promise<number> =>
  (await db.one<{ seconds: number }>(OLDEST))?.seconds ?? 0

/** In how many tables this role may not do what a hub does. */
export const lackingRights = async (db: Queries): Promise<number> =>
  (await db.one<{ lacking: number }>(LACKING))?.lacking ?? 0

/** The time of the server. */
export const serverTimeMs = async (db: Queries): Promise<number> =>
  (await db.one<{ ms: number }>(`SELECT ${NOW} AS ms`))?.ms ?? 0

/** Whether it only reads, as a standby does. */
export const isReadOnly = async (db: Queries): Promise<boolean> =>
  (await db.one<{ recovers: boolean }>('SELECT pg_is_in_recovery() AS recovers'))?.recovers === true
