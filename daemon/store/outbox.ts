/**
 * The outbox: what is still to be sent, or lies at the hub without proof of its delivery. Each function is one step of
 * a message on its way; a message that is settled has no row any more.
 */
import { kinds } from '../../protocol/mail/payload.ts'
import { blob, flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'
import type { Reason } from './reasons.ts'

/** Due messages that are read at a time. */
export const DUE_MAX = 32
/** Why a message waits: no capability of the recipient in stock was taken. */
export const ACCESS_REFUSED =
  'the hub of the recipient refused the access that the recipient had given; it may have blocked this node: ask it; this goes once it lets this node in again'
/** Why a message waits although the recipient was reached: it came there before the task that it belongs to. */
export const OVERTOOK = 'it came before its task, and goes again once that has arrived'
/**
 * What a message here waits for, beyond its time: its person lets it go, a capability of its recipient comes, the recipient
 * renews the access that its hub refused, or the task that it belongs to arrives before it.
 */
export type WaitsFor = 'person' | 'stock' | 'access' | 'task'

/** The credential of what went under a session, which names this node to its hub. */
export const SESSION = 'session'

export const outboxTable = {
  name: 'outbox',
  columns: {
    message: integer,
    peer: text,
    interaction: orNull(integer),
    state: oneOf<'queued' | 'at_hub'>(text),
    nextAt: integer,
    attempts: integer,
    handleSecret: blob,
    rid: orNull(text),
    viaHub: orNull(text),
    /** Under what the envelope at the hub went: `session`, or the id of a capability; null: not known. */
    credential: orNull(text),
    /** JSON list of the digests of every envelope that was ever made of the message. */
    digests: text,
    credentialsTried: integer,
    resent: integer,
    /** State of our log and key set as the last envelope brought them; null when it brought none. */
    introduces: orNull(text),
    granted: orNull(blob),
    expiresAt: orNull(integer),
    deadlineAt: integer,
    lastError: orNull(text),
    /** Whose words the last error is. */
    errorBy: orNull(oneOf<'node' | 'hub'>(text)),
    /** The code with which a hub refused it last; null where the last attempt ended otherwise. */
    refusedAs: orNull(text),
    waitsFor: orNull(oneOf<WaitsFor>(text)),
    /** The hub may have lost it: it was away, or came back from a backup, since it took this. */
    doubted: flag,
  },
} as const
export type OutboxEntry = RowOf<typeof outboxTable>

export type NewEntry = Pick<
  OutboxEntry,
  'message' | 'peer' | 'interaction' | 'nextAt' | 'handleSecret' | 'deadlineAt'
>

export function enqueue(store: Store, entry: NewEntry): void {
  store.run(
    `INSERT INTO outbox (message, peer, interaction, state, next_at, handle_secret, deadline_at)
     VALUES (?, ?, ?, 'queued', ?, ?, ?)`,
    entry.message,
    entry.peer,
    entry.interaction,
    entry.nextAt,
    entry.handleSecret,
    entry.deadlineAt,
  )
}

/** Of an entry `o`. */
const TASK_ON_ITS_WAY = `EXISTS (SELECT 1 FROM outbox AS t JOIN messages AS m ON m.key = t.message
  WHERE t.interaction = o.interaction AND t.message < o.message AND m.kind = ${kinds.delegate})`

/** Of an entry `o`: its number may stand for another message at the recipient. */
const NUMBER_IN_DOUBT = `EXISTS (SELECT 1 FROM messages AS n JOIN interactions AS i ON i.key = n.interaction
  WHERE n.key = o.message AND i.numbering IN ('asking', 'awaiting') AND n.number > i.certain_to)`

/** Of an entry `o`: an earlier message of its task lies at a hub that may have lost it. */
const BEHIND_DOUBTED = `EXISTS (SELECT 1 FROM outbox AS d WHERE d.interaction = o.interaction AND d.message < o.message
  AND d.state = 'at_hub' AND d.doubted = 1)`

export function outboxEntry(store: Store, message: number): OutboxEntry | undefined {
  return store.row('SELECT * FROM outbox WHERE message = ?', message)
}

/** Keeps a message here until then. */
export function holdBack(store: Store, message: number, until: number): void {
  store.run("UPDATE outbox SET next_at = ? WHERE message = ? AND state = 'queued'", until, message)
}

export const HELD = 'held back by you'

/** Keeps what a task still has to send here until {@link letGo}; how many messages. */
export function holdAll(store: Store, interaction: number): number {
  const { changes } = store.run(
    `UPDATE outbox SET next_at = deadline_at, waits_for = 'person', last_error = ?, error_by = 'node'
     WHERE interaction = ? AND state = 'queued'`,
    HELD,
    interaction,
  )
  return Number(changes)
}

/** Lets what was held back of a task leave now; how many messages. */
export function letGo(store: Store, interaction: number, now: number): number {
  const { changes } = store.run(
    `UPDATE outbox SET next_at = ?, waits_for = NULL, last_error = NULL, error_by = NULL
     WHERE interaction = ? AND state = 'queued' AND waits_for = 'person'`,
    now,
    interaction,
  )
  return Number(changes)
}

/** Whether a message is held back, or stands behind one of its task that is. */
export function isHeld(store: Store, message: number): boolean {
  const row = store.get(
    `SELECT 1 FROM outbox AS o JOIN outbox AS e ON e.interaction = o.interaction AND e.message <= o.message
     WHERE o.message = ? AND o.state = 'queued' AND e.state = 'queued' AND e.waits_for = 'person'`,
    message,
  )
  return row !== undefined
}

/** Messages of a task that are still here. */
export function queuedOf(store: Store, interaction: number): number[] {
  return store
    .all<{ message: number }>(
      "SELECT message FROM outbox WHERE interaction = ? AND state = 'queued'",
      interaction,
    )
    .map(({ message }) => message)
}

/** Whether no envelope was ever made of a message, so that nobody has seen a byte of it. */
export function isUnseen(store: Store, message: number): boolean {
  const row = store.get(
    "SELECT 1 FROM outbox WHERE message = ? AND state = 'queued' AND digests = '[]'",
    message,
  )
  return row !== undefined
}

/** Whether a message waits until its recipient has said which numbers it holds. */
export function isNumberInDoubt(store: Store, message: number): boolean {
  return (
    store.get(`SELECT 1 FROM outbox AS o WHERE o.message = ? AND ${NUMBER_IN_DOUBT}`, message) !== undefined
  )
}

/**
 * What is due, but no message before an earlier one of its interaction, nor one that overtook its task before that; so many
 * at most, without the first `behind`.
 */
export function dueEntries(store: Store, now: number, behind = 0): OutboxEntry[] {
  return store.rows(
    `SELECT * FROM outbox AS o WHERE state = 'queued' AND next_at <= ? AND waits_for IS NOT 'person' AND NOT EXISTS (
       SELECT 1 FROM outbox AS e WHERE e.interaction = o.interaction AND e.message < o.message AND e.state = 'queued')
       AND NOT (waits_for IS 'task' AND ${TASK_ON_ITS_WAY}) AND NOT ${NUMBER_IN_DOUBT} AND NOT ${BEHIND_DOUBTED}
     ORDER BY next_at LIMIT ? OFFSET ?`,
    now,
    DUE_MAX,
    behind,
  )
}

/** Whether the recipient may not have the task yet that a message belongs to. */
export function isTaskOnItsWay(store: Store, message: number): boolean {
  return (
    store.get(`SELECT 1 FROM outbox AS o WHERE o.message = ? AND ${TASK_ON_ITS_WAY}`, message) !== undefined
  )
}

/** What lies at the hub of an interaction, in the order in which it was said. */
export function entriesAtHub(store: Store, interaction: number): OutboxEntry[] {
  return store.rows(
    "SELECT * FROM outbox WHERE interaction = ? AND state = 'at_hub' ORDER BY message",
    interaction,
  )
}

/** When the next message is to be sent or asked about. */
export function nextEntryAt(store: Store): number | undefined {
  const first = store.get<{ at: number | null }>(
    `SELECT min(at) AS at FROM (
       SELECT min(next_at) AS at FROM outbox WHERE state = 'queued' UNION ALL
       SELECT min(next_at) FROM outbox WHERE state = 'at_hub')`,
  )
  return first?.at ?? undefined
}

/** Every message in the outbox, in the order in which they were made. */
export function allEntries(store: Store): OutboxEntry[] {
  return store.rows('SELECT * FROM outbox ORDER BY message')
}

/** What is past its deadline. */
export function overdueEntries(store: Store, now: number): OutboxEntry[] {
  return store.rows('SELECT * FROM outbox WHERE deadline_at <= ? ORDER BY message', now)
}

/**
 * What lies at the hub and may be asked about in one question: that for which it is time, and what the hub can tie to
 * it already, because it went to the same recipient under the same credential. `without`: hubs that have them, null the own.
 */
export function entriesToAskAbout(
  store: Store,
  now: number,
  max: number,
  without: readonly (string | null)[] = [],
): OutboxEntry[] {
  const first = firstToAskAbout(store, now, without)
  if (first === undefined) return []
  if (first.credential === null) return [first]
  return store.rows(
    `SELECT * FROM outbox WHERE state = 'at_hub' AND peer = ? AND credential = ? AND via_hub IS ?
     ORDER BY next_at LIMIT ?`,
    first.peer,
    first.credential,
    first.viaHub,
    max,
  )
}

/** The names of hubs are read only where there are any: that takes thrice as long. */
function firstToAskAbout(
  store: Store,
  now: number,
  without: readonly (string | null)[],
): OutboxEntry | undefined {
  const due = "SELECT * FROM outbox WHERE state = 'at_hub' AND next_at <= ?"
  const soonest = 'ORDER BY next_at, attempts LIMIT 1'
  if (without.length === 0) return store.row(`${due} ${soonest}`, now)
  return store.row(
    `${due} AND ifnull(via_hub, '') NOT IN (SELECT value FROM json_each(?)) ${soonest}`,
    now,
    JSON.stringify(without.map(via => via ?? '')),
  )
}

export type Sealing = Pick<OutboxEntry, 'digests' | 'granted' | 'introduces'>

/** What the envelope holds that leaves next: durable before it leaves. */
export function noteSealing(store: Store, message: number, { digests, granted, introduces }: Sealing): void {
  store.run(
    'UPDATE outbox SET digests = ?, granted = ?, introduces = ? WHERE message = ?',
    digests,
    granted,
    introduces,
    message,
  )
}

/** Beside a message at the hub, `lastError` says in words of this node why it may lie there for long. */
export type AtHub = Pick<OutboxEntry, 'rid' | 'viaHub' | 'credential' | 'expiresAt' | 'nextAt' | 'lastError'>

/** The hub has it; false when the message was settled in the meantime, or is to be sent anew. */
export function markAtHub(store: Store, message: number, at: AtHub): boolean {
  const { changes } = store.run(
    `UPDATE outbox SET state = 'at_hub', rid = ?, via_hub = ?, credential = ?, expires_at = ?, attempts = 0, doubted = 0,
       last_error = ?5, error_by = iif(?5 IS NULL, NULL, 'node'), refused_as = NULL, waits_for = NULL, next_at = ?
     WHERE message = ? AND state = 'queued'`,
    at.rid,
    at.viaHub,
    at.credential,
    at.expiresAt,
    at.lastError,
    at.nextAt,
    message,
  )
  return changes > 0
}

export type Again = Reason<'hub'> & {
  at: number
  refusedAs?: string | undefined
  waitsFor?: WaitsFor | undefined
}

/** To be sent at this time, after an attempt that did not succeed. */
export function sendAgainAt(store: Store, message: number, again: Again): void {
  store.run(
    `UPDATE outbox SET state = 'queued', attempts = attempts + 1, next_at = ?, last_error = ?, error_by = ?,
       refused_as = ?, waits_for = ? WHERE message = ?`,
    Math.ceil(again.at),
    again.reason,
    again.reasonBy,
    again.refusedAs ?? null,
    again.waitsFor ?? null,
    message,
  )
}

/**
 * A hub may have lost all that it holds: it is asked about that by then, and nothing overtakes it. `viaHub`: another hub;
 * null: the own one, which holds nothing of what it handed on.
 */
export function doubtAtHub(store: Store, by: number, viaHub: string | null): void {
  store.run(
    "UPDATE outbox SET doubted = 1, next_at = min(next_at, ?) WHERE state = 'at_hub' AND via_hub IS ?",
    Math.ceil(by),
    viaHub,
  )
}

/** The hub says that it holds this. */
export function endDoubt(store: Store, message: number): void {
  store.run('UPDATE outbox SET doubted = 0 WHERE message = ? AND doubted = 1', message)
}

/** Why nobody says what became of a message at a hub, and the code with which the own one refuses to; none: it is said. */
export function noteSilence(store: Store, message: number, silence?: { why: string; code: string }): void {
  store.run(
    `UPDATE outbox SET last_error = ?1, error_by = iif(?1 IS NULL, NULL, 'node'), refused_as = ?2
     WHERE message = ?3 AND state = 'at_hub' AND (?2 IS NOT NULL OR refused_as IS NOT NULL)`,
    silence?.why ?? null,
    silence?.code ?? null,
    message,
  )
}

/** To be asked about at this time. */
export function askAgainAt(store: Store, message: number, at: number): void {
  store.run(
    "UPDATE outbox SET next_at = ?, attempts = attempts + 1 WHERE message = ? AND state = 'at_hub'",
    Math.ceil(at),
    message,
  )
}

export function countResending(store: Store, message: number): void {
  store.run('UPDATE outbox SET resent = resent + 1 WHERE message = ?', message)
}

export function resetCredentials(store: Store, message: number): void {
  store.run('UPDATE outbox SET credentials_tried = 0 WHERE message = ?', message)
}

export function countCredential(store: Store, message: number): void {
  store.run('UPDATE outbox SET credentials_tried = credentials_tried + 1 WHERE message = ?', message)
}

/** What waits for capabilities of a peer is due now, with all of its tries; true when there was any. */
export function hurryEntries(store: Store, peer: string, now: number): boolean {
  const { changes } = store.run(
    `UPDATE outbox SET next_at = ?1, credentials_tried = 0
     WHERE peer = ?2 AND state = 'queued' AND next_at > ?1 AND waits_for IN ('stock', 'access')`,
    now,
    peer,
  )
  return changes > 0
}

/**
 * What waits as a stranger's for long although a capability of its recipient can be spent is due now; true when there was
 * any. What was put off for less is on its way.
 */
export function hurryHeld(
  store: Store,
  { now, longMs, usesMax }: { now: number; longMs: number; usesMax: number },
): boolean {
  const { changes } = store.run(
    `UPDATE outbox SET next_at = ?1, credentials_tried = 0
     WHERE state = 'queued' AND next_at > ?1 + ?2 AND waits_for = 'stock' AND peer IN (
       SELECT peer FROM capabilities_held WHERE expires_at > ?1 + 60000 AND uses < ?3)`,
    now,
    longMs,
    usesMax,
  )
  return changes > 0
}

/** Everything is sent anew: what was sealed names a key state or a mailbox of before. */
export function sendAllAgain(store: Store, now: number): void {
  store.run(
    "UPDATE outbox SET state = 'queued', next_at = ? WHERE state <> 'queued' OR waits_for IS NOT 'person'",
    now,
  )
}

/** The message is settled. */
export function removeEntry(store: Store, message: number): void {
  store.run('DELETE FROM outbox WHERE message = ?', message)
}

/** What was put off further than ever happens was put off by a clock that ran ahead, or is held back by a person. */
export function takeUpPutOff(store: Store, now: number, furthest: number): void {
  store.run("UPDATE outbox SET next_at = ? WHERE next_at > ? AND waits_for IS NOT 'person'", now, furthest)
}
