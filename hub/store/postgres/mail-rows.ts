/** The rows of mailboxes: whatever changes one of their tables stands here. */
import { concat } from '../../../protocol/encoding/bytes.ts'
import type { Enqueue, Store } from '../port.ts'
import { dayOf, type Seen } from '../queueing.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'

const DAY_MS = 86_400_000

const statements = {
  insert:
    'INSERT INTO envelope (mailbox, id, digest, accepted_ms, delete_ms, size, stranger, file, content)' +
    ' SELECT mailbox, id, digest, accepted_ms, delete_ms, size, stranger, file,' +
    ' CASE WHEN starts IS NULL THEN NULL ELSE substring($11::bytea FROM starts FOR length) END' +
    ' FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[],' +
    ' $7::boolean[], $8::text[], $9::integer[], $10::integer[])' +
    ' AS of (mailbox, id, digest, accepted_ms, delete_ms, size, stranger, file, starts, length)',
  note:
    'INSERT INTO digest (mailbox, digest, since_ms, times, waiting)' +
    ' SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[])' +
    ' ON CONFLICT (mailbox, digest) DO UPDATE SET since_ms = excluded.since_ms, times = excluded.times, waiting = excluded.waiting',
  count:
    'UPDATE mailbox SET next_id = next_id + more.n, envelopes = envelopes + more.n, bytes = bytes + more.size,' +
    ' stranger_envelopes = stranger_envelopes + more.strangers, stranger_bytes = stranger_bytes + more.stranger_size' +
    ' FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])' +
    ' AS more (number, n, size, strangers, stranger_size) WHERE mailbox.number = more.number',
  use:
    'INSERT INTO capability_use (day, mailbox, capability, uses)' +
    ' SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[])' +
    ' ON CONFLICT (day, mailbox, capability) DO UPDATE SET uses = capability_use.uses + excluded.uses',
} as const

export type Queued = { item: Enqueue; id: number }
export type Use = { day: number; mailbox: number; capability: Uint8Array; uses: number }
/** `noted`: of the digests that were queued, what is known of each now. */
export type QueuedGroup = {
  readonly queued: readonly Queued[]
  readonly noted: ReadonlyMap<string, { item: Enqueue; seen: Seen }>
  readonly uses: ReadonlyMap<string, Use>
}

/** A mailbox of its own for a new agent. */
export async function addMailbox(db: Queries, number: number): Promise<void> {
  await db.run('INSERT INTO mailbox (number) VALUES ($1)', number)
}

/** No id of the next `count` is given. */
export async function skipIds(db: Queries, count: number): Promise<void> {
  await db.run('UPDATE mailbox SET next_id = next_id + $1', count)
}

/** Writes what a group has queued, by one statement a table. */
export async function storeQueued(db: Queries, { queued, noted, uses }: QueuedGroup): Promise<void> {
  const each = <T>(read: (item: Enqueue, id: number) => T): T[] =>
    queued.map(({ item, id }) => read(item, id))
  const seen = [...noted.values()]
  const more = [...Map.groupBy(queued, ({ item }) => item.mailbox)].map(moreIn)
  const used = [...uses.values()]
  await Promise.all([
    db.run(
      statements.insert,
      each(({ mailbox }) => mailbox),
      each((_, id) => id),
      each(({ digest }) => digest),
      each(({ nowMs }) => nowMs),
      each(({ deleteAtMs }) => deleteAtMs),
      each(({ size }) => size),
      each(({ stranger }) => stranger),
      each(({ file }) => file ?? null),
      ...contentsOf(queued),
    ),
    db.run(
      statements.note,
      seen.map(({ item }) => item.mailbox),
      seen.map(({ item }) => item.digest),
      seen.map(one => one.seen.since_ms),
      seen.map(one => one.seen.times),
      seen.map(one => one.seen.waiting),
    ),
    db.run(
      statements.count,
      more.map(({ number }) => number),
      more.map(({ n }) => n),
      more.map(({ size }) => size),
      more.map(({ strangers }) => strangers),
      more.map(({ strangerSize }) => strangerSize),
    ),
    used.length > 0 &&
      db.run(
        statements.use,
        used.map(({ day }) => day),
        used.map(({ mailbox }) => mailbox),
        used.map(({ capability }) => capability),
        used.map(one => one.uses),
      ),
  ])
}

/** What a mailbox has more of. */
function moreIn([number, of]: [number, Queued[]]) {
  const strangers = of.filter(({ item }) => item.stranger)
  return {
    number,
    n: of.length,
    size: sizeOfQueued(of),
    strangers: strangers.length,
    strangerSize: sizeOfQueued(strangers),
  }
}

/** Contents as one piece, and where each begins in it, from 1 on, and ends: many in an array would go as text. */
function contentsOf(
  queued: readonly Queued[],
): [starts: (number | null)[], lengths: number[], all: Uint8Array] {
  const starts: (number | null)[] = []
  let end = 1
  for (const { item } of queued) {
    starts.push(item.content === undefined ? null : end)
    end += item.content?.length ?? 0
  }
  const contents = queued.map(({ item }) => item.content ?? NOTHING)
  return [starts, contents.map(({ length }) => length), concat(...contents)]
}

const NOTHING = new Uint8Array(0)

const sizeOfQueued = (queued: readonly Queued[]): number =>
  queued.reduce((sum, { item }) => sum + item.size, 0)

export type Taken = { id: number; digest: Uint8Array; size: number; stranger: boolean; file: string | null }

/** Removes envelopes of a mailbox; what is not there any more was removed before. */
export async function take(db: Queries, mailbox: number, ids: readonly number[]): Promise<Taken[]> {
  const taken = await db.all<Taken>(
    'DELETE FROM envelope WHERE mailbox = $1 AND id = ANY($2::bigint[]) RETURNING id, digest, size, stranger, file',
    mailbox,
    ids,
  )
  if (taken.length === 0) return []
  await db.run(
    'UPDATE digest SET waiting = 0 WHERE mailbox = $1 AND digest = ANY($2::bytea[])',
    mailbox,
    taken.map(({ digest }) => digest),
  )
  const strangers = taken.filter(({ stranger }) => stranger)
  await db.run(
    'UPDATE mailbox SET envelopes = envelopes - $1, bytes = bytes - $2, stranger_envelopes = stranger_envelopes - $3,' +
      ' stranger_bytes = stranger_bytes - $4 WHERE number = $5',
    ...[taken.length, sizeOf(taken), strangers.length, sizeOf(strangers), mailbox],
  )
  return taken
}

const sizeOf = (taken: readonly Taken[]): number => taken.reduce((sum, { size }) => sum + size, 0)
export const filesOf = (taken: readonly Taken[]): string[] => taken.flatMap(({ file }) => file ?? [])

/** Removes everything that waits in a mailbox. */
export async function emptyMailbox(
  db: Queries,
  mailbox: number,
): Promise<{ dropped: number; files: string[] }> {
  const rows = await db.all<{ id: number }>('SELECT id FROM envelope WHERE mailbox = $1', mailbox)
  const taken = await take(
    db,
    mailbox,
    rows.map(({ id }) => id),
  )
  return { dropped: taken.length, files: filesOf(taken) }
}

export async function sweepRevocations(db: Queries, nowMs: number, limit: number): Promise<number> {
  const gone = await db.all<{ mailbox: number }>(
    'DELETE FROM revocation WHERE (mailbox, capability) IN' +
      ' (SELECT mailbox, capability FROM revocation WHERE delete_ms <= $1 LIMIT $2) RETURNING mailbox',
    nowMs,
    limit,
  )
  const counts = [...Map.groupBy(gone, ({ mailbox }) => mailbox)]
  await db.run(
    'UPDATE mailbox SET revocations = revocations - less.n FROM unnest($1::bigint[], $2::bigint[]) AS less (number, n)' +
      ' WHERE mailbox.number = less.number',
    counts.map(([mailbox]) => mailbox),
    counts.map(([, of]) => of.length),
  )
  return gone.length
}

/** Deletes what is known of digests and uses and no longer counts; how many rows of each. */
export async function sweepCounts(db: Queries, nowMs: number, limit: number): Promise<number[]> {
  return [
    await db.run(
      'DELETE FROM digest WHERE (mailbox, digest) IN' +
        ' (SELECT mailbox, digest FROM digest WHERE waiting = 0 AND since_ms <= $1 LIMIT $2)',
      nowMs - DAY_MS,
      limit,
    ),
    await db.run(
      'DELETE FROM capability_use WHERE (day, mailbox, capability) IN' +
        ' (SELECT day, mailbox, capability FROM capability_use WHERE day < $1 LIMIT $2)',
      dayOf(nowMs),
      limit,
    ),
  ]
}

export const revoke: Write<Parameters<Store['revoke']>[0], Awaited<ReturnType<Store['revoke']>>> = {
  locks: ({ mailbox }) => ({ mailboxes: [mailbox] }),
  makesRoom: true,
  async make(db, { mailbox, capabilities, deleteAtMs, nowMs, max }) {
    const gone = await db.run('DELETE FROM revocation WHERE mailbox = $1 AND delete_ms <= $2', mailbox, nowMs)
    const box = await db.one<{ n: number }>('SELECT revocations AS n FROM mailbox WHERE number = $1', mailbox)
    const held = (box?.n ?? 0) - gone
    const fresh = await db.all<{ capability: Uint8Array }>(
      'SELECT DISTINCT capability FROM unnest($2::bytea[]) AS given (capability)' +
        ' WHERE capability NOT IN (SELECT capability FROM revocation WHERE mailbox = $1)',
      mailbox,
      capabilities,
    )
    const isFull = held + fresh.length > max
    const added = isFull ? [] : fresh.map(({ capability }) => capability)
    if (added.length > 0)
      await db.run(
        'INSERT INTO revocation (mailbox, capability, delete_ms) SELECT $1, capability, $3 FROM unnest($2::bytea[]) AS capability',
        mailbox,
        added,
        deleteAtMs,
      )
    const total = held + added.length
    await db.run('UPDATE mailbox SET revocations = $1 WHERE number = $2', total, mailbox)
    return isFull ? { outcome: 'full' } : { outcome: 'revoked', revoked: added.length, total }
  },
}
