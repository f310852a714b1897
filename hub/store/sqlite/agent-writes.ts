/** The changes of the registry: agent rows, what finds them, proofs of forks. They run inside a transaction. */
import type { ForkProof, PutAgent, PutAgentResult } from '../port.ts'
import type { Database } from './database.ts'
import { takeInvite } from './invite-store.ts'
import { addMailbox, emptyMailbox } from './mail-writes.ts'
import { isArchived, markArchived } from './moderation-store.ts'
import { keepAway } from './open-mail-store.ts'
import { retellCard } from './peer-card-store.ts'
import { takeSignUp } from './sign-ups.ts'
import { retellReviews, travels } from './told-reviews.ts'

/** What an agent had published and takes back is overwritten where it stood; of mail, which is sealed, nothing is. */
export function putAgent(db: Database, change: PutAgent): PutAgentResult {
  db.exec('PRAGMA secure_delete = ON')
  try {
    return putRow(db, change)
  } finally {
    db.exec('PRAGMA secure_delete = OFF')
  }
}

type Held = {
  number: number
  version: number
  registered: number
  visibility: string
  same_keys: number
}

/** Whether kel and key set are those that it has. */
const HELD =
  'SELECT number, version, registered, visibility, kel = ? AND keys IS ? AS same_keys FROM agent WHERE aid = ?'

function putRow(db: Database, change: PutAgent): PutAgentResult {
  const { row } = change
  const held = db.one<Held>(HELD, row.kel, row.keys ?? null, row.aid)
  if ((held?.version ?? 0) !== row.version) return { outcome: 'conflict' }
  const barred = barredFrom(db, change)
  if (barred !== undefined) return { outcome: barred }
  const version = row.version + 1
  const number =
    held === undefined ? insertAgent(db, row, version) : updateAgent(db, row, held.number, version)
  if (held === undefined) addMailbox(db, number)
  keepAwayUnlessOpen(db, number, row)
  if (change.archiving !== undefined) markArchived(db, row.aid, change.archiving)
  db.run('DELETE FROM directory WHERE agent = ?', number)
  indexCaps(db, row)
  indexTerms(db, row, change.terms)
  const before = { registered: held?.registered === 1, visibility: held?.visibility ?? '' }
  retellReviews(db, row.aid, { before, now: row })
  const isTold = travels(row) && row.keys !== undefined
  retellCard(db, row.aid, { isTold, isSame: held?.same_keys === 1 })
  if (change.entry !== undefined)
    db.run(
      'INSERT OR REPLACE INTO directory (h, agent, box) VALUES (?, ?, ?)',
      change.entry.h,
      number,
      change.entry.box,
    )
  // One that is set aside keeps its keys, and its mail until it is let in again.
  const emptied =
    row.registered || row.keys !== undefined ? { dropped: 0, files: [] } : emptyMailbox(db, number)
  return { outcome: 'stored', number, version, ...emptied }
}

/** Whoever left, was shut out, or has sealed mail by now, takes no visitors. */
function keepAwayUnlessOpen(db: Database, number: number, { mail, registered }: Columns): void {
  if (mail !== 'open' || !registered) keepAway(db, number)
}

/** Why a row is not written; what a new account takes is taken with it. */
function barredFrom(db: Database, { row, archiving, signUp, invite }: PutAgent) {
  if (row.registered && archiving !== 'restored' && isArchived(db, row.aid)) return 'archived' as const
  const taken = signUp === undefined ? 'taken' : takeSignUp(db, signUp)
  if (taken !== 'taken') return taken
  const invited = invite === undefined ? 'taken' : takeInvite(db, invite, row.aid)
  return invited === 'taken' ? undefined : invited
}

/** The version of an agent's row; undefined where there is none. */
export const versionOf = (db: Database, aid: string): number | undefined =>
  db.one<{ version: number }>('SELECT version FROM agent WHERE aid = ?', aid)?.version

type Columns = PutAgent['row']

function indexCaps(db: Database, row: Columns): void {
  db.run('DELETE FROM agent_cap WHERE aid = ?', row.aid)
  if (!row.registered) return
  for (const cap of new Set(row.caps)) db.run('INSERT INTO agent_cap (cap, aid) VALUES (?, ?)', cap, row.aid)
}

function indexTerms(db: Database, row: Columns, terms: readonly string[]): void {
  db.run('DELETE FROM card_term WHERE aid = ?', row.aid)
  if (!row.registered) return
  for (const term of new Set(terms)) db.run('INSERT INTO card_term (term, aid) VALUES (?, ?)', term, row.aid)
}

const values = (row: Columns, version: number) =>
  [
    version,
    row.registered ? 1 : 0,
    row.name,
    JSON.stringify(row.caps),
    row.summary,
    row.readme,
    row.visibility,
    row.kel,
    row.keys ?? null,
    row.keysBefore ?? null,
    row.keysBeforeUntilMs,
    row.registeredDayMs,
    row.probationUntilMs,
    row.card ?? null,
    row.mail,
    row.seenHourMs,
  ] as const

function insertAgent(db: Database, row: Columns, version: number): number {
  const inserted = db.one<{ number: number }>(
    'INSERT INTO agent (version, registered, name, caps, summary, readme, visibility, kel, keys, keys_before,' +
      ' before_until_ms, registered_day_ms, probation_until_ms, card, mail, seen_hour_ms, aid)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number',
    ...values(row, version),
    row.aid,
  )
  if (inserted === undefined) throw new Error('a new agent row has no number')
  return inserted.number
}

function updateAgent(db: Database, row: Columns, number: number, version: number): number {
  db.run(
    'UPDATE agent SET version = ?, registered = ?, name = ?, caps = ?, summary = ?, readme = ?, visibility = ?,' +
      ' kel = ?, keys = ?, keys_before = ?, before_until_ms = ?, registered_day_ms = ?, probation_until_ms = ?, card = ?,' +
      ' mail = ?,' +
      ' seen_hour_ms = max(seen_hour_ms, ?) WHERE number = ?',
    ...values(row, version),
    number,
  )
  return number
}

export function markSeen(db: Database, { number, hourMs }: { number: number; hourMs: number }): true {
  db.run('UPDATE agent SET seen_hour_ms = ?1 WHERE number = ?2 AND seen_hour_ms < ?1', hourMs, number)
  return true
}

export function keepForkProof(db: Database, proof: ForkProof): true {
  db.run(
    'INSERT OR IGNORE INTO fork_proof (aid, seq, held, submitted, seen_ms) VALUES (?, ?, ?, ?, ?)',
    proof.aid,
    proof.seq,
    proof.held,
    proof.submitted,
    proof.seenMs,
  )
  return true
}
