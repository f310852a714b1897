/** Open mail in PostgreSQL; messages are removed when their agent has them. All open mail together has one sum. */
import {
  type GuestTaker,
  type OpenMailbox,
  type OpenMailStore,
  type OpenOnce,
  type OpenProfile,
  type OpenSend,
  type OpenSent,
  PLACE_MAX,
} from '../open-mail-port.ts'
import { messageOf, type StoredMessage, type StoredTaker, takersOf } from '../open-mail-rows.ts'
import { fitting } from '../queueing.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { IS_GIVEN_UP, type NoRoom, noRoomForMail } from './reserve.ts'
import type { Writer } from './writes.ts'

export const openQueries = {
  box: 'SELECT number, guest_quota, pricing, address, listed, polled_ms, messages FROM open_mailbox WHERE number = $1',
  boxes:
    'SELECT number, guest_quota, pricing, address, listed, polled_ms, messages FROM open_mailbox' +
    ' WHERE number = ANY($1::bigint[])',
  room:
    'SELECT messages, bytes, (SELECT bytes FROM open_totals WHERE one = 1) AS total,' +
    ` ${IS_GIVEN_UP} AS short FROM open_mailbox WHERE number = $1`,
  waiting:
    'SELECT id, sender, kind, interaction, created_ms, size, file FROM open_message WHERE mailbox = $1 ORDER BY n LIMIT $2',
  contents:
    'SELECT id, content FROM open_message WHERE mailbox = $1 AND id = ANY($2::text[]) AND content IS NOT NULL',
  totals: 'SELECT bytes, tasks FROM open_totals WHERE one = 1',
  used: 'SELECT DISTINCT file FROM open_message WHERE file = ANY($1::text[])',
  forwarded: 'SELECT n, origin, at_ms FROM open_forward WHERE digest = $1',
  oldestForwarded: 'SELECT n, origin FROM open_forward WHERE origin = $1 ORDER BY n LIMIT 1',
  forwardedBefore: 'SELECT n, origin FROM open_forward WHERE at_ms < $1 ORDER BY at_ms LIMIT $2',
  held: 'SELECT held FROM open_forwards WHERE origin = $1',
  agents: "SELECT count(*) AS n FROM agent WHERE registered AND mail = 'open'",
  takers:
    'SELECT aid, name, guest_quota, polled_ms FROM open_mailbox JOIN agent USING (number)' +
    ' WHERE guest_quota > 0 AND listed AND left_ms IS NULL AND NOT away AND place >= $1 AND place < $2' +
    ' ORDER BY place LIMIT $3',
  gone: 'SELECT number FROM open_mailbox WHERE NOT away AND polled_ms < $1 ORDER BY polled_ms LIMIT $2',
  leftBehind:
    'SELECT id, mailbox FROM open_mailbox JOIN open_message ON mailbox = number' +
    ' WHERE left_ms <= $1 ORDER BY left_ms LIMIT $2',
} as const

/** Whatever changes how much waits. */
const locksOfSums = () => ({ subjects: ['open mail'] })
const none = () => ({})

export const putOpenProfile: Write<OpenProfile & { number: number }, void> = {
  locks: none,
  async make(db, { number, guestQuota, pricing, address }) {
    await db.run(
      'INSERT INTO open_mailbox (number, guest_quota, pricing, address) VALUES ($1, $2, $3, $4) ON CONFLICT (number)' +
        ' DO UPDATE SET guest_quota = excluded.guest_quota, pricing = excluded.pricing, address = excluded.address',
      ...[number, guestQuota, pricing, address ?? null],
    )
  },
}

export const listOpen: Write<{ number: number; listed: boolean }, void> = {
  locks: none,
  async make(db, { number, listed }) {
    await db.run('UPDATE open_mailbox SET listed = $1 WHERE number = $2', listed, number)
  },
}

export const setGuestQuota: Write<{ number: number; guestQuota: number }, void> = {
  locks: none,
  async make(db, { number, guestQuota }) {
    await db.run('UPDATE open_mailbox SET guest_quota = $1 WHERE number = $2', guestQuota, number)
  },
}

export const notePolled: Write<{ number: number; nowMs: number }, void> = {
  locks: none,
  makesRoom: true,
  async make(db, { number, nowMs }) {
    await db.run('UPDATE open_mailbox SET polled_ms = $1, away = false WHERE number = $2', nowMs, number)
  },
}

export const noteAway: Write<{ polledBeforeMs: number; limit: number }, { more: boolean }> = {
  locks: none,
  async make(db, { polledBeforeMs, limit }) {
    const gone = await db.all<{ number: number }>(openQueries.gone, polledBeforeMs, limit)
    for (const { number } of gone) await keepAway(db, number)
    return { more: gone.length === limit }
  },
}

/** It takes no visitors until its mail is asked for. */
export async function keepAway(db: Queries, number: number): Promise<void> {
  await db.run('UPDATE open_mailbox SET away = true WHERE number = $1', number)
}

export const noteLeft: Write<{ number: number; leftMs: number | undefined }, void> = {
  locks: none,
  async make(db, { number, leftMs }) {
    await db.run('UPDATE open_mailbox SET left_ms = $1 WHERE number = $2', leftMs ?? null, number)
  },
}

type Room = { messages: number; bytes: number; total: number | null; short: boolean }

export const sendOpen: Write<OpenSend, OpenSent | NoRoom> = {
  locks: locksOfSums,
  async make(db, item) {
    const room = await db.one<Room>(openQueries.room, item.mailbox)
    if (room === undefined) return { outcome: 'noMailbox' }
    if ((await db.one('SELECT 1 FROM open_message WHERE id = $1', item.id)) !== undefined)
      return { outcome: 'queued' }
    const { once, limits, size } = item
    if (once !== undefined && (await wasForwarded(db, once.digest, once.sinceMs)))
      return { outcome: 'repeated' }
    if (room.short) return { outcome: 'noRoom' }
    if (room.messages >= limits.messagesMax || room.bytes + size > limits.bytesMax)
      return { outcome: 'mailboxFull' }
    if ((room.total ?? 0) + size > limits.totalBytesMax) return { outcome: 'hubFull' }
    if (once !== undefined) await remember(db, once, item.nowMs)
    await insert(db, item)
    await count(db, item.mailbox, { messages: 1, bytes: size })
    if (item.kind === 'result' && item.interaction !== '')
      await countTask(db, item.interaction, limits.tasksMax)
    return { outcome: 'queued' }
  },
}

async function insert(db: Queries, item: OpenSend): Promise<void> {
  await db.run(
    'INSERT INTO open_message (id, mailbox, sender, kind, interaction, created_ms, size, file, content)' +
      ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)',
    ...[item.id, item.mailbox, item.from, item.kind, item.interaction, item.nowMs, item.size],
    item.file ?? null,
    item.content ?? null,
  )
}

type Forward = { n: number; origin: string }

async function wasForwarded(db: Queries, digest: Uint8Array, sinceMs: number): Promise<boolean> {
  const row = await db.one<{ at_ms: number }>(openQueries.forwarded, digest)
  return row !== undefined && row.at_ms >= sinceMs
}

async function remember(db: Queries, { origin, digest, max }: OpenOnce, nowMs: number): Promise<void> {
  await forget(db, await db.one<Forward>(openQueries.forwarded, digest))
  const { held } = (await db.one<{ held: number }>(openQueries.held, origin)) ?? { held: 0 }
  if (held >= max) await forget(db, await db.one<Forward>(openQueries.oldestForwarded, origin))
  await db.run('INSERT INTO open_forward (origin, digest, at_ms) VALUES ($1, $2, $3)', origin, digest, nowMs)
  await db.run(
    'INSERT INTO open_forwards (origin, held) VALUES ($1, 1) ON CONFLICT (origin) DO UPDATE SET held = open_forwards.held + 1',
    origin,
  )
}

async function forget(db: Queries, row: Forward | undefined): Promise<void> {
  if (row === undefined) return
  await db.run('DELETE FROM open_forward WHERE n = $1', row.n)
  await db.run('UPDATE open_forwards SET held = held - 1 WHERE origin = $1', row.origin)
}

export const sweepForwarded: Write<{ beforeMs: number; limit: number }, { more: boolean }> = {
  locks: locksOfSums,
  async make(db, { beforeMs, limit }) {
    const rows = await db.all<Forward>(openQueries.forwardedBefore, beforeMs, limit)
    for (const row of rows) await forget(db, row)
    return { more: rows.length === limit }
  },
}

type Sums = { messages: number; bytes: number }

async function count(db: Queries, mailbox: number, { messages, bytes }: Sums): Promise<void> {
  await db.run(
    'UPDATE open_mailbox SET messages = messages + $1, bytes = bytes + $2 WHERE number = $3',
    ...[messages, bytes, mailbox],
  )
  await db.run(
    'INSERT INTO open_totals (one, bytes) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET bytes = open_totals.bytes + $1',
    bytes,
  )
}

async function countTask(db: Queries, interaction: string, rememberedMax: number): Promise<void> {
  const added = await db.run(
    'INSERT INTO open_task (interaction) VALUES ($1) ON CONFLICT DO NOTHING',
    interaction,
  )
  if (added === 0) return
  await db.run('UPDATE open_totals SET tasks = tasks + 1 WHERE one = 1')
  const { tasks = 0 } = (await db.one<{ tasks: number }>(openQueries.totals)) ?? {}
  if (tasks % rememberedMax === 0) await db.run('DELETE FROM open_task')
}

type Acked = { acked: number; files: string[] }

async function remove(db: Queries, mailbox: number, ids: readonly string[]): Promise<Acked> {
  const removed = await db.all<{ size: number; file: string | null }>(
    'DELETE FROM open_message WHERE mailbox = $1 AND id = ANY($2::text[]) RETURNING size, file',
    mailbox,
    ids,
  )
  const bytes = removed.reduce((sum, { size }) => sum + size, 0)
  if (removed.length > 0) await count(db, mailbox, { messages: -removed.length, bytes: -bytes })
  return { acked: removed.length, files: removed.flatMap(({ file }) => file ?? []) }
}

export const ackOpen: Write<{ mailbox: number; ids: readonly string[] }, Acked> = {
  locks: locksOfSums,
  makesRoom: true,
  make: (db, { mailbox, ids }) => remove(db, mailbox, ids),
}

export const sweepOpen: Write<{ leftBeforeMs: number; limit: number }, { files: string[]; more: boolean }> = {
  locks: locksOfSums,
  makesRoom: true,
  async make(db, { leftBeforeMs, limit }) {
    const rows = await db.all<{ id: string; mailbox: number }>(openQueries.leftBehind, leftBeforeMs, limit)
    const files: string[] = []
    for (const { id, mailbox } of rows) files.push(...(await remove(db, mailbox, [id])).files)
    return { files, more: rows.length === limit }
  },
}

type StoredMailbox = {
  number: number
  guest_quota: number
  pricing: string
  address: string | null
  listed: boolean
  polled_ms: number | null
  messages: number
}

const mailboxOf = (row: StoredMailbox): OpenMailbox => ({
  number: row.number,
  guestQuota: row.guest_quota,
  pricing: row.pricing,
  address: row.address ?? undefined,
  listed: row.listed,
  polledMs: row.polled_ms ?? undefined,
  messages: row.messages,
})

type TakersQuery = Parameters<OpenMailStore['guestTakers']>[0]

async function takers(reader: Queries, { place, limit, polledAfterMs }: TakersQuery): Promise<GuestTaker[]> {
  const behind = await reader.all<StoredTaker>(openQueries.takers, place, PLACE_MAX + 1, limit)
  const before = await reader.all<StoredTaker>(openQueries.takers, 0, place, limit - behind.length)
  return takersOf([...behind, ...before], polledAfterMs)
}

export const openMailOver = (reader: Queries, writer: Writer): OpenMailStore => ({
  async openMailbox(number) {
    const row = await reader.one<StoredMailbox>(openQueries.box, number)
    return row && mailboxOf(row)
  },
  async openMailboxes(numbers) {
    const rows = await reader.all<StoredMailbox>(openQueries.boxes, numbers)
    return new Map(rows.map(row => [row.number, mailboxOf(row)]))
  },
  putOpenProfile: given => writer.write('putOpenProfile', given),
  listOpen: given => writer.write('listOpen', given),
  setGuestQuota: given => writer.write('setGuestQuota', given),
  async sendOpen(item) {
    const sent = await writer.write('sendOpen', item)
    if (sent.outcome === 'noRoom') throw noRoomForMail()
    return sent
  },
  wasForwarded: (digest, sinceMs) => wasForwarded(reader, digest, sinceMs),
  sweepForwarded: given => writer.write('sweepForwarded', given),
  async pollOpen({ mailbox, limit, bytesMax }) {
    const heads = await reader.all<StoredMessage>(openQueries.waiting, mailbox, limit)
    const sizes = heads.map(({ size }) => size)
    return heads.slice(0, fitting(sizes, { limit, bytesMax })).map(messageOf)
  },
  async openContents({ mailbox, ids }) {
    const rows = await reader.all<{ id: string; content: Uint8Array }>(openQueries.contents, mailbox, ids)
    return new Map(rows.map(({ id, content }) => [id, content]))
  },
  openBytes: async () => (await reader.one<{ bytes: number }>(openQueries.totals))?.bytes ?? 0,
  ackOpen: given => writer.write('ackOpen', given),
  notePolled: given => writer.write('notePolled', given),
  guestTakers: query => takers(reader, query),
  noteAway: given => writer.write('noteAway', given),
  noteLeft: given => writer.write('noteLeft', given),
  sweepOpen: given => writer.write('sweepOpen', given),
  async unusedOpenFiles(names) {
    const used = new Set(
      (await reader.all<{ file: string }>(openQueries.used, names)).map(({ file }) => file),
    )
    return names.filter(name => !used.has(name))
  },
  openTasks: async () => (await reader.one<{ tasks: number }>(openQueries.totals))?.tasks ?? 0,
  openAgents: async () => (await reader.one<{ n: number }>(openQueries.agents))?.n ?? 0,
})
