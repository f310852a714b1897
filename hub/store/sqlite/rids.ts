/** The key of the rids of a SQLite store, and rids of rows that have their own. */
import { fromHex, toHex } from '../../../protocol/encoding/bytes.ts'
import { type EnvelopePlace, RID_KEY_BYTES, RID_KEY_SETTING, Rids } from '../rids.ts'
import { putSetting } from './account-writes.ts'
import type { Database } from './database.ts'

/** Makes the key of a store that has none yet. */
export function ensureRidKey(db: Database, random: (count: number) => Uint8Array): void {
  if (readKey(db) === undefined)
    putSetting(db, { name: RID_KEY_SETTING, value: toHex(random(RID_KEY_BYTES)) })
}

const known = new WeakMap<Database, Rids>()

/** Those of an open store. */
export function ridsOf(db: Database): Rids {
  let rids = known.get(db)
  if (rids === undefined) {
    const key = readKey(db)
    if (key === undefined) throw new Error(`the store has no setting ${RID_KEY_SETTING}`)
    rids = new Rids(key)
    known.set(db, rids)
  }
  return rids
}

/** What a row's envelope is called: those queued before schema 9 have it in the row. */
export function ridOf(db: Database, row: EnvelopePlace & { rid: Uint8Array }): Uint8Array {
  return row.rid.length > 0 ? row.rid : ridsOf(db).of(row)
}

function readKey(db: Database): Uint8Array | undefined {
  const held = db.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', RID_KEY_SETTING)
  return held === undefined ? undefined : fromHex(held.value, RID_KEY_SETTING)
}
