/** Visits that every process of a hub finds. */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import type { GuestRoom, GuestSession, GuestSessions } from '../core/ports/guests.ts'
import type { Queries } from '../store/postgres/connections.ts'
import type { Write } from '../store/postgres/groups.ts'
import { Keyed } from './keyed.ts'
import type { ClusterWriter } from './writes.ts'

type Row = {
  name: Uint8Array
  task: Uint8Array
  owner: Uint8Array | null
  version: number
  waitingBytes: number
  seenMs: number
  sealed: Uint8Array
}

/** Room is judged over all visits, so whoever changes one waits for whoever changes another. */
const locks = () => ({ subjects: ['visits'] })

export const addVisit: Write<{ row: Row; room: GuestRoom }, boolean> = {
  locks,
  async make(db, { row: { name, task, owner, version, waitingBytes, seenMs, sealed }, room }) {
    const held = await db.one<{ all: number; own: number }>(
      'SELECT count(*) AS "all", count(*) FILTER (WHERE owner = $1) AS own FROM visit',
      owner,
    )
    if ((held?.all ?? 0) >= room.max || (owner !== null && (held?.own ?? 0) >= room.ownerMax)) return false
    await db.run(
      'INSERT INTO visit (name, task, owner, version, waiting_bytes, seen_ms, sealed) VALUES ($1, $2, $3, $4, $5, $6, $7)',
      ...[name, task, owner, version, waitingBytes, seenMs, sealed],
    )
    return true
  },
}

type Replacing = { row: Row; bytesMax: number }

export const replaceVisit: Write<Replacing, 'replaced' | 'changed' | 'full'> = {
  locks,
  async make(db, { row: { name, version, waitingBytes, seenMs, sealed }, bytesMax }) {
    const held = await db.one<{ version: number; bytes: number; all: number }>(
      'SELECT version, waiting_bytes AS bytes, (SELECT sum(waiting_bytes) FROM visit)::bigint AS "all" FROM visit' +
        ' WHERE name = $1',
      name,
    )
    if (held?.version !== version) return 'changed'
    const more = waitingBytes - held.bytes
    if (more > 0 && held.all + more > bytesMax) return 'full'
    await db.run(
      'UPDATE visit SET version = version + 1, waiting_bytes = $1, seen_ms = $2, sealed = $3 WHERE name = $4',
      ...[waitingBytes, seenMs, sealed, name],
    )
    return 'replaced'
  },
}

type Sealed = { sealed: Uint8Array; version: number }

export const endVisits: Write<{ beforeMs: number }, Sealed[]> = {
  locks,
  make: (db, { beforeMs }) =>
    db.all('DELETE FROM visit WHERE seen_ms < $1 RETURNING sealed, version', beforeMs),
}

type Parts = {
  db: Queries
  writer: ClusterWriter
  secret: Uint8Array
  random: (count: number) => Uint8Array
}

export function guestsOver({ db, writer, secret, random }: Parts): GuestSessions {
  const keyed = new Keyed(secret, 'visits')
  const rowOf = (session: GuestSession): Row => ({
    name: keyed.name('visit', session.id),
    task: keyed.name('task', session.task),
    owner: session.owner === undefined ? null : keyed.name('owner', session.owner),
    version: session.version,
    waitingBytes: session.waitingBytes,
    seenMs: session.seenMs,
    sealed: keyed.seal(utf8(JSON.stringify(session)), random),
  })
  const open = ({ sealed, version }: Sealed): GuestSession => {
    const session = JSON.parse(fromUtf8(keyed.open(sealed))) as GuestSession
    return {
      ...session,
      owner: session.owner,
      lastName: session.lastName,
      sendingSinceMs: session.sendingSinceMs,
      endNumber: session.endNumber,
      version,
    }
  }
  const found = async (member: 'name' | 'task', name: Uint8Array): Promise<GuestSession | undefined> => {
    const row = await db.one<Sealed>(`SELECT sealed, version FROM visit WHERE ${member} = $1`, name)
    return row && open(row)
  }
  return {
    add: (session, room) => writer.write('addVisit', { row: rowOf(session), room }),
    find: id => found('name', keyed.name('visit', id)),
    findTask: task => found('task', keyed.name('task', task)),
    replace: (session, bytesMax) => writer.write('replaceVisit', { row: rowOf(session), bytesMax }),
    all: async () => (await db.all<Sealed>('SELECT sealed, version FROM visit ORDER BY opened')).map(open),
    endOwn: async () => [],
    endIdle: async beforeMs => (await writer.write('endVisits', { beforeMs })).map(open),
  }
}
