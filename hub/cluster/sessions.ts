/** Sending sessions that every process of a hub finds. */
import { fromUtf8, toHex, utf8 } from '../../protocol/encoding/bytes.ts'
import type { OpenSessions, Session } from '../core/ports/sessions.ts'
import type { Queries } from '../store/postgres/connections.ts'
import type { Write } from '../store/postgres/groups.ts'
import { Keyed } from './keyed.ts'
import { sharedLock } from './locks.ts'
import type { ClusterWriter } from './writes.ts'

const SID_BYTES = 16

type Opening = {
  name: Uint8Array
  owner: Uint8Array
  sealed: Uint8Array
  nowMs: number
  expMs: number
  max: number
}

const lockOf = ({ owner }: { owner: Uint8Array }) => ({ subjects: [sharedLock('sessions', toHex(owner))] })

/** The oldest beyond `max` of its owner end with those whose time is over. */
export const openSession: Write<Opening, void> = {
  locks: lockOf,
  async make(db, { name, owner, sealed, nowMs, expMs, max }) {
    await db.run(
      'DELETE FROM sending_session WHERE owner = $1 AND (exp_ms <= $2 OR opened NOT IN' +
        ' (SELECT opened FROM sending_session WHERE owner = $1 AND exp_ms > $2 ORDER BY opened DESC LIMIT $3))',
      ...[owner, nowMs, max - 1],
    )
    await db.run(
      'INSERT INTO sending_session (name, owner, sealed, exp_ms) VALUES ($1, $2, $3, $4)',
      ...[name, owner, sealed, expMs],
    )
  },
}

export const endSessions: Write<{ owner: Uint8Array }, void> = {
  locks: lockOf,
  async make(db, { owner }) {
    await db.run('DELETE FROM sending_session WHERE owner = $1', owner)
  },
}

type Parts = {
  db: Queries
  writer: ClusterWriter
  secret: Uint8Array
  random: (count: number) => Uint8Array
}

export function sessionsOver({ db, writer, secret, random }: Parts): OpenSessions {
  const keyed = new Keyed(secret, 'sessions')
  const ownerOf = (aid: string) => keyed.name('owner', aid)
  const sessionOf = (sid: Uint8Array, aid: string, expMs: number): Session => ({
    ...{ sid, aid, expMs },
    macKey: keyed.hash('mac', sid),
  })
  return {
    async open({ aid, nowMs, expMs, max }, seal) {
      const sid = random(SID_BYTES)
      const answer = seal(sessionOf(sid, aid, expMs))
      const row = { name: keyed.name('sid', sid), owner: ownerOf(aid), sealed: keyed.seal(utf8(aid), random) }
      await writer.write('openSession', { ...row, nowMs, expMs, max })
      return answer
    },
    async find(sid, nowMs) {
      const row = await db.one<{ sealed: Uint8Array; exp_ms: number }>(
        'SELECT sealed, exp_ms FROM sending_session WHERE name = $1',
        keyed.name('sid', sid),
      )
      if (row === undefined || row.exp_ms <= nowMs) return undefined
      return sessionOf(sid, fromUtf8(keyed.open(row.sealed)), row.exp_ms)
    },
    endAll: aid => writer.write('endSessions', { owner: ownerOf(aid) }),
  }
}

export async function forgetSessions(db: Queries, nowMs: number): Promise<void> {
  await db.run('DELETE FROM sending_session WHERE exp_ms <= $1', nowMs)
}
