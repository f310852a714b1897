/** Invitations in the database. Changes run inside a transaction. */
import type { InviteStore } from '../invite-port.ts'
import { inviteOf, type StoredInvite } from '../invite-rows.ts'
import type { Database } from './database.ts'
import type { WriterClient } from './writer-client.ts'

export const inviteQueries = {
  invite: 'SELECT hash, made_ms, until_ms, used_by FROM invite WHERE hash = ?',
  invites: 'SELECT hash, made_ms, until_ms, used_by FROM invite ORDER BY made_ms, hash',
} as const

type NewInvite = Parameters<InviteStore['addInvite']>[0]

export function addInvite(db: Database, { hash, madeMs, untilMs, max }: NewInvite): boolean {
  const held = db.one<{ n: number }>('SELECT count(*) AS n FROM invite')?.n ?? 0
  if (held >= max) return false
  return (
    db.run('INSERT OR IGNORE INTO invite (hash, made_ms, until_ms) VALUES (?, ?, ?)', hash, madeMs, untilMs) >
    0
  )
}

export function removeInvite(db: Database, { hash }: { hash: Uint8Array }): boolean {
  return db.run('DELETE FROM invite WHERE hash = ? AND used_by IS NULL', hash) > 0
}

/** Uses an invitation up for a new account; runs inside the transaction that stores the account. */
export function takeInvite(
  db: Database,
  { hash, nowMs }: { hash: Uint8Array; nowMs: number },
  aid: string,
): 'taken' | 'inviteGone' {
  const used = db.run(
    'UPDATE invite SET used_by = ? WHERE hash = ? AND used_by IS NULL AND until_ms > ?',
    aid,
    hash,
    nowMs,
  )
  return used > 0 ? 'taken' : 'inviteGone'
}

export function invitesOver(reader: Database, writer: WriterClient): InviteStore {
  return {
    addInvite: given => writer.write('addInvite', given),
    async invite(hash) {
      const row = reader.one<StoredInvite>(inviteQueries.invite, hash)
      return row && inviteOf(row)
    },
    invites: async () => reader.all<StoredInvite>(inviteQueries.invites).map(inviteOf),
    removeInvite: hash => writer.write('removeInvite', { hash }),
  }
}
