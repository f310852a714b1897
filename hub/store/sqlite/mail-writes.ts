/** The changes of mailboxes: queueing, collecting, confirmations, revocations, expiry. They run inside a transaction. */
import type { Ack, AckResult, Enqueue, EnqueueOutcome, SweepResult } from '../port.ts'
import { dayOf, limitReached, type MailboxCounters, type Seen, seenAgain, usesCount } from '../queueing.ts'
import type { Database } from './database.ts'
import { digestsOf } from './digests.ts'
import { ridOf } from './rids.ts'
import { sweepSignUps } from './sign-ups.ts'

const DAY_MS = 86_400_000

type Counters = MailboxCounters & { version: number; next_id: number }

/** A mailbox of its own for a new agent. */
export function addMailbox(db: Database, number: number): void {
  db.run('INSERT INTO mailbox (number) VALUES (?)', number)
}

/** Every mailbox goes on with ids that lie further on by `count`. */
export function skipIds(db: Database, count: number): void {
  db.run('UPDATE mailbox SET next_id = next_id + ?', count)
}

/** Checks every limit against the counters, then queues; nothing is written unless all of them hold. */
export function enqueue(db: Database, item: Enqueue): EnqueueOutcome {
  const box = db.one<Counters>(
    'SELECT (SELECT version FROM agent WHERE agent.number = mailbox.number) AS version,' +
      ' next_id, envelopes, bytes, stranger_envelopes, stranger_bytes FROM mailbox WHERE number = ?',
    item.mailbox,
  )
  if (box === undefined) return { outcome: 'noMailbox' }
  if (item.judgedBy !== undefined && item.judgedBy !== box.version)
    return { outcome: 'moved', content: item.content }
  const repeat = digestsOf(db).find(item)
  if (repeat !== undefined && repeat.waiting !== 0) {
    const first = db.one<{ rid: Uint8Array }>(
      'SELECT rid FROM envelope WHERE mailbox = ? AND id = ?',
      item.mailbox,
      repeat.waiting,
    )
    if (first !== undefined)
      return { outcome: 'duplicate', rid: ridOf(db, { mailbox: item.mailbox, id: repeat.waiting, ...first }) }
  }
  const refusal = barred(db, item, box, repeat)
  if (refusal !== undefined) return refusal
  insert(db, item, box.next_id, repeat)
  return { outcome: 'queued', id: box.next_id }
}

function barred(
  db: Database,
  item: Enqueue,
  box: MailboxCounters,
  repeat: Seen | undefined,
): EnqueueOutcome | undefined {
  const reached = limitReached(item, box, repeat)
  if (reached !== undefined || item.use === undefined) return reached
  if (isRevoked(db, item.mailbox, item.use.capability)) return { outcome: 'capabilityRevoked' }
  if (!usesCount(item, repeat)) return undefined
  const used = db.one<{ uses: number }>(
    'SELECT uses FROM capability_use WHERE day = ? AND mailbox = ? AND capability = ?',
    dayOf(item.nowMs),
    item.mailbox,
    item.use.capability,
  )
  return (used?.uses ?? 0) >= item.use.perDayMax ? { outcome: 'capabilitySpent' } : undefined
}

function insert(db: Database, item: Enqueue, id: number, repeat: Seen | undefined): void {
  db.run(
    'INSERT INTO envelope (mailbox, id, rid, digest, accepted_ms, delete_ms, size, stranger, file, content)' +
      " VALUES (?, ?, x'', ?, ?, ?, ?, ?, ?, ?)",
    item.mailbox,
    id,
    item.digest,
    item.nowMs,
    item.deleteAtMs,
    item.size,
    item.stranger ? 1 : 0,
    item.file ?? null,
    item.content ?? null,
  )
  noteDigest(db, item, id, repeat)
  db.run(
    'UPDATE mailbox SET next_id = next_id + 1, envelopes = envelopes + 1, bytes = bytes + ?1,' +
      ' stranger_envelopes = stranger_envelopes + ?2, stranger_bytes = stranger_bytes + ?2 * ?1 WHERE number = ?3',
    item.size,
    item.stranger ? 1 : 0,
    item.mailbox,
  )
  if (item.use !== undefined && usesCount(item, repeat)) {
    db.run(
      'INSERT INTO capability_use (day, mailbox, capability, uses) VALUES (?, ?, ?, 1)' +
        ' ON CONFLICT DO UPDATE SET uses = uses + 1',
      dayOf(item.nowMs),
      item.mailbox,
      item.use.capability,
    )
  }
}

/** Whoever asks for a digest before its content was read asks the connection that reads. */
function noteDigest(db: Database, item: Enqueue, id: number, repeat: Seen | undefined): void {
  const digests = digestsOf(db)
  const seen = seenAgain(repeat, item.nowMs, id)
  if (repeat === undefined) digests.add(item, seen, item.stranger || item.file !== undefined)
  else digests.change(item, seen)
}

export function isRevoked(db: Database, mailbox: number, capability: Uint8Array): boolean {
  return (
    db.one('SELECT 1 FROM revocation WHERE mailbox = ? AND capability = ?', mailbox, capability) !== undefined
  )
}

type Waiting = { rid: Uint8Array; digest: Uint8Array; size: number; stranger: number; file: string | null }

/** Removes the items that are in the mailbox; what is not there any more was removed before. */
export function ack(db: Database, change: Ack): AckResult {
  const result: AckResult = { acked: 0, stored: 0, ids: [], files: [] }
  for (const item of change.items) {
    const waiting = takeEnvelope(db, change.mailbox, item.id, result.files)
    if (waiting === undefined) continue
    result.acked += 1
    result.ids.push(item.id)
    if (item.dack !== undefined) result.stored += 1
    db.run(
      'INSERT OR REPLACE INTO delivery (rid, handle, dack, fetched, delete_ms) VALUES (?, ?, ?, 0, ?)',
      ridOf(db, { mailbox: change.mailbox, id: item.id, rid: waiting.rid }),
      item.handle ?? null,
      item.dack ?? null,
      change.keepUntilMs,
    )
  }
  return result
}

function takeEnvelope(db: Database, mailbox: number, id: number, files: string[]): Waiting | undefined {
  const waiting = db.one<Waiting>(
    'SELECT rid, digest, size, stranger, file FROM envelope WHERE mailbox = ? AND id = ?',
    mailbox,
    id,
  )
  if (waiting === undefined) return undefined
  db.run('DELETE FROM envelope WHERE mailbox = ? AND id = ?', mailbox, id)
  digestsOf(db).waitsNoMore({ mailbox, digest: waiting.digest })
  db.run(
    'UPDATE mailbox SET envelopes = envelopes - 1, bytes = bytes - ?1,' +
      ' stranger_envelopes = stranger_envelopes - ?2, stranger_bytes = stranger_bytes - ?2 * ?1 WHERE number = ?3',
    waiting.size,
    waiting.stranger,
    mailbox,
  )
  if (waiting.file !== null) files.push(waiting.file)
  return waiting
}

/** Removes everything that waits in a mailbox. */
export function emptyMailbox(db: Database, mailbox: number): { dropped: number; files: string[] } {
  const files: string[] = []
  const rows = db.all<{ id: number }>('SELECT id FROM envelope WHERE mailbox = ?', mailbox)
  for (const { id } of rows) takeEnvelope(db, mailbox, id, files)
  return { dropped: rows.length, files }
}

export function markFetched(db: Database, change: { rids: Uint8Array[]; keepUntilMs: number }): true {
  for (const rid of change.rids) {
    db.run(
      'UPDATE delivery SET fetched = 1, delete_ms = min(delete_ms, ?) WHERE rid = ? AND fetched = 0',
      change.keepUntilMs,
      rid,
    )
  }
  return true
}

export function revoke(
  db: Database,
  change: { mailbox: number; capabilities: Uint8Array[]; deleteAtMs: number; nowMs: number; max: number },
): { outcome: 'revoked'; revoked: number; total: number } | { outcome: 'full' } {
  const gone = db.run(
    'DELETE FROM revocation WHERE mailbox = ? AND delete_ms <= ?',
    change.mailbox,
    change.nowMs,
  )
  const held = db.one<{ revocations: number }>(
    'SELECT revocations FROM mailbox WHERE number = ?',
    change.mailbox,
  )
  let total = (held?.revocations ?? 0) - gone
  const known = change.capabilities.filter(id => isRevoked(db, change.mailbox, id)).length
  const distinct = new Set(change.capabilities.map(id => id.toString())).size
  const full = total + distinct - known > change.max
  let revoked = 0
  if (!full) {
    for (const capability of change.capabilities) {
      revoked += db.run(
        'INSERT OR IGNORE INTO revocation (mailbox, capability, delete_ms) VALUES (?, ?, ?)',
        change.mailbox,
        capability,
        change.deleteAtMs,
      )
    }
    total += revoked
  }
  db.run('UPDATE mailbox SET revocations = ? WHERE number = ?', total, change.mailbox)
  return full ? { outcome: 'full' } : { outcome: 'revoked', revoked, total }
}

/** Deletes what has expired; `more` says that a further sweep has work left. */
export function sweep(db: Database, change: { nowMs: number; limit: number }): SweepResult {
  const { nowMs, limit } = change
  const files: string[] = []
  const expired = db.all<{ mailbox: number; id: number }>(
    'SELECT mailbox, id FROM envelope WHERE delete_ms <= ? LIMIT ?',
    nowMs,
    limit,
  )
  for (const { mailbox, id } of expired) takeEnvelope(db, mailbox, id, files)
  const taken = db.all<{ mailbox: number; capability: Uint8Array }>(
    'SELECT mailbox, capability FROM revocation WHERE delete_ms <= ? LIMIT ?',
    nowMs,
    limit,
  )
  for (const { mailbox, capability } of taken) {
    db.run('DELETE FROM revocation WHERE mailbox = ? AND capability = ?', mailbox, capability)
    db.run('UPDATE mailbox SET revocations = revocations - 1 WHERE number = ?', mailbox)
  }
  const rest = [
    db.run(
      'DELETE FROM delivery WHERE rid IN (SELECT rid FROM delivery WHERE delete_ms <= ? LIMIT ?)',
      nowMs,
      limit,
    ),
    digestsOf(db).sweep(nowMs - DAY_MS, limit),
    db.run(
      'DELETE FROM capability_use WHERE (day, mailbox, capability) IN' +
        ' (SELECT day, mailbox, capability FROM capability_use WHERE day < ? LIMIT ?)',
      dayOf(nowMs),
      limit,
    ),
    ...sweepSignUps(db, dayOf(nowMs), nowMs, limit),
  ]
  const more = [expired.length, taken.length, ...rest].some(count => count >= limit)
  return { envelopes: expired, files, more }
}
