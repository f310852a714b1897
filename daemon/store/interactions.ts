/** Interactions in the store: one row for each task, whichever side it came from. */
import type { InteractionState } from '../../protocol/control/shapes.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { blob, columnOf, flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

/** A task that nobody answers for this long says so to its sender. */
export const ANSWER_DEADLINE_MS = 7 * 86_400_000

/** How a task travels: `local` came over an interface of this node, and is answered there. */
export type Way = 'local' | 'sealed' | 'open'
export const isLocal = ({ way }: Pick<Interaction, 'way'>): boolean => way === 'local'

/**
 * `asking`: this store may be older than what the peer holds, which is asked; `awaiting`: the peer does not know the
 * question, its next word tells; `told`: numbers go on above what it holds.
 */
export type Numbering = 'certain' | 'asking' | 'awaiting' | 'told'

export const interactionsTable = {
  name: 'interactions',
  columns: {
    key: integer,
    id: text,
    delegator: text,
    peer: text,
    side: oneOf<'sent' | 'received'>(text),
    state: oneOf<InteractionState>(text),
    reason: orNull(text),
    /** Null where an earlier release kept it, which may have had it of a hub. */
    reasonBy: orNull(oneOf<'node' | 'peer'>(text)),
    way: oneOf<Way>(text),
    capability: orNull(text),
    preview: text,
    commitment: orNull(blob),
    rsalt: orNull(blob),
    requestCid: text,
    resultCid: orNull(text),
    status: orNull(text),
    startedAt: integer,
    updatedAt: integer,
    deadlineAt: integer,
    /** Own highest number. */
    numbered: integer,
    /** Every number of the peer up to here is held. */
    heldTo: integer,
    heldHighest: integer,
    /** Whose `end` counts. */
    endBy: orNull(oneOf<'me' | 'peer'>(text)),
    /** Numbers of the two last messages of the transcript, once they exist. */
    ownLast: orNull(integer),
    ownEndAt: orNull(integer),
    peerLast: orNull(integer),
    /** JSON list of own numbers that the peer said it lacks. */
    peerLacks: text,
    receipt: orNull(blob),
    receiptState: orNull(oneOf<'waiting' | 'made' | 'signed' | 'disputed' | 'none'>(text)),
    receiptNote: orNull(text),
    counterSignature: orNull(blob),
    /** A second receipt that the provider signed, and that contradicts the first. */
    contradicting: orNull(blob),
    /** The chain record that first named the receipt. */
    receiptSeq: orNull(integer),
    /** Newest message that was read, and newest received, by their keys. */
    readTo: integer,
    lastIn: integer,
    autoReplies: integer,
    autoReply: flag,
    /** Whether the next own number is known not to be taken; see {@link doubtNumbers}. */
    numbering: oneOf<Numbering>(text),
    /** Own number up to which the bare word of the peer proves delivery; null: every one. */
    certainTo: orNull(integer),
    /** When the peer said that it lost this task with a restore. */
    lostByPeerAt: orNull(integer),
    /** The task that was delegated in the place of one that the peer lost. */
    anewAs: orNull(integer),
    /** Its `updatedAt` when it was taken out of the lists; see {@link isArchived}. */
    archivedAt: orNull(integer),
    /** What a task in words costs while it is not paid for, as it was when it came. */
    openPrice: orNull(integer),
    /** The run of a call has begun, and is not made a second time. */
    callBegun: flag,
  },
} as const
export type Interaction = RowOf<typeof interactionsTable>

export type NewInteraction = Pick<
  Interaction,
  | 'id'
  | 'delegator'
  | 'peer'
  | 'side'
  | 'state'
  | 'way'
  | 'capability'
  | 'preview'
  | 'commitment'
  | 'requestCid'
> & { rsalt?: Uint8Array }

/** A reason changes together with whose words it is. */
export type Changes = Partial<Omit<Interaction, 'key' | 'id' | 'reason' | 'reasonBy'>> &
  (Pick<Interaction, 'reason' | 'reasonBy'> | { reason?: never; reasonBy?: never })

export function findInteraction(store: Store, delegator: string, id: string): Interaction | undefined {
  return store.row('SELECT * FROM interactions WHERE delegator = ? AND id = ?', delegator, id)
}

/** The interaction of an id; a task whose id another interaction has is not taken, so there is one. */
export function findInteractionById(store: Store, id: string): Interaction | undefined {
  return store.row('SELECT * FROM interactions WHERE id = ? ORDER BY key DESC LIMIT 1', id)
}

export function interactionAt(store: Store, key: number): Interaction {
  const row = store.row<Interaction>('SELECT * FROM interactions WHERE key = ?', key)
  if (row === undefined) throw new Error(`there is no interaction with the key ${key}`)
  return row
}

/** The state of a task; undefined where there is none of this key. */
export const stateOf = (store: Store, key: number): InteractionState | undefined =>
  store.get<Pick<Interaction, 'state'>>('SELECT state FROM interactions WHERE key = ?', key)?.state

/** The interactions of these keys, in their order. */
export function interactionsAt(store: Store, keys: readonly number[]): Interaction[] {
  if (keys.length === 0) return []
  const rows = store.rows<Interaction>(
    'SELECT * FROM interactions WHERE key IN (SELECT value FROM json_each(?))',
    JSON.stringify(keys),
  )
  const found = new Map(rows.map(interaction => [interaction.key, interaction]))
  return keys.flatMap(key => found.get(key) ?? [])
}

/** The task in whose place one was delegated anew. */
export function anewOf(store: Store, key: number): Interaction | undefined {
  return store.row('SELECT * FROM interactions WHERE anew_as = ?', key)
}

export function unfinishedInteractions(store: Store): Interaction[] {
  return store.rows(
    "SELECT * FROM interactions WHERE state IN ('queued', 'delivered', 'pending', 'open', 'end_proposed') ORDER BY key",
  )
}

/** Keys of open tasks of one requester in which this side said the last word, before a time. */
export const answeredSilence = (
  store: Store,
  { peer, beforeMs, max }: { peer: string; beforeMs: number; max: number },
): number[] =>
  store
    .all<{ key: number }>(
      `SELECT i.key FROM interactions AS i WHERE i.peer = ? AND i.updated_at <= ? AND i.side = 'received'
         AND i.state = 'open' AND (SELECT m.direction FROM messages AS m WHERE m.interaction = i.key
         ORDER BY m.key DESC LIMIT 1) = 'out' LIMIT ?`,
      peer,
      beforeMs,
      max,
    )
    .map(({ key }) => key)

export function createInteraction(store: Store, row: NewInteraction, now: number): Interaction {
  const { key } = store.run(
    `INSERT INTO interactions (id, delegator, peer, side, state, way, capability, preview, commitment, rsalt,
       request_cid, started_at, updated_at, deadline_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.delegator,
    row.peer,
    row.side,
    row.state,
    row.way,
    row.capability,
    row.preview,
    row.commitment,
    row.rsalt ?? null,
    row.requestCid,
    now,
    now,
    now + ANSWER_DEADLINE_MS,
  )
  return interactionAt(store, key)
}

/** Writes changes and returns the interaction as it now stands. */
export function updateInteraction(
  store: Store,
  interaction: Interaction,
  changes: Changes,
  now: number,
): Interaction {
  const next = { updatedAt: now, ...changes }
  const members = Object.keys(next)
  store.run(
    `UPDATE interactions SET ${members.map(member => `${columnOf(member)} = ?`).join(', ')} WHERE key = ?`,
    ...Object.values(next),
    interaction.key,
  )
  return { ...interaction, ...next }
}

/** Tasks whose provider signed two receipts that contradict each other. */
export function contradictedInteractions(store: Store): number {
  const row = store.get<{ n: number }>(
    'SELECT count(*) AS n FROM interactions WHERE contradicting IS NOT NULL',
  )
  return row?.n ?? 0
}

/** The reader has seen everything up to this message; that is no change of the interaction. */
export function markReadTo(store: Store, key: number, message: number): void {
  store.run('UPDATE interactions SET read_to = max(read_to, ?) WHERE key = ?', message, key)
}

/** Takes it out of the lists, or puts it back; that is no change of the interaction. */
export function markArchived(store: Store, key: number, on: boolean): void {
  store.run('UPDATE interactions SET archived_at = iif(?, updated_at, NULL) WHERE key = ?', on ? 1 : 0, key)
}

/** Nothing has happened in it since a person took it out of the lists. */
export const isArchived = ({ archivedAt, updatedAt }: Interaction): boolean => archivedAt === updatedAt

/** The same, and its opposite, of a row. */
export const ARCHIVED = 'archived_at IS NOT NULL AND archived_at = updated_at'
export const NOT_ARCHIVED = 'archived_at IS NOT updated_at'

/** Remembers the chain record that first named the receipt: evidence of when it was held. */
export function noteReceiptRecord(store: Store, key: number, seq: number): void {
  store.run('UPDATE interactions SET receipt_seq = coalesce(receipt_seq, ?) WHERE key = ?', seq, key)
}

/**
 * Every own number of what may go on, or still lacks a signature, is in doubt: this store is, or may be, older than what was
 * sent.
 */
export function doubtNumbers(store: Store): void {
  store.run(
    `UPDATE interactions SET numbering = 'asking', certain_to = min(numbered, coalesce(certain_to, numbered))
     WHERE way <> 'local' AND (state IN ('queued', 'delivered', 'pending', 'open', 'end_proposed', 'expired')
       OR (state = 'ended' AND counter_signature IS NULL AND contradicting IS NULL))`,
  )
}

/** Whether the next own number is in doubt, so that nothing is numbered or signed off. */
export const isNumberOpen = ({ numbering }: Pick<Interaction, 'numbering'>): boolean =>
  numbering === 'asking' || numbering === 'awaiting'

/** The opposite, of a row: a copy that is lost has said nothing more there than this store has. */
export const NUMBERS_KNOWN = "numbering NOT IN ('asking', 'awaiting')"

/** Interactions whose next own number is in doubt, the oldest first. */
export function uncertainInteractions(store: Store): Interaction[] {
  return store.rows("SELECT * FROM interactions WHERE numbering IN ('asking', 'awaiting') ORDER BY key")
}

/** What happened with a peer since then, the newest first; a task that was answered with its price, and not paid, is none. */
export function tasksSince(
  store: Store,
  peer: string,
  since: number,
  max: number,
): Pick<Interaction, 'key' | 'id' | 'side' | 'startedAt'>[] {
  return store.rows(
    `SELECT key, id, side, started_at FROM interactions AS i WHERE peer = ? AND updated_at >= ? AND way <> 'local'
       AND (NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.interaction = i.key AND m.kind = ?)
         OR EXISTS (SELECT 1 FROM payments AS p WHERE p.interaction = i.key))
     ORDER BY updated_at DESC LIMIT ?`,
    peer,
    since,
    kinds.quote,
    max,
  )
}

/** When anything last happened in this store. */
export const newestIn = (store: Store): number =>
  store.get<{ at: number | null }>('SELECT max(updated_at) AS at FROM interactions')?.at ?? 0

/** Key of the newest interaction; 0 where there is none. */
export const newestKey = (store: Store): number =>
  store.get<{ key: number }>('SELECT coalesce(max(key), 0) AS key FROM interactions')?.key ?? 0

/** What a task costs before anybody answers it; undefined where it costs nothing, or is paid for. */
export const openPriceOf = (store: Store, key: number): number | undefined =>
  store.get<{ price: number | null }>('SELECT open_price AS price FROM interactions WHERE key = ?', key)
    ?.price ?? undefined

/** Keeps what a task costs; null: it is paid for, or answered. That is no change of the interaction. */
export function keepOpenPrice(store: Store, key: number, price: number | null): void {
  store.run('UPDATE interactions SET open_price = ?2 WHERE key = ?1 AND open_price IS NOT ?2', key, price)
}

/** Marks that the run of a call begins, or that its answer is kept; that is no change of the interaction. */
export function markCallBegun(store: Store, key: number, isBegun: boolean): void {
  const begun = isBegun ? 1 : 0
  store.run('UPDATE interactions SET call_begun = ?2 WHERE key = ?1 AND call_begun <> ?2', key, begun)
}

const IS_WAITING_CALL = `side = 'received' AND numbered = 0 AND own_last IS NULL AND ${NUMBERS_KNOWN}
  AND lost_by_peer_at IS NULL AND state IN ('open', 'end_proposed') AND (state = 'open' OR end_by = 'peer')
  AND ((capability IS NOT NULL AND auto_reply = 0) OR open_price IS NOT NULL)`

/**
 * Received calls that no agent answers, and tasks in words that are not paid for, without a word of ours so far, also not
 * of a copy that is lost, and of which an answer arrives: a few of each peer, so that none holds up others.
 */
export function waitingCalls(store: Store): Interaction[] {
  // mostly there is none, and to rank them takes four times as long
  if (store.get(`SELECT 1 FROM interactions WHERE ${IS_WAITING_CALL} LIMIT 1`) === undefined) return []
  const found = store.all<{ key: number }>(
    `SELECT key FROM (
       SELECT key, row_number() OVER (PARTITION BY peer ORDER BY key) AS rank FROM interactions WHERE ${IS_WAITING_CALL}
     ) WHERE rank <= 8 ORDER BY rank, key LIMIT 256`,
  )
  return interactionsAt(
    store,
    found.map(({ key }) => key),
  )
}
