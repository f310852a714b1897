/**
 * The supply chains of other hubs that are watched from this data directory, in a file of their own: their records, and
 * what was signed about them. A command writes it, whether or not a hub serves from the directory; a hub that does reads it.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Followed, WatchedChain, WatchedChains, WatchedPart } from '../witness-port.ts'
import { type Database, inWords, openReader, openWriter, rollBack } from './database.ts'

export const WATCHED_FILE = 'witness.db'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS watched_chain (
  hub       TEXT PRIMARY KEY,
  kel       BLOB NOT NULL,
  -- Number of records, and where reading goes on: after the last epoch.
  length    INTEGER NOT NULL,
  place     TEXT NOT NULL,
  statement BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS watched_record (
  hub    TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (hub, seq)
) STRICT;
-- What a hub showed that does not go on from there: evidence.
CREATE TABLE IF NOT EXISTS watched_conflict (
  hub     TEXT NOT NULL,
  seen_ms INTEGER NOT NULL,
  why     TEXT NOT NULL,
  record  BLOB
) STRICT;
`

const COLUMNS = 'kel, length, place, statement'

export class ChainsFile implements WatchedChains {
  readonly #db: Database

  private constructor(db: Database) {
    this.#db = db
  }

  static open(directory: string): ChainsFile {
    const db = openWriter(join(directory, WATCHED_FILE))
    db.onFault = inWords
    db.exec(SCHEMA)
    return new ChainsFile(db)
  }

  async chain(hub: string): Promise<WatchedChain | undefined> {
    return readChain(this.#db, hub)
  }

  async records(hub: string, from: number): Promise<Uint8Array[]> {
    return readRecords(this.#db, hub, from, Number.MAX_SAFE_INTEGER)
  }

  async keep({ hub, before, records, kel, length, place, statement }: Followed): Promise<boolean> {
    const db = this.#db
    db.exec('BEGIN IMMEDIATE')
    try {
      if ((readChain(db, hub)?.length ?? 0) !== before) {
        rollBack(db)
        return false
      }
      for (const [at, record] of records.entries())
        db.run('INSERT INTO watched_record (hub, seq, record) VALUES (?, ?, ?)', hub, before + at, record)
      db.run(
        `INSERT OR REPLACE INTO watched_chain (hub, ${COLUMNS}) VALUES (?, ?, ?, ?, ?)`,
        hub,
        kel,
        length,
        place,
        statement,
      )
      db.exec('COMMIT')
      return true
    } catch (error) {
      rollBack(db)
      throw error
    }
  }

  async keepConflict(
    hub: string,
    seenMs: number,
    why: string,
    record: Uint8Array | undefined,
  ): Promise<void> {
    const sql = 'INSERT INTO watched_conflict (hub, seen_ms, why, record) VALUES (?, ?, ?, ?)'
    this.#db.run(sql, hub, seenMs, why, record ?? null)
  }

  async close(): Promise<void> {
    this.#db.close()
  }
}

const readChain = (db: Database, hub: string): WatchedChain | undefined =>
  db.one<WatchedChain>(`SELECT ${COLUMNS} FROM watched_chain WHERE hub = ?`, hub)

function readRecords(db: Database, hub: string, from: number, limit: number): Uint8Array[] {
  const sql = 'SELECT record FROM watched_record WHERE hub = ? AND seq >= ? ORDER BY seq LIMIT ?'
  return db.all<{ record: Uint8Array }>(sql, hub, from, limit).map(({ record }) => record)
}

/** Records of a chain that is watched beside this database; undefined where it is not. */
export function readWatched(
  database: string,
  { hub, from, limit }: { hub: string; from: number; limit: number },
): WatchedPart | undefined {
  const path = join(dirname(database), WATCHED_FILE)
  if (!existsSync(path)) return undefined
  const db = openReader(path)
  try {
    const chain = readChain(db, hub)
    if (chain === undefined) return undefined
    const { length, statement } = chain
    return { length, statement, records: readRecords(db, hub, from, limit) }
  } finally {
    db.close()
  }
}
