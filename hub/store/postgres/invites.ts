/** Invitations in PostgreSQL. */
import type { InviteStore } from '../invite-port.ts'
import { inviteOf, type StoredInvite } from '../invite-rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import type { Writer } from './writes.ts'

export const inviteQueries = {
  invite: 'SELECT hash, made_ms, until_ms, used_by FROM invite WHERE hash = $1',
  invites: 'SELECT hash, made_ms, until_ms, used_by FROM invite ORDER BY made_ms, hash',
} as const

export const addInvite: Write<Parameters<InviteStore['addInvite']>[0], boolean> = {
  locks: () => ({ subjects: ['invites'] }),
  async make(db, { hash, madeMs, untilMs, max }) {
    const held = (await db.one<{ n: number }>('SELECT count(*) AS n FROM invite'))?.n ?? 0
    if (held >= max) return false
    const added = await db.run(
      'INSERT INTO invite (hash, made_ms, until_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      hash,
      madeMs,
      untilMs,
    )
    return added > 0
  },
}

export const removeInvite: Write<{ hash: Uint8Array }, boolean> = {
  locks: () => ({}),
  make: async (db, { hash }) =>
    (await db.run('DELETE FROM invite WHERE hash = $1 AND used_by IS NULL', hash)) > 0,
}

/** Uses an invitation up for a new account; runs inside the transaction that stores the account. */
export async function takeInvite(
  db: Queries,
  { hash, nowMs }: { hash: Uint8Array; nowMs: number },
  aid: string,
): Promise<'taken' | 'inviteGone'> {
  const used = await db.run(
    'UPDATE invite SET used_by = $1 WHERE hash = $2 AND used_by IS NULL AND until_ms > $3',
    aid,
    hash,
    nowMs,
  )
  return used > 0 ? 'taken' : 'inviteGone'
}

export const invitesOver = (reader: Queries, writer: Writer): InviteStore => ({
  addInvite: given => writer.write('addInvite', given),
  async invite(hash) {
    const row = await reader.one<StoredInvite>(inviteQueries.invite, hash)
    return row && inviteOf(row)
  },
  invites: async () => (await reader.all<StoredInvite>(inviteQueries.invites)).map(inviteOf),
  removeInvite: hash => writer.write('removeInvite', { hash }),
})
