/** Open mail in the database. Changes run inside a transaction; messages are removed when their agent has them. */
import type {
  GuestTaker,
  OpenMailbox,
  OpenMailStore,
  OpenMessage,
  OpenOnce,
  OpenProfile,
  OpenSend,
  OpenSent,
} from '../open-mail-port.ts'
import { PLACE_MAX } from '../open-mail-port.ts'
import { messageOf, type StoredMessage, type StoredTaker, takersOf } from '../open-mail-rows.ts'
import type { Database } from './database.ts'
import type { FreeingRoom } from './mail-store.ts'
import type { WriterClient } from './writer-client.ts'

export const openQueries = {
  openBox:
    'SELECT number, guest_quota, pricing, address, listed, polled_ms, messages FROM open_mailbox WHERE number = ?',
  openBoxes:
    'SELECT number, guest_quota, pricing, address, listed, polled_ms, messages FROM open_mailbox' +
    ' WHERE number IN (SELECT value FROM json_each(?))',
  waiting:
    'SELECT id, sender, kind, interaction, created_ms, size, file FROM open_message WHERE mailbox = ? ORDER BY n LIMIT ?',
  content: 'SELECT content FROM open_message WHERE id = ? AND mailbox = ?',
  bytes: 'SELECT bytes FROM open_totals WHERE one = 1',
  fileUsed: 'SELECT 1 FROM open_message WHERE file = ?',
  tasks: 'SELECT tasks FROM open_totals WHERE one = 1',
  forwarded: 'SELECT at_ms FROM open_forward WHERE digest = ?',
  oldestForwarded: 'SELECT n FROM open_forward WHERE origin = ? ORDER BY n LIMIT 1',
  forwardedBefore: 'SELECT n, origin FROM open_forward WHERE at_ms < ? ORDER BY at_ms LIMIT ?',
  agents: "SELECT count(*) AS n FROM agent WHERE registered = 1 AND mail = 'open'",
  takersBehind:
    'SELECT aid, name, guest_quota, polled_ms FROM open_mailbox JOIN agent USING (number)' +
    ' WHERE guest_quota > 0 AND listed = 1 AND left_ms IS NULL AND away = 0 AND place >= ? AND place < ?' +
    ' ORDER BY place LIMIT ?',
  gone: 'SELECT number FROM open_mailbox WHERE away = 0 AND polled_ms < ? ORDER BY polled_ms LIMIT ?',
  leftBehind:
    'SELECT id, mailbox FROM open_mailbox JOIN open_message ON mailbox = number' +
    ' WHERE left_ms <= ? ORDER BY left_ms LIMIT ?',
} as const

export function putOpenProfile(db: Database, given: OpenProfile & { number: number }): true {
  db.run(
    'INSERT INTO open_mailbox (number, guest_quota, pricing, address) VALUES (?, ?, ?, ?) ON CONFLICT (number)' +
      ' DO UPDATE SET guest_quota = excluded.guest_quota, pricing = excluded.pricing, address = excluded.address',
    given.number,
    given.guestQuota,
    given.pricing,
    given.address ?? null,
  )
  return true
}

export function listOpen(db: Database, { number, listed }: { number: number; listed: boolean }): true {
  db.run('UPDATE open_mailbox SET listed = ? WHERE number = ?', listed ? 1 : 0, number)
  return true
}

export function setGuestQuota(
  db: Database,
  { number, guestQuota }: { number: number; guestQuota: number },
): true {
  db.run('UPDATE open_mailbox SET guest_quota = ? WHERE number = ?', guestQuota, number)
  return true
}

export function notePolled(db: Database, { number, nowMs }: { number: number; nowMs: number }): true {
  db.run('UPDATE open_mailbox SET polled_ms = ?, away = 0 WHERE number = ?', nowMs, number)
  return true
}

export function noteAway(
  db: Database,
  { polledBeforeMs, limit }: { polledBeforeMs: number; limit: number },
): { more: boolean } {
  const rows = db.all<{ number: number }>(openQueries.gone, polledBeforeMs, limit)
  for (const { number } of rows) keepAway(db, number)
  return { more: rows.length === limit }
}

/** It takes no visitors until its mail is asked for. */
export function keepAway(db: Database, number: number): void {
  db.run('UPDATE open_mailbox SET away = 1 WHERE number = ?', number)
}

type Room = { messages: number; bytes: number; total: number }

export function sendOpen(db: Database, item: OpenSend): OpenSent {
  const room = db.one<Room>(
    'SELECT messages, bytes, (SELECT bytes FROM open_totals WHERE one = 1) AS total FROM open_mailbox WHERE number = ?',
    item.mailbox,
  )
  if (room === undefined) return { outcome: 'noMailbox' }
  if (db.one('SELECT 1 FROM open_message WHERE id = ?', item.id) !== undefined) return { outcome: 'queued' }
  if (item.once !== undefined && wasForwarded(db, item.once.digest, item.once.sinceMs))
    return { outcome: 'repeated' }
  const { messagesMax, bytesMax, totalBytesMax } = item.limits
  if (room.messages >= messagesMax || room.bytes + item.size > bytesMax) return { outcome: 'mailboxFull' }
  if (room.total + item.size > totalBytesMax) return { outcome: 'hubFull' }
  if (item.once !== undefined) remember(db, item.once, item.nowMs)
  db.run(
    'INSERT INTO open_message (id, mailbox, sender, kind, interaction, created_ms, size, file, content)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    item.id,
    item.mailbox,
    item.from,
    item.kind,
    item.interaction,
    item.nowMs,
    item.size,
    item.file ?? null,
    item.content ?? null,
  )
  count(db, item.mailbox, { messages: 1, bytes: item.size })
  if (item.kind === 'result' && item.interaction !== '') countTask(db, item.interaction, item.limits.tasksMax)
  return { outcome: 'queued' }
}

const wasForwarded = (db: Database, digest: Uint8Array, sinceMs: number): boolean =>
  (db.one<{ at_ms: number }>(openQueries.forwarded, digest)?.at_ms ?? Number.NEGATIVE_INFINITY) >= sinceMs

function remember(db: Database, { origin, digest, max }: OpenOnce, nowMs: number): void {
  forget(
    db,
    db.one<{ n: number; origin: string }>('SELECT n, origin FROM open_forward WHERE digest = ?', digest),
  )
  const { held = 0 } =
    db.one<{ held: number }>('SELECT held FROM open_forwards WHERE origin = ?', origin) ?? {}
  const oldest = held < max ? undefined : db.one<{ n: number }>(openQueries.oldestForwarded, origin)
  forget(db, oldest && { n: oldest.n, origin })
  db.run('INSERT INTO open_forward (origin, digest, at_ms) VALUES (?, ?, ?)', origin, digest, nowMs)
  db.run(
    'INSERT INTO open_forwards (origin, held) VALUES (?, 1) ON CONFLICT (origin) DO UPDATE SET held = held + 1',
    origin,
  )
}

function forget(db: Database, row: { n: number; origin: string } | undefined): void {
  if (row === undefined) return
  db.run('DELETE FROM open_forward WHERE n = ?', row.n)
  db.run('UPDATE open_forwards SET held = held - 1 WHERE origin = ?', row.origin)
}

export function sweepForwarded(
  db: Database,
  { beforeMs, limit }: { beforeMs: number; limit: number },
): { more: boolean } {
  const rows = db.all<{ n: number; origin: string }>(openQueries.forwardedBefore, beforeMs, limit)
  for (const row of rows) forget(db, row)
  return { more: rows.length === limit }
}

function count(
  db: Database,
  mailbox: number,
  { messages, bytes }: { messages: number; bytes: number },
): void {
  db.run(
    'UPDATE open_mailbox SET messages = messages + ?, bytes = bytes + ? WHERE number = ?',
    messages,
    bytes,
    mailbox,
  )
  db.run('UPDATE open_totals SET bytes = bytes + ? WHERE one = 1', bytes)
}

function countTask(db: Database, interaction: string, rememberedMax: number): void {
  const added = db.run('INSERT OR IGNORE INTO open_task (interaction) VALUES (?)', interaction)
  if (added === 0) return
  db.run('UPDATE open_totals SET tasks = tasks + 1 WHERE one = 1')
  const { tasks = 0 } = db.one<{ tasks: number }>(openQueries.tasks) ?? {}
  if (tasks % rememberedMax === 0) db.run('DELETE FROM open_task')
}

export function ackOpen(
  db: Database,
  { mailbox, ids }: { mailbox: number; ids: readonly string[] },
): { acked: number; files: string[] } {
  const removed = ids.flatMap(id => {
    const row = db.one<{ size: number; file: string | null }>(
      'DELETE FROM open_message WHERE id = ? AND mailbox = ? RETURNING size, file',
      id,
      mailbox,
    )
    return row === undefined ? [] : [row]
  })
  const bytes = removed.reduce((sum, { size }) => sum + size, 0)
  if (removed.length > 0) count(db, mailbox, { messages: -removed.length, bytes: -bytes })
  return { acked: removed.length, files: removed.flatMap(({ file }) => (file === null ? [] : [file])) }
}

export function noteLeft(
  db: Database,
  { number, leftMs }: { number: number; leftMs: number | undefined },
): true {
  db.run('UPDATE open_mailbox SET left_ms = ? WHERE number = ?', leftMs ?? null, number)
  return true
}

export function sweepOpen(
  db: Database,
  { leftBeforeMs, limit }: { leftBeforeMs: number; limit: number },
): { files: string[]; more: boolean } {
  const rows = db.all<{ id: string; mailbox: number }>(openQueries.leftBehind, leftBeforeMs, limit)
  const files = rows.flatMap(({ id, mailbox }) => ackOpen(db, { mailbox, ids: [id] }).files)
  return { files, more: rows.length === limit }
}

type StoredMailbox = {
  number: number
  guest_quota: number
  pricing: string
  address: string | null
  listed: number
  polled_ms: number | null
  messages: number
}

const mailboxOf = (row: StoredMailbox): OpenMailbox => ({
  number: row.number,
  guestQuota: row.guest_quota,
  pricing: row.pricing,
  address: row.address ?? undefined,
  listed: row.listed === 1,
  polledMs: row.polled_ms ?? undefined,
  messages: row.messages,
})

type TakersQuery = { place: number; limit: number; polledAfterMs: number }

function readTakers(db: Database, { place, limit, polledAfterMs }: TakersQuery): GuestTaker[] {
  const behind = db.all<StoredTaker>(openQueries.takersBehind, place, PLACE_MAX + 1, limit)
  const before = db.all<StoredTaker>(openQueries.takersBehind, 0, place, limit - behind.length)
  return takersOf([...behind, ...before], polledAfterMs)
}

function readPoll(
  db: Database,
  { mailbox, limit, bytesMax }: { mailbox: number; limit: number; bytesMax: number },
): OpenMessage[] {
  const messages: OpenMessage[] = []
  let bytes = 0
  for (const head of db.all<StoredMessage>(openQueries.waiting, mailbox, limit)) {
    bytes += head.size
    if (messages.length > 0 && bytes > bytesMax) break
    messages.push(messageOf(head))
  }
  return messages
}

function readContents(
  db: Database,
  { mailbox, ids }: { mailbox: number; ids: readonly string[] },
): Map<string, Uint8Array> {
  const contents = new Map<string, Uint8Array>()
  for (const id of ids) {
    const row = db.one<{ content: Uint8Array | null }>(openQueries.content, id, mailbox)
    if (row?.content != null) contents.set(id, row.content)
  }
  return contents
}

export function openMailOver(
  reader: Database,
  writer: WriterClient,
  freeingRoom: FreeingRoom,
): OpenMailStore {
  return {
    async openMailbox(number) {
      const row = reader.one<StoredMailbox>(openQueries.openBox, number)
      return row && mailboxOf(row)
    },
    async openMailboxes(numbers) {
      const rows = reader.all<StoredMailbox>(openQueries.openBoxes, JSON.stringify(numbers))
      return new Map(rows.map(row => [row.number, mailboxOf(row)]))
    },
    async putOpenProfile(given) {
      await writer.write('putOpenProfile', given)
    },
    async listOpen(given) {
      await writer.write('listOpen', given)
    },
    async setGuestQuota(given) {
      await writer.write('setGuestQuota', given)
    },
    sendOpen: item => writer.write('sendOpen', item),
    wasForwarded: async (digest, sinceMs) => wasForwarded(reader, digest, sinceMs),
    sweepForwarded: given => writer.write('sweepForwarded', given),
    pollOpen: async query => readPoll(reader, query),
    openContents: async query => readContents(reader, query),
    openBytes: async () => reader.one<{ bytes: number }>(openQueries.bytes)?.bytes ?? 0,
    ackOpen: given => freeingRoom(() => writer.write('ackOpen', given)),
    async notePolled(given) {
      await writer.write('notePolled', given)
    },
    guestTakers: async query => readTakers(reader, query),
    noteAway: given => writer.write('noteAway', given),
    async noteLeft(given) {
      await writer.write('noteLeft', given)
    },
    sweepOpen: given => freeingRoom(() => writer.write('sweepOpen', given)),
    unusedOpenFiles: async names =>
      names.filter(name => reader.one(openQueries.fileUsed, name) === undefined),
    openTasks: async () => reader.one<{ tasks: number }>(openQueries.tasks)?.tasks ?? 0,
    openAgents: async () => reader.one<{ n: number }>(openQueries.agents)?.n ?? 0,
  }
}
