/**
 * Interactions and their messages in the store: rows, numbers, what is held and what lacks. Every write here happens
 * inside a transaction of its caller; what an interaction may do next is decided elsewhere.
 */

import type { InteractionState } from '../../protocol/control/shapes.ts'
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import {
  type Attachment,
  MESSAGE_ID_BYTES,
  type MessageBody,
  messageDigest,
} from '../../protocol/mail/message.ts'
import type { Kind } from '../../protocol/mail/payload.ts'
import type { Store } from './open.ts'
import { camelRow, camelRows } from './rows.ts'

/** How long a message is tried before its delivery is called unknown. */
export const MESSAGE_DEADLINE_MS = 28 * 86_400_000
/** A task that nobody answers for this long says so to its sender. */
export const ANSWER_DEADLINE_MS = 7 * 86_400_000
const HANDLE_SECRET_BYTES = 32
const MISSING_MAX = 1024

export type DeliveryState = 'queued' | 'at_hub' | 'delivered' | 'failed' | 'unknown'

/** Columns of the table, in the order of their meaning; see the schema. */
export type Interaction = {
  key: number
  id: string
  delegator: string
  peer: string
  side: 'sent' | 'received'
  state: InteractionState
  reason: string | null
  wire: number
  capability: string | null
  preview: string
  commitment: Uint8Array | null
  rsalt: Uint8Array | null
  requestCid: string
  resultCid: string | null
  status: string | null
  startedAt: number
  updatedAt: number
  endedAt: number | null
  deadlineAt: number
  unanswered: 0 | 1
  /** Own highest number. */
  numbered: number
  /** Every number of the peer up to here is held. */
  heldTo: number
  heldHighest: number
  /** Whose `end` counts. */
  endBy: 'me' | 'peer' | null
  /** Numbers of the two last messages of the transcript, once they exist. */
  ownLast: number | null
  ownEndAt: number | null
  peerLast: number | null
  /** JSON list of own numbers that the peer said it lacks. */
  peerLacks: string
  receipt: Uint8Array | null
  /** The first version, when a rotation made the receipt anew. */
  receiptFormer: Uint8Array | null
  receiptState: 'waiting' | 'made' | 'signed' | 'disputed' | null
  receiptNote: string | null
  counterSignature: Uint8Array | null
  /** Newest message that was read, and newest received, by their keys. */
  readTo: number
  lastIn: number
  autoReplies: number
  autoReply: 0 | 1
  note: string | null
}

export type Message = {
  key: number
  interaction: number | null
  direction: 'out' | 'in'
  sender: string
  recipient: string
  messageId: Uint8Array
  kind: Kind
  number: number
  at: number
  payload: Uint8Array
  digest: Uint8Array
  text: string
  acceptedAt: number | null
  kelSeq: number | null
  retired: 0 | 1
  auto: 0 | 1
  delivery: DeliveryState | null
  reason: string | null
  deliveredAt: number | null
}

export type Outgoing = {
  kind: Kind
  payload: Uint8Array
  /** What a reader and the full-text search see. */
  text: string
  numbered: boolean
  attachments?: readonly Attachment[]
  auto?: boolean
}

export type Changes = Partial<Omit<Interaction, 'key' | 'id'>>

const columnOf = (member: string) => member.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

export type ThreadInputs = {
  now: () => number
  random: (length: number) => Uint8Array
  /** Called once a new outgoing message is durable. */
  onQueued: () => void
}

export class Threads {
  #store: Store
  #own: string
  #now: () => number
  #random: (length: number) => Uint8Array
  #onQueued: () => void

  constructor(store: Store, own: string, inputs: ThreadInputs) {
    const { now, random, onQueued } = inputs
    this.#onQueued = onQueued
    this.#store = store
    this.#own = own
    this.#now = now
    this.#random = random
  }

  find(delegator: string, id: string): Interaction | undefined {
    const row = this.#store.get('SELECT * FROM interactions WHERE delegator = ? AND id = ?', delegator, id)
    return row === undefined ? undefined : camelRow(row)
  }

  /** The interaction of an id; a task whose id another interaction has is not taken, so there is one. */
  findById(id: string): Interaction | undefined {
    const row = this.#store.get('SELECT * FROM interactions WHERE id = ? ORDER BY key DESC LIMIT 1', id)
    return row === undefined ? undefined : camelRow(row)
  }

  byKey(key: number): Interaction {
    return camelRow(this.#store.get('SELECT * FROM interactions WHERE key = ?', key) as never)
  }

  create(
    row: Pick<
      Interaction,
      | 'id'
      | 'delegator'
      | 'peer'
      | 'side'
      | 'state'
      | 'wire'
      | 'capability'
      | 'preview'
      | 'commitment'
      | 'requestCid'
    > & { rsalt?: Uint8Array },
  ): Interaction {
    const now = this.#now()
    const { key } = this.#store.run(
      `INSERT INTO interactions (id, delegator, peer, side, state, wire, capability, preview, commitment, rsalt,
         request_cid, started_at, updated_at, deadline_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      row.id,
      row.delegator,
      row.peer,
      row.side,
      row.state,
      row.wire,
      row.capability,
      row.preview,
      row.commitment,
      row.rsalt ?? null,
      row.requestCid,
      now,
      now,
      now + ANSWER_DEADLINE_MS,
    )
    return this.byKey(key)
  }

  /** Writes changes and returns the interaction as it now stands. */
  update(interaction: Interaction, changes: Changes): Interaction {
    const next = { updatedAt: this.#now(), ...changes }
    const members = Object.keys(next)
    this.#store.run(
      `UPDATE interactions SET ${members.map(member => `${columnOf(member)} = ?`).join(', ')} WHERE key = ?`,
      ...(Object.values(next) as (string | number | Uint8Array | null)[]),
      interaction.key,
    )
    return { ...interaction, ...next }
  }

  /** Adds an outgoing message to the thread and the outbox; its number, id and digest never change again. */
  queue(interaction: Interaction, outgoing: Outgoing): { message: Message; interaction: Interaction } {
    const number = outgoing.numbered ? interaction.numbered + 1 : 0
    const message = this.#insertOut(interaction.peer, interaction, number, outgoing)
    const numbered = outgoing.numbered ? { numbered: number } : {}
    return { message, interaction: this.update(interaction, numbered) }
  }

  /** Queues a message that belongs to no interaction (kind 8). */
  queueLoose(peer: string, outgoing: Outgoing): Message {
    return this.#insertOut(peer, undefined, 0, outgoing)
  }

  #insertOut(
    peer: string,
    interaction: Interaction | undefined,
    number: number,
    outgoing: Outgoing,
  ): Message {
    const now = this.#now()
    const messageId = this.#random(MESSAGE_ID_BYTES)
    const attachments = [...(outgoing.attachments ?? [])]
    const digest = messageDigest({
      from: this.#own,
      to: peer,
      messageId,
      kind: outgoing.kind,
      ...(interaction === undefined ? {} : { interactionId: fromBase64url(interaction.id) }),
      number,
      payload: outgoing.payload,
      attachments,
    } as unknown as MessageBody)
    const { key } = this.#store.run(
      `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest,
         text, auto, delivery) VALUES (?, 'out', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued')`,
      interaction?.key ?? null,
      this.#own,
      peer,
      messageId,
      outgoing.kind,
      number,
      now,
      outgoing.payload,
      digest,
      outgoing.text,
      outgoing.auto === true ? 1 : 0,
    )
    this.#insertAttachments(key, attachments)
    this.#store.run(
      `INSERT INTO outbox (message, peer, interaction, state, next_at, handle_secret, deadline_at)
       VALUES (?, ?, ?, 'queued', ?, ?, ?)`,
      key,
      peer,
      interaction?.key ?? null,
      now,
      this.#random(HANDLE_SECRET_BYTES),
      now + MESSAGE_DEADLINE_MS,
    )
    this.#store.afterCommit(this.#onQueued)
    return this.message(key)
  }

  /** What waits because it could only go as a stranger's is tried at once: a capability came. */
  hurry(peer: string): void {
    const { changes } = this.#store.run(
      `UPDATE outbox SET next_at = ? WHERE peer = ? AND state = 'queued' AND next_at > ?
       AND last_error IN ('too_large_for_stranger', 'strangers_busy')`,
      this.#now(),
      peer,
      this.#now(),
    )
    if (changes > 0) this.#store.afterCommit(this.#onQueued)
  }

  /** Stores a received message and moves the marks of what is held. */
  storeIncoming(
    interaction: Interaction,
    body: MessageBody,
    facts: { digest: Uint8Array; text: string; acceptedAt: number },
  ): { message: Message; interaction: Interaction } {
    const { key } = this.#store.run(
      `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest,
         text, accepted_at, kel_seq) VALUES (?, 'in', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      interaction.key,
      body.from,
      body.to,
      body.messageId,
      body.kind,
      body.number,
      this.#now(),
      body.payload,
      facts.digest,
      facts.text,
      facts.acceptedAt,
      body.kelSeq,
    )
    this.#insertAttachments(key, body.attachments)
    const heldHighest = Math.max(interaction.heldHighest, body.number)
    let { heldTo } = interaction
    if (body.number > 0)
      while (heldTo < heldHighest && this.byNumber(interaction.key, 'in', heldTo + 1) !== undefined) heldTo++
    return {
      message: this.message(key),
      interaction: this.update(interaction, { heldTo, heldHighest, lastIn: key }),
    }
  }

  message(key: number): Message {
    return camelRow(this.#store.get('SELECT * FROM messages WHERE key = ?', key) as never)
  }

  byNumber(interaction: number, direction: 'out' | 'in', number: number): Message | undefined {
    const row = this.#store.get(
      'SELECT * FROM messages WHERE interaction = ? AND direction = ? AND number = ? AND number > 0',
      interaction,
      direction,
      number,
    )
    return row === undefined ? undefined : camelRow(row)
  }

  /** Messages of an interaction that count. */
  messages(interaction: number, afterKey = 0, limit = 100_000): Message[] {
    return camelRows(
      this.#store.all(
        'SELECT * FROM messages WHERE interaction = ? AND key > ? AND retired = 0 ORDER BY key LIMIT ?',
        interaction,
        afterKey,
        limit,
      ),
    )
  }

  attachmentsOf(message: number): Attachment[] {
    return this.#store
      .all<{ name: string; media_type: string; size: number; cid: string }>(
        'SELECT name, media_type, size, cid FROM message_attachments WHERE message = ? ORDER BY position',
        message,
      )
      .map(row => ({ name: row.name, mediaType: row.media_type, size: row.size, cid: parseCid(row.cid) }))
  }

  /** Numbers of the peer below the highest held that are not here. */
  missing(interaction: Interaction): number[] {
    const missing: number[] = []
    for (let n = interaction.heldTo + 1; n < interaction.heldHighest && missing.length < MISSING_MAX; n++)
      if (this.byNumber(interaction.key, 'in', n) === undefined) missing.push(n)
    return missing
  }

  /** Sets what became of an outgoing message; a final state takes it out of the outbox. */
  setDelivery(message: number, state: DeliveryState, reason: string | null = null): boolean {
    const changed = this.#store.run(
      `UPDATE messages SET delivery = ?, reason = ?, delivered_at = CASE WHEN ? = 'delivered' THEN ? END
       WHERE key = ? AND delivery IS NOT 'delivered'`,
      state,
      reason,
      state,
      this.#now(),
      message,
    ).changes
    if (state === 'delivered' || state === 'failed' || state === 'unknown')
      this.#store.run('DELETE FROM outbox WHERE message = ?', message)
    return changed > 0
  }

  #insertAttachments(message: number, attachments: readonly Attachment[]): void {
    for (const [position, { name, mediaType, size, cid }] of attachments.entries())
      this.#store.run(
        'INSERT INTO message_attachments VALUES (?, ?, ?, ?, ?, ?)',
        message,
        position,
        name,
        mediaType,
        size,
        cidText(cid),
      )
  }
}

export function newInteractionId(random: (length: number) => Uint8Array): string {
  return toBase64url(random(MESSAGE_ID_BYTES))
}
