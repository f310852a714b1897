/** Mailboxes in PostgreSQL: collecting, confirmations, revocations, expiry, and what is asked of them. */
import type { Ack, AckResult, DeliveryState, MailTotals, Store, SweepResult } from '../port.ts'
import { dayOf, fitting } from '../queueing.ts'
import type { Rids } from '../rids.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { filesOf, sweepCounts, sweepRevocations, take } from './mail-rows.ts'
import { noRoomForMail } from './reserve.ts'
import { sweepSignUps } from './sign-ups.ts'
import type { Writer } from './writes.ts'

export const mailQueries = {
  poll:
    'SELECT id, accepted_ms AS "acceptedMs", size, file FROM envelope' +
    ' WHERE mailbox = $1 AND id > $2 AND delete_ms > $3 ORDER BY id LIMIT $4',
  contents:
    'SELECT id, content FROM envelope WHERE mailbox = $1 AND id = ANY($2::bigint[]) AND content IS NOT NULL',
  delivered: 'SELECT rid, handle, dack, fetched FROM delivery WHERE rid = ANY($1::bytea[])',
  waiting:
    'SELECT mailbox, id FROM envelope WHERE (mailbox, id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))',
  queued: 'SELECT waiting FROM digest WHERE mailbox = $1 AND digest = $2 AND waiting <> 0',
  strangers: 'SELECT stranger_envelopes AS n FROM mailbox WHERE number = $1',
  revoked: 'SELECT 1 FROM revocation WHERE mailbox = $1 AND capability = $2',
  used: 'SELECT DISTINCT file FROM envelope WHERE file = ANY($1::text[])',
  totals:
    'SELECT count(*) AS mailboxes, coalesce(sum(envelopes), 0)::bigint AS envelopes,' +
    ' coalesce(sum(bytes), 0)::bigint AS bytes,' +
    ' coalesce(sum(stranger_envelopes), 0)::bigint AS "strangerEnvelopes",' +
    ' coalesce(sum(revocations), 0)::bigint AS revocations FROM mailbox',
  expired: 'SELECT mailbox, id FROM envelope WHERE delete_ms <= $1 LIMIT $2',
} as const

/** Removes the items that are in the mailbox, and keeps the confirmations that came with them. */
export const ackWith = (rids: Rids): Write<Ack, AckResult> => ({
  locks: ({ mailbox }) => ({ mailboxes: [mailbox] }),
  makesRoom: true,
  async make(db, { mailbox, items, keepUntilMs }) {
    const asked = new Map(items.map(item => [item.id, item]))
    const taken = await take(db, mailbox, [...asked.keys()])
    const ids = taken.map(({ id }) => id).sort((a, b) => a - b)
    const kept = ids.flatMap(id => asked.get(id) ?? [])
    if (kept.length > 0)
      await db.run(
        'INSERT INTO delivery (rid, handle, dack, fetched, delete_ms)' +
          ' SELECT rid, handle, dack, false, $4 FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS kept (rid, handle, dack)' +
          ' ON CONFLICT (rid) DO UPDATE SET handle = excluded.handle, dack = excluded.dack, fetched = false, delete_ms = $4',
        kept.map(({ id }) => rids.of({ mailbox, id })),
        kept.map(({ handle }) => handle ?? null),
        kept.map(({ dack }) => dack ?? null),
        keepUntilMs,
      )
    const stored = kept.filter(({ dack }) => dack !== undefined).length
    return { acked: ids.length, stored, ids, files: filesOf(taken) }
  },
})

export const markFetched: Write<{ rids: Uint8Array[]; keepUntilMs: number }, void> = {
  locks: () => ({}),
  async make(db, { rids, keepUntilMs }) {
    await db.run(
      'UPDATE delivery SET fetched = true, delete_ms = least(delete_ms, $2) WHERE rid = ANY($1::bytea[]) AND NOT fetched',
      rids,
      keepUntilMs,
    )
  },
}

/** Deletes what has expired; `more` says that a further sweep has work left. */
export const sweep: Write<{ nowMs: number; limit: number }, SweepResult> = {
  locks: () => ({ subjects: ['sweep'] }),
  makesRoom: true,
  async make(db, { nowMs, limit }) {
    const envelopes = await db.all<{ mailbox: number; id: number }>(mailQueries.expired, nowMs, limit)
    const byBox = [...Map.groupBy(envelopes, ({ mailbox }) => mailbox)].sort(([a], [b]) => a - b)
    await db.run(
      'SELECT FROM agent WHERE number = ANY($1::bigint[]) ORDER BY number FOR UPDATE',
      byBox.map(([mailbox]) => mailbox),
    )
    const files: string[] = []
    for (const [mailbox, of] of byBox) {
      const ids = of.map(({ id }) => id)
      files.push(...filesOf(await take(db, mailbox, ids)))
    }
    const rest = [
      await sweepRevocations(db, nowMs, limit),
      await db.run(
        'DELETE FROM delivery WHERE rid IN (SELECT rid FROM delivery WHERE delete_ms <= $1 LIMIT $2)',
        nowMs,
        limit,
      ),
      ...(await sweepCounts(db, nowMs, limit)),
      ...(await sweepSignUps(db, dayOf(nowMs), nowMs, limit)),
    ]
    return { envelopes, files, more: [envelopes.length, ...rest].some(count => count >= limit) }
  },
}

type Heads = { id: number; acceptedMs: number; size: number; file: string | null }[]
type Delivered = { rid: Uint8Array; handle: Uint8Array | null; dack: Uint8Array | null; fetched: boolean }

async function status(reader: Queries, rids: Rids, asked: readonly Uint8Array[]): Promise<DeliveryState[]> {
  const places = asked.map(rid => rids.placeOf(rid))
  const known = places.flatMap(place => place ?? [])
  // what waits is read first: a delivery that comes between is found by the second question
  const waiting = await reader.all<{ mailbox: number; id: number }>(
    mailQueries.waiting,
    known.map(({ mailbox }) => mailbox),
    known.map(({ id }) => id),
  )
  const delivered = await reader.all<Delivered>(mailQueries.delivered, asked)
  const waits = new Set(waiting.map(({ mailbox, id }) => `${mailbox} ${id}`))
  const done = new Map(delivered.map(row => [String(row.rid), row]))
  return asked.map((rid, index) => {
    const row = done.get(String(rid))
    if (row !== undefined)
      return {
        state: 'done',
        handle: row.handle ?? undefined,
        dack: row.dack ?? undefined,
        fetched: row.fetched,
      }
    const place = places[index]
    const isWaiting = place !== undefined && waits.has(`${place.mailbox} ${place.id}`)
    return { state: isWaiting ? 'queued' : 'unknown' }
  })
}

type MailStore = Pick<
  Store,
  | 'enqueue'
  | 'ack'
  | 'poll'
  | 'contents'
  | 'status'
  | 'findQueued'
  | 'strangersWaiting'
  | 'markFetched'
  | 'revoke'
  | 'isRevoked'
  | 'sweep'
  | 'unusedFiles'
  | 'totals'
>

export const mailOver = (reader: Queries, writer: Writer, rids: Rids): MailStore => ({
  async enqueue(item) {
    const result = await writer.write('enqueue', item)
    if (result.outcome === 'noRoom') throw noRoomForMail()
    if (result.outcome !== 'queued') return result
    return { ...result, rid: rids.of({ mailbox: item.mailbox, id: result.id }) }
  },
  ack: change => writer.write('ack', change),
  async poll({ mailbox, afterId, limit, bytesMax, nowMs }) {
    const heads: Heads = await reader.all(mailQueries.poll, mailbox, afterId, nowMs, limit + 1)
    const sizes = heads.map(({ size }) => size)
    const count = fitting(sizes, { limit, bytesMax })
    const envelopes = heads.slice(0, count).map(({ file, ...head }) => ({ ...head, file: file ?? undefined }))
    return { envelopes, more: heads.length > count }
  },
  async contents({ mailbox, ids }) {
    type Content = { id: number; content: Uint8Array }
    const rows = await reader.all<Content>(mailQueries.contents, mailbox, ids)
    return new Map(rows.map(({ id, content }) => [id, content]))
  },
  status: asked => status(reader, rids, asked),
  async findQueued(mailbox, digest) {
    const row = await reader.one<{ waiting: number }>(mailQueries.queued, mailbox, digest)
    return row && rids.of({ mailbox, id: row.waiting })
  },
  strangersWaiting: async mailbox =>
    (await reader.one<{ n: number }>(mailQueries.strangers, mailbox))?.n ?? 0,
  markFetched: (asked, keepUntilMs) => writer.write('markFetched', { rids: asked, keepUntilMs }),
  revoke: change => writer.write('revoke', change),
  isRevoked: async (mailbox, capability) =>
    (await reader.one(mailQueries.revoked, mailbox, capability)) !== undefined,
  sweep: (nowMs, limit) => writer.write('sweep', { nowMs, limit }),
  async unusedFiles(names) {
    const used = new Set(
      (await reader.all<{ file: string }>(mailQueries.used, names)).map(({ file }) => file),
    )
    return names.filter(name => !used.has(name))
  },
  async totals() {
    const totals = await reader.one<MailTotals>(mailQueries.totals)
    return totals ?? { mailboxes: 0, envelopes: 0, bytes: 0, strangerEnvelopes: 0, revocations: 0 }
  },
})
