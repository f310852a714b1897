/**
 * A database that was put back to an earlier time, or may have been. A server begins another timeline where it was restored
 * or promoted, and a copy has another name for itself.
 */
import { AWAITED_SETTING, LOST_SINCE_SETTING, RESTORED_SETTING } from '../ledger-port.ts'
import { IDS_SKIPPED, lostSince, type PutBack } from '../restored.ts'
import { accountQueries, writeSetting } from './accounts.ts'
import type { Queries } from './connections.ts'
import { skipIds } from './mail-rows.ts'
import { toldTables } from './told-numbers.ts'

/** The server, the database in it, and its timeline; rejects at a standby, which stands in none. */
const LINE =
  "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || oid || '/' ||" +
  ' left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS line FROM pg_database WHERE datname = current_database()'

/** What tells a database from one that went on elsewhere. */
export async function lineOf(db: Queries): Promise<string> {
  return (await db.one<{ line: string }>(LINE))?.line ?? ''
}

/** Whether what is acknowledged lies at a standby as well. */
export async function isConfirmed(db: Queries): Promise<boolean> {
  const row = await db.one<{ confirmed: boolean }>(
    // what sessions have without a word of their own, as those of an earlier release had
    "SELECT current_setting('synchronous_standby_names') <> '' AND reset_val <> 'local' AS confirmed FROM pg_settings WHERE name = 'synchronous_commit'",
  )
  return row?.confirmed === true
}

/** Whatever is numbered from here on has a number that was never given. */
export async function skipNumbers(db: Queries): Promise<void> {
  await skipIds(db, IDS_SKIPPED)
  for (const sequence of [
    ...toldTables.map(table => `'${table}_seq'`),
    "pg_get_serial_sequence('open_review', 'fed_seq')",
    // the name of an envelope is made from the number of its mailbox too
    "pg_get_serial_sequence('agent', 'number')",
  ])
    await db.run(`SELECT setval(${sequence}, nextval(${sequence}) + $1)`, IDS_SKIPPED)
}

/** From here on the hub is one that lost a time: its peers and witnesses are asked, and old payments are refused. */
export async function noteLost(db: Queries, given: PutBack): Promise<void> {
  const timeIn = async (name: string) => Number((await settingIn(db, name)) ?? Number.NaN)
  const sinceMs = lostSince(given, {
    restoredMs: await timeIn(RESTORED_SETTING),
    lostSinceMs: await timeIn(LOST_SINCE_SETTING),
  })
  const named = await db.all<{ aid: string }>('SELECT aid FROM witness ORDER BY aid')
  await writeSetting(db, LOST_SINCE_SETTING, String(sinceMs))
  await writeSetting(db, RESTORED_SETTING, String(given.nowMs))
  await writeSetting(db, AWAITED_SETTING, JSON.stringify(named.map(({ aid }) => aid)))
}

export const settingIn = async (db: Queries, name: string): Promise<string | undefined> =>
  (await db.one<{ value: string }>(accountQueries.setting, name))?.value
