/** What was said in a task, as its steps ask for it: who spoke last, what is proven, what a receipt covers. */
import { kinds } from '../../protocol/mail/payload.ts'
import { NUMBERS_KNOWN } from './interactions.ts'
import type { DeliveryState, Message } from './messages.ts'
import type { Store } from './open.ts'
import type { OutboxEntry } from './outbox.ts'

/** Kinds of words of one side, which are no step of the protocol. */
const SPOKEN = `${kinds.delegate}, ${kinds.message}, ${kinds.result}`
const IS_WORD = `number > 0 AND kind IN (${SPOKEN})`

type Direction = Message['direction']
type Key = { key: number }
const keysOf = (rows: readonly Key[]): number[] => rows.map(({ key }) => key)

/** The last word of a task, whoever said it. */
export const lastWord = (
  store: Store,
  interaction: number,
): { direction: Direction; number: number } | undefined =>
  store.get(
    `SELECT direction, number FROM messages WHERE interaction = ? AND ${IS_WORD} ORDER BY key DESC LIMIT 1`,
    interaction,
  )

/** A thread that waits for an automatic answer. */
export type UnansweredThread = {
  id: string
  peer: string
  autoReplies: number
  endBy: 'me' | 'peer' | null
  /** Of its last word. */
  direction: Direction
  number: number
  hasImage: 0 | 1
}

/** `guestsOf`: the hub that delegates for its visitors, where they are answered too. */
type Asked = { strangers: boolean; guestsOf?: string | undefined; perPeerMax: number; max: number }

/**
 * Open threads of those who may be answered whose last word is the peer's, or whose end it proposed; oldest first. A copy that
 * is lost may have answered already where the other side has not said yet what it holds; where that one lost the task, no answer
 * arrives.
 */
export const unansweredThreads = (
  store: Store,
  { strangers, guestsOf, perPeerMax, max }: Asked,
): UnansweredThread[] =>
  store.rows(
    `SELECT id, peer, auto_replies, end_by, direction, number, has_image FROM (
       SELECT i.id, i.peer, i.auto_replies, i.end_by, i.updated_at, m.direction, m.number,
         EXISTS (SELECT 1 FROM messages AS p JOIN message_attachments AS a ON a.message = p.key
           WHERE p.interaction = i.key AND p.direction = 'in' AND a.media_type LIKE 'image/%') AS has_image,
         row_number() OVER (PARTITION BY i.peer ORDER BY i.updated_at) AS rank
       FROM interactions AS i JOIN messages AS m ON m.key = (
         SELECT key FROM messages WHERE interaction = i.key AND ${IS_WORD} ORDER BY key DESC LIMIT 1)
       WHERE i.side = 'received' AND i.state IN ('open', 'end_proposed') AND i.auto_reply = 1 AND i.own_last IS NULL
         AND i.${NUMBERS_KNOWN} AND i.lost_by_peer_at IS NULL
         AND (?1 OR i.peer IS ?4 OR EXISTS (SELECT 1 FROM contacts AS c
           WHERE c.aid = i.peer AND c.petname IS NOT NULL AND c.blocked = 0))
         AND (m.direction = 'in' OR i.end_by = 'peer')
     ) WHERE rank <= ?2 ORDER BY updated_at LIMIT ?3`,
    strangers ? 1 : 0,
    perPeerMax,
    max,
    guestsOf ?? null,
  )

/** The last words of both sides as readers see them, the oldest first. */
export const lastWords = (store: Store, interaction: number, max: number): Message[] =>
  store
    .rows<Message>(
      `SELECT * FROM messages WHERE interaction = ? AND number > 0 AND (text <> '' OR kind <= ${kinds.message})
       ORDER BY coalesce(place, key) DESC, number DESC LIMIT ?`,
      interaction,
      max,
    )
    .reverse()

/** The newest word, or price where that counts. */
export const newestWord = (
  store: Store,
  interaction: number,
  { withPrice }: { withPrice: boolean },
): { key: number; direction: Direction } | undefined =>
  store.get(
    `SELECT key, direction FROM messages WHERE interaction = ? AND retired = 0
       AND (kind IN (${SPOKEN}) OR (kind = ${kinds.quote} AND ?)) ORDER BY key DESC LIMIT 1`,
    interaction,
    withPrice ? 1 : 0,
  )

/** Tasks of this node whose deadline is over and that nobody has answered, with how their first message went. */
export const overdueTasks = (
  store: Store,
  now: number,
  max: number,
): { key: number; delivery: DeliveryState }[] =>
  store.all(
    `SELECT i.key, m.delivery FROM interactions AS i JOIN messages AS m
       ON m.interaction = i.key AND m.direction = 'out' AND m.number = 1
     WHERE i.side = 'sent' AND i.state IN ('queued', 'delivered') AND i.deadline_at <= ? LIMIT ?`,
    now,
    max,
  )

/** A numbered message, as a receipt covers it. */
export type Numbered = Pick<Message, 'direction' | 'number' | 'digest' | 'delivery'>

/** Every numbered message of a task. */
export const numberedMessages = (store: Store, interaction: number): Numbered[] =>
  store.all(
    'SELECT direction, number, digest, delivery FROM messages WHERE interaction = ? AND number > 0',
    interaction,
  )

/** Tasks whose receipt came before a time and waits for messages that it names. */
export const receiptsWaitingSince = (store: Store, before: number): number[] =>
  keysOf(
    store.all<Key>(
      `SELECT i.key FROM interactions AS i WHERE i.receipt_state = 'waiting' AND
         (SELECT max(m.at) FROM messages AS m
           WHERE m.interaction = i.key AND m.kind = ${kinds.receipt} AND m.retired = 0) < ?`,
      before,
    ),
  )

/** Paid tasks that were answered here since a time, and whose receipt the requester has not signed. */
export const unsignedPaidTasks = (store: Store, since: number): number[] =>
  keysOf(
    store.all<Key>(
      `SELECT i.key FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
       WHERE p.side = 'payee' AND p.state = 'ended' AND i.receipt_state = 'made' AND i.counter_signature IS NULL
         AND i.updated_at > ?`,
      since,
    ),
  )

/** Own numbers whose refusal is held here. */
export const failedNumbers = (store: Store, interaction: number): number[] =>
  store
    .all<{ number: number }>(
      `SELECT number FROM messages WHERE interaction = ? AND direction = 'out' AND number > 0 AND delivery = 'failed'`,
      interaction,
    )
    .map(({ number }) => number)

/** Messages with a receipt that were ever queued, the newest first. */
export const receiptMessages = (
  store: Store,
  interaction: number,
): Pick<Message, 'key' | 'payload' | 'delivery'>[] =>
  store.all(
    `SELECT key, payload, delivery FROM messages WHERE interaction = ? AND direction = 'out' AND kind = ${kinds.receipt}
     ORDER BY key DESC`,
    interaction,
  )

/** Messages that may hold the document of a receipt, the newest first. */
export const answerKeys = (store: Store, interaction: number): number[] =>
  keysOf(
    store.all<Key>(
      `SELECT key FROM messages WHERE interaction = ? AND kind IN (${kinds.result}, ${kinds.message}, ${kinds.quote}) ORDER BY key DESC`,
      interaction,
    ),
  )

/** Whether this side has proposed the end itself, not only a copy that is lost. */
export const hasProposedEnd = (store: Store, interaction: number): boolean =>
  store.get(
    "SELECT 1 FROM messages WHERE interaction = ? AND direction = 'out' AND kind = ? AND claimed = 0 LIMIT 1",
    interaction,
    kinds.end,
  ) !== undefined

/** Whether the peer has sent a message of this kind, or a price. */
export const hasComeOrPrice = (store: Store, interaction: number, kind: number): boolean =>
  store.get(
    "SELECT 1 FROM messages WHERE interaction = ? AND direction = 'in' AND kind IN (?, ?) AND number > 0 LIMIT 1",
    interaction,
    kind,
    kinds.quote,
  ) !== undefined

/** Messages of this side up to a number of which the bare word of the peer is a proof, and which are not proven yet. */
export const unprovenUpTo = (
  store: Store,
  interaction: number,
  upTo: number,
): Pick<Message, 'key' | 'number'>[] =>
  store.all(
    `SELECT m.key, m.number FROM messages AS m JOIN interactions AS i ON i.key = m.interaction
     WHERE m.interaction = ?1 AND m.direction = 'out' AND m.number BETWEEN 1 AND min(?2, coalesce(i.certain_to, ?2))
     AND m.delivery <> 'delivered'`,
    interaction,
    upTo,
  )

/** How many messages of a task are kept that a new key or a restore took out of it. */
export const retiredCount = (store: Store, interaction: number): number =>
  store.get<{ n: number }>(
    'SELECT count(*) AS n FROM messages WHERE interaction = ? AND retired = 1',
    interaction,
  )?.n ?? 0

/** Messages that carry files, in their order. */
export const keysWithFiles = (store: Store, interaction: number): number[] =>
  keysOf(
    store.all<Key>(
      `SELECT key FROM messages WHERE interaction = ? AND EXISTS (
         SELECT 1 FROM message_attachments WHERE message = messages.key) ORDER BY key`,
      interaction,
    ),
  )

/** Numbered messages of some kinds, in their order. */
export const keysOfKinds = (store: Store, interaction: number, ofKinds: readonly number[]): number[] =>
  keysOf(
    store.all<Key>(
      `SELECT key FROM messages WHERE interaction = ? AND number > 0 AND kind IN (${ofKinds.join(', ')}) ORDER BY key`,
      interaction,
    ),
  )

/** Whether a file came with a task, or went with it. */
export const hasFile = (store: Store, interaction: number, cid: string): boolean =>
  store.get(
    'SELECT 1 FROM message_attachments AS a JOIN messages AS m ON m.key = a.message WHERE m.interaction = ? AND a.cid = ?',
    interaction,
    cid,
  ) !== undefined

/** What the outbox still has of a message, as it is shown; nothing once it has arrived. */
export const waitOf = (
  store: Store,
  message: number,
): Pick<OutboxEntry, 'state' | 'nextAt' | 'lastError' | 'errorBy' | 'deadlineAt'> | undefined => {
  return store.row(
    'SELECT state, next_at, last_error, error_by, deadline_at FROM outbox WHERE message = ?',
    message,
  )
}
