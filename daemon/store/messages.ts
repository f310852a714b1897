/** Messages and the files that they name, in both directions. */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import type { Attachment, MessageBody } from '../../protocol/mail/message.ts'
import { type Kind, kinds } from '../../protocol/mail/payload.ts'
import { blob, flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export type DeliveryState = 'queued' | 'at_hub' | 'delivered' | 'failed' | 'unknown'

export const messagesTable = {
  name: 'messages',
  columns: {
    key: integer,
    interaction: orNull(integer),
    direction: oneOf<'out' | 'in'>(text),
    sender: text,
    recipient: text,
    messageId: blob,
    kind: oneOf<Kind>(integer),
    number: integer,
    at: integer,
    payload: blob,
    digest: blob,
    /** What a reader and the full-text search see. */
    text,
    /** Signed under a key that was retired since: shown, and nothing else. */
    retired: flag,
    auto: flag,
    delivery: orNull(oneOf<DeliveryState>(text)),
    reason: orNull(text),
    /** Null where an earlier release kept it, which may have had it of a hub. */
    reasonBy: orNull(oneOf<'node'>(text)),
    /** Before which message readers see it, by that one's key, where it came later than what was said after it. */
    place: orNull(integer),
    claimed: flag,
    /** It went to its recipient past the hub. */
    direct: flag,
  },
} as const
export const attachmentsTable = {
  name: 'message_attachments',
  columns: { message: integer, position: integer, name: text, mediaType: text, size: integer, cid: text },
} as const
export type Message = RowOf<typeof messagesTable>
type AttachmentRow = RowOf<typeof attachmentsTable>

export type OutgoingRow = Pick<
  Message,
  | 'interaction'
  | 'sender'
  | 'recipient'
  | 'messageId'
  | 'kind'
  | 'number'
  | 'at'
  | 'payload'
  | 'digest'
  | 'text'
  | 'auto'
>

export function insertOutgoing(store: Store, row: OutgoingRow, attachments: readonly Attachment[]): number {
  const { key } = store.run(
    `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest,
       text, auto, delivery) VALUES (?, 'out', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued')`,
    row.interaction,
    row.sender,
    row.recipient,
    row.messageId,
    row.kind,
    row.number,
    row.at,
    row.payload,
    row.digest,
    row.text,
    row.auto,
  )
  insertAttachments(store, key, attachments)
  return key
}

/** Gives a message that nobody has seen another payload. */
export function rewriteOutgoing(
  store: Store,
  key: number,
  { payload, digest }: Pick<Message, 'payload' | 'digest'>,
): void {
  store.run('UPDATE messages SET payload = ?, digest = ? WHERE key = ?', payload, digest, key)
}

/** Gives a message that nobody has seen another number, and what follows from that. */
export function renumberOutgoing(
  store: Store,
  key: number,
  { number, payload, digest }: Pick<Message, 'number' | 'payload' | 'digest'>,
): void {
  store.run(
    'UPDATE messages SET number = ?, payload = ?, digest = ? WHERE key = ?',
    number,
    payload,
    digest,
    key,
  )
}

/** Own numbers above this one that no envelope was ever made of, the highest first. */
export function unseenAbove(store: Store, interaction: number, above: number): Message[] {
  return store.rows(
    `SELECT m.* FROM messages AS m JOIN outbox AS o ON o.message = m.key
     WHERE m.interaction = ? AND m.direction = 'out' AND m.number > ? AND o.state = 'queued' AND o.digests = '[]'
     ORDER BY m.number DESC`,
    interaction,
    above,
  )
}

/** Digests of the numbers of one direction above this one, the newest `max`, ascending. */
export function digestsAbove(
  store: Store,
  interaction: number,
  { direction, above, max }: { direction: 'out' | 'in'; above: number; max: number },
): [number, Uint8Array][] {
  return store
    .all<{ number: number; digest: Uint8Array }>(
      `SELECT number, digest FROM messages WHERE interaction = ? AND direction = ? AND number > ?
       ORDER BY number DESC LIMIT ?`,
      interaction,
      direction,
      above,
      max,
    )
    .map(({ number, digest }): [number, Uint8Array] => [number, digest])
    .reverse()
}

/** The order in which readers see messages: each side's by their numbers, whenever they came. */
export const IN_ORDER = 'coalesce(place, key), number'

/** It stands in the place of one that only the other side says this node has sent. */
export function markClaimed(store: Store, message: number): void {
  store.run('UPDATE messages SET claimed = 1 WHERE key = ?', message)
}

export function claimedCount(store: Store, interaction: number): number {
  const row = store.get<{ n: number }>(
    'SELECT count(*) AS n FROM messages WHERE interaction = ? AND claimed = 1',
    interaction,
  )
  return row?.n ?? 0
}

/** Puts a message before the first one of its side that has a higher number and is here already. */
export function putInPlace(store: Store, key: number): void {
  store.run(
    `UPDATE messages SET place = (SELECT min(coalesce(l.place, l.key)) FROM messages AS l
       WHERE l.interaction = messages.interaction AND l.direction = messages.direction AND l.number > messages.number)
     WHERE key = ? AND number > 0`,
    key,
  )
}

/** What the store keeps of a message that came. */
export type Incoming = Pick<
  MessageBody,
  'from' | 'to' | 'messageId' | 'kind' | 'number' | 'payload' | 'attachments'
>
type Taken = { digest: Uint8Array; text: string; at: number }

export function insertIncoming(store: Store, interaction: number, body: Incoming, taken: Taken): number {
  const { key } = store.run(
    `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest,
       text) VALUES (?, 'in', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    interaction,
    body.from,
    body.to,
    body.messageId,
    body.kind,
    body.number,
    taken.at,
    body.payload,
    taken.digest,
    taken.text,
  )
  insertAttachments(store, key, body.attachments)
  return key
}

/** The digest stands in the place of the message id, so that the message itself can still come under its own. */
export function insertRetired(store: Store, interaction: number, body: MessageBody, taken: Taken): void {
  store.run(
    `INSERT OR IGNORE INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload,
       digest, text, retired) VALUES (?, 'in', ?, ?, ?, ?, 0, ?, ?, ?, ?, 1)`,
    interaction,
    body.from,
    body.to,
    taken.digest,
    body.kind,
    taken.at,
    body.payload,
    taken.digest,
    taken.text,
  )
}

function insertAttachments(store: Store, message: number, attachments: readonly Attachment[]): void {
  for (const [position, { name, mediaType, size, cid }] of attachments.entries())
    store.run(
      'INSERT INTO message_attachments VALUES (?, ?, ?, ?, ?, ?)',
      message,
      position,
      name,
      mediaType,
      size,
      cidText(cid),
    )
}

/** Forgets the files that came with an interaction; gives back their content ids. */
export function forgetIncomingFiles(store: Store, interaction: number): string[] {
  const rows = store.all<Pick<AttachmentRow, 'cid'>>(
    `DELETE FROM message_attachments WHERE message IN
       (SELECT key FROM messages WHERE interaction = ? AND direction = 'in') RETURNING cid`,
    interaction,
  )
  return rows.map(row => row.cid)
}

/** Whether any message names this file. */
export function isFileNamed(store: Store, cid: string): boolean {
  return store.get('SELECT 1 FROM message_attachments WHERE cid = ? LIMIT 1', cid) !== undefined
}

export function messageAt(store: Store, key: number): Message {
  const row = store.row<Message>('SELECT * FROM messages WHERE key = ?', key)
  if (row === undefined) throw new Error(`there is no message with the key ${key}`)
  return row
}

export function messageByNumber(
  store: Store,
  interaction: number,
  direction: 'out' | 'in',
  number: number,
): Message | undefined {
  return store.row(
    'SELECT * FROM messages WHERE interaction = ? AND direction = ? AND number = ? AND number > 0',
    interaction,
    direction,
    number,
  )
}

/** Digest of the message that a sender gave this id, when it is held. */
export function digestOf(store: Store, sender: string, messageId: Uint8Array): Uint8Array | undefined {
  return store.get<{ digest: Uint8Array }>(
    'SELECT digest FROM messages WHERE sender = ? AND message_id = ?',
    sender,
    messageId,
  )?.digest
}

/** Messages of an interaction that count. */
export function messagesOf(store: Store, interaction: number, afterKey: number, limit: number): Message[] {
  return store.rows(
    `SELECT * FROM messages WHERE interaction = ? AND key > ? AND retired = 0 ORDER BY ${IN_ORDER} LIMIT ?`,
    interaction,
    afterKey,
    limit,
  )
}

export function attachmentsOf(store: Store, message: number): Attachment[] {
  return store
    .rows<AttachmentRow>('SELECT * FROM message_attachments WHERE message = ? ORDER BY position', message)
    .map(({ name, mediaType, size, cid }) => ({ name, mediaType, size, cid: parseCid(cid) }))
}

/** The newest message of a kind. */
export function newestOfKind(
  store: Store,
  interaction: number,
  direction: 'out' | 'in',
  kind: Kind,
): Message | undefined {
  return store.row(
    'SELECT * FROM messages WHERE interaction = ? AND direction = ? AND kind = ? AND retired = 0 ORDER BY key DESC LIMIT 1',
    interaction,
    direction,
    kind,
  )
}

/**
 * Messages of this side that have left: those with a number above one that were not refused, the newest receipt or why there
 * is none, and what a hub said later; by key, in their order.
 */
export function sentAbove(
  store: Store,
  interaction: number,
  { above, max }: { above: number; max: number },
): number[] {
  return store
    .all<{ key: number }>(
      `SELECT key FROM messages AS m WHERE interaction = ?1 AND direction = 'out' AND claimed = 0
         AND (delivery IS NOT 'failed' OR kind IN (${kinds.receipt}, ${kinds.noReceipt}, ${kinds.settlements}))
         AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.message = m.key AND o.state = 'queued')
         AND (number > ?2 OR kind = ${kinds.settlements} OR key = (SELECT max(r.key) FROM messages AS r
           WHERE r.interaction = ?1 AND r.direction = 'out' AND r.kind IN (${kinds.receipt}, ${kinds.noReceipt})))
       ORDER BY key LIMIT ?3`,
      interaction,
      above,
      max,
    )
    .map(({ key }) => key)
}

/** It went to its recipient past the hub. */
export function noteDirect(store: Store, message: number): void {
  store.run('UPDATE messages SET direct = 1 WHERE key = ?', message)
}

/** Sets what became of an outgoing message, and why in words of this node; false when it is proven to be delivered already. */
export function writeDelivery(
  store: Store,
  message: number,
  state: DeliveryState,
  reason: string | null,
): boolean {
  const { changes } = store.run(
    `UPDATE messages SET delivery = ?, reason = ?2, reason_by = iif(?2 IS NULL, NULL, 'node')
     WHERE key = ? AND delivery IS NOT 'delivered'`,
    state,
    reason,
    message,
  )
  return changes > 0
}

/** Messages of an interaction that are tried no more and are not known to have arrived. */
export function givenUp(store: Store, interaction: number): Pick<Message, 'key' | 'kind'>[] {
  return store.all(
    `SELECT key, kind FROM messages WHERE interaction = ? AND direction = 'out' AND delivery IN ('failed', 'unknown')
     ORDER BY key`,
    interaction,
  )
}

/** Messages of this side that were said since then, and of which nobody knows whether they arrived. */
export function unknownSince(store: Store, since: number): number[] {
  return store
    .all<{ key: number }>(
      "SELECT key FROM messages WHERE direction = 'out' AND delivery = 'unknown' AND claimed = 0 AND at > ? ORDER BY key",
      since,
    )
    .map(({ key }) => key)
}

/** Whether anything was ever said here. */
export function hasMessages(store: Store): boolean {
  return store.get('SELECT 1 FROM messages LIMIT 1') !== undefined
}
