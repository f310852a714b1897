/** The changes of what the operator and the hub itself keep: accounts and settings. They run inside a transaction. */
import type { Quota } from '../port.ts'
import type { Database } from './database.ts'

export function raiseFloor(db: Database, change: { aid: string; floorMs: number }): true {
  db.run(
    'INSERT INTO account (aid, floor_ms) VALUES (?1, ?2)' +
      ' ON CONFLICT DO UPDATE SET floor_ms = max(floor_ms, ?2)',
    change.aid,
    change.floorMs,
  )
  return true
}

export function admit(db: Database, change: { aid: string; admitted: boolean }): true {
  db.run(
    'INSERT INTO account (aid, admitted) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET admitted = ?2',
    change.aid,
    change.admitted ? 1 : 0,
  )
  return true
}

export function block(db: Database, change: { aid: string; blocked: boolean }): true {
  db.run(
    'INSERT INTO account (aid, blocked) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET blocked = ?2',
    change.aid,
    change.blocked ? 1 : 0,
  )
  return true
}

export function refuseRange(db: Database, change: { range: string; refused: boolean }): true {
  if (change.refused) db.run('INSERT OR IGNORE INTO refused_range (range) VALUES (?)', change.range)
  else db.run('DELETE FROM refused_range WHERE range = ?', change.range)
  return true
}

export function setQuota(db: Database, change: { aid: string; quota: Quota }): true {
  const { quota } = change
  db.run('INSERT OR IGNORE INTO account (aid) VALUES (?)', change.aid)
  db.run(
    'UPDATE account SET envelopes_max = ?, bytes_max = ?, stranger_envelopes_max = ?, stranger_bytes_max = ?,' +
      ' stranger_per_minute = ? WHERE aid = ?',
    quota.envelopesMax ?? null,
    quota.bytesMax ?? null,
    quota.strangerEnvelopesMax ?? null,
    quota.strangerBytesMax ?? null,
    quota.strangerPerMinute ?? null,
    change.aid,
  )
  return true
}

export function putSetting(db: Database, change: { name: string; value: string }): true {
  db.run('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)', change.name, change.value)
  return true
}

/** No time up to `nowMs` is accepted again from any account that has a floor. */
export function raiseFloors(db: Database, nowMs: number): void {
  db.run('UPDATE account SET floor_ms = max(floor_ms, ?)', nowMs)
}
