/** Looking at a database that no store of this process has open, and making one that was restored safe to serve from. */

import { blobPath, blobPlaces } from '../blob-port.ts'
import { booksAgree } from '../books.ts'
import type { ClearingState } from '../clearing-port.ts'
import type { Inspection, SupplyReads } from '../engine-port.ts'
import { AWAITED_SETTING, LOST_SINCE_SETTING, RESTORED_SETTING } from '../ledger-port.ts'
import { IDS_SKIPPED, lostSince, type PutBack } from '../restored.ts'
import { putSetting, raiseFloors } from './account-writes.ts'
import { readClearing } from './clearing-store.ts'
import { type Database, integrityFaults, openAlone, openReader, openWriter } from './database.ts'
import { readSnapshot, readSupplyHead, readSupplyRecords } from './ledger-reads.ts'
import { skipIds } from './mail-writes.ts'
import { migrate, readMigrations, schemaNumber } from './migrate.ts'
import { skipFedSeqs } from './told-reviews.ts'
import { namedWitnesses, witnessReads } from './witness-store.ts'

/** From this schema on a store has a ledger. */
const LEDGER_SCHEMA = 7
/** From this schema on its supply chain may have witnesses. */
const WITNESS_SCHEMA = 8
/** From this schema on it may have peers whose debts are cleared. */
const CLEARING_SCHEMA = 15
/** The first schema with mail that the hub can read. */
const OPEN_MAIL_SCHEMA = 16

/** Reads what a database says of itself; `deep` reads every page, `alone` says that no process has it open. */
export function inspectDatabase(path: string, options: { deep: boolean; alone: boolean }): Inspection {
  const db = options.alone ? openAlone(path) : openReader(path)
  try {
    const faults = options.deep ? [...integrityFaults(db), ...ledgerFaults(db)] : []
    const settings = new Map(
      db
        .all<{ name: string; value: string }>('SELECT name, value FROM setting')
        .map(({ name, value }) => [name, value]),
    )
    return {
      schema: schemaNumber(db),
      newestSchema: readMigrations().length,
      release: settings.get('release') ?? 'unknown',
      faults,
      blobs: blobsIn(db),
      settings,
    }
  } finally {
    db.close()
  }
}

/** Reads what a database keeps of its supply chain and of the witnesses of it; nothing under an older schema. */
export async function inspectSupply<T>(
  path: string,
  { alone }: { alone: boolean },
  read: (reads: SupplyReads) => Promise<T>,
): Promise<T | undefined> {
  const db = alone ? openAlone(path) : openReader(path)
  try {
    if (schemaNumber(db) < WITNESS_SCHEMA) return undefined
    return await read({
      ...witnessReads(db),
      supplyHead: async () => readSupplyHead(db),
      supplyRecords: async (from, limit) => readSupplyRecords(db, from, limit),
      setting: async name =>
        db.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', name)?.value,
    })
  } finally {
    db.close()
  }
}

/** Reads what was cleared with peers; nothing under an older schema. */
export function inspectClearing(
  path: string,
  { alone }: { alone: boolean },
  peers: readonly string[],
): ClearingState[] {
  const db = alone ? openAlone(path) : openReader(path)
  try {
    return schemaNumber(db) < CLEARING_SCHEMA ? [] : peers.map(peer => readClearing(db, peer))
  } finally {
    db.close()
  }
}

type Named = { file: string }

/** Paths of the blobs that rows name. */
function blobsIn(db: Database): string[] {
  const envelopes = db.all<Named>('SELECT file FROM envelope WHERE file IS NOT NULL')
  const letters =
    schemaNumber(db) < OPEN_MAIL_SCHEMA
      ? []
      : db.all<Named>('SELECT file FROM open_message WHERE file IS NOT NULL')
  return [
    ...envelopes.map(({ file }) => blobPath(blobPlaces.envelopes, file)),
    ...letters.map(({ file }) => blobPath(blobPlaces.letters, file)),
  ]
}

function ledgerFaults(db: Database): string[] {
  if (schemaNumber(db) < LEDGER_SCHEMA || booksAgree(readSnapshot(db))) return []
  return ['the accounts of the ledger do not sum up to its totals']
}

/**
 * A restored store is a store of the past: signed requests and message ids of the time since then were given out already.
 * Every floor rises to `nowMs`, every mailbox goes on with ids that were never used.
 */
export function raiseRestored(
  path: string,
  given: { nowMs: number; savedMs: number; release: string; clockSetting: string },
): void {
  const db = openWriter(path)
  try {
    migrate(db, path, { release: given.release })
    db.exec('BEGIN IMMEDIATE')
    raiseFloors(db, given.nowMs)
    const held = db.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', given.clockSetting)
    const clockMs = Math.max(Number(held?.value ?? 0), given.nowMs)
    putSetting(db, { name: given.clockSetting, value: String(clockMs) })
    putSetting(db, { name: LOST_SINCE_SETTING, value: String(lostSinceIn(db, given)) })
    putSetting(db, { name: RESTORED_SETTING, value: String(given.nowMs) })
    putSetting(db, { name: AWAITED_SETTING, value: JSON.stringify(namedWitnesses(db)) })
    skipIds(db, IDS_SKIPPED)
    skipFedSeqs(db, IDS_SKIPPED)
    db.exec('COMMIT')
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

function lostSinceIn(db: Database, given: PutBack): number {
  const of = (name: string) =>
    Number(db.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', name)?.value ?? Number.NaN)
  return lostSince(given, { restoredMs: of(RESTORED_SETTING), lostSinceMs: of(LOST_SINCE_SETTING) })
}
