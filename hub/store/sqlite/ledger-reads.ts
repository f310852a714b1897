/** Reading the ledger and the supply chain. */
import type {
  Holdings,
  KeptEpoch,
  LedgerEntry,
  LedgerSnapshot,
  OpenHold,
  PostedTransfer,
  ProofPiece,
  RedemptionRow,
  SupplyHead,
  Totals,
  TransferReason,
} from '../ledger-port.ts'
import {
  entryOf,
  holdName,
  holdOf,
  redemptionOf,
  type StoredEntry,
  type StoredHold,
  type StoredRedemption,
  type StoredTotals,
  type StoredTransfer,
  totalsOf,
  transferOf,
} from '../ledger-rows.ts'
import type { Database } from './database.ts'

export const ledgerQueries = {
  transfer:
    'SELECT seq, reason, amount, at_ms, receipt, authorization, reference FROM ledger_transfer WHERE id = ?',
  holdings: "SELECT number, balance FROM ledger_account WHERE kind = 'agent' AND name = ?",
  held:
    'SELECT coalesce(sum(balance), 0) AS held, coalesce(sum(CASE WHEN until_ms <= ?2 THEN balance ELSE 0 END), 0) AS lapsed' +
    ' FROM ledger_hold JOIN ledger_account ON number = account WHERE payer = ?1 AND is_open = 1',
  openHold:
    'SELECT held.name AS held, held.balance AS amount, payer.name AS payer, payee.name AS payee, until_ms,' +
    ' (SELECT name FROM ledger_account WHERE number = ledger_hold.peer) AS peer FROM ledger_hold' +
    ' JOIN ledger_account AS held ON held.number = ledger_hold.account' +
    ' JOIN ledger_account AS payer ON payer.number = ledger_hold.payer' +
    ' JOIN ledger_account AS payee ON payee.number = ledger_hold.payee',
  entries:
    'SELECT e.transfer AS seq, e.delta, t.reason, t.at_ms, t.id, t.about, o.kind, o.name FROM ledger_entry AS e' +
    ' JOIN ledger_transfer AS t ON t.seq = e.transfer JOIN ledger_account AS o ON o.number = e.other' +
    ' WHERE e.account = ?1 AND e.transfer < ?2 AND t.at_ms >= ?3 AND (?4 IS NULL OR t.reason = ?4)' +
    ' ORDER BY e.transfer DESC LIMIT ?5',
  accountTotals:
    'SELECT count(*) AS entries, coalesce(sum(delta), 0) AS sum FROM ledger_entry WHERE account = ?',
  oldest:
    'SELECT e.transfer AS seq FROM ledger_entry AS e JOIN ledger_transfer AS t ON t.seq = e.transfer' +
    ' WHERE e.account = ? AND t.at_ms >= ? ORDER BY e.transfer LIMIT 1',
  redemptions:
    'SELECT t.seq, t.at_ms, t.id, t.amount, t.reference, o.name AS aid FROM ledger_entry AS e' +
    ' JOIN ledger_transfer AS t ON t.seq = e.transfer JOIN ledger_account AS o ON o.number = e.other' +
    " WHERE e.account = (SELECT number FROM ledger_account WHERE kind = 'retired') AND o.kind = 'agent'" +
    ' AND e.transfer < ?1 AND t.at_ms >= ?2 ORDER BY e.transfer DESC LIMIT ?3',
  supplyHead: 'SELECT seq, id FROM supply_record ORDER BY seq DESC LIMIT 1',
} as const

export function readTransfer(db: Database, id: Uint8Array): PostedTransfer | undefined {
  const row = db.one<StoredTransfer>(ledgerQueries.transfer, id)
  return row && transferOf(row)
}

export function readHoldings(db: Database, aid: string, nowMs: number): Holdings {
  const account = db.one<{ number: number; balance: number }>(ledgerQueries.holdings, aid)
  if (account === undefined) return { balance: 0, held: 0, lapsed: 0 }
  const sums = db.one<{ held: number; lapsed: number }>(ledgerQueries.held, account.number, nowMs)
  return { balance: account.balance, held: sums?.held ?? 0, lapsed: sums?.lapsed ?? 0 }
}

export function readOpenHold(db: Database, transaction: Uint8Array): OpenHold | undefined {
  const sql = `${ledgerQueries.openHold} WHERE held.kind = 'held' AND held.name = ? AND is_open = 1`
  const row = db.one<StoredHold>(sql, holdName(transaction))
  return row && holdOf(row)
}

export function readLapsedHolds(
  db: Database,
  { nowMs, limit, payer }: { nowMs: number; limit: number; payer: string | undefined },
): OpenHold[] {
  if (payer === undefined) {
    const sql = `${ledgerQueries.openHold} WHERE is_open = 1 AND until_ms <= ? ORDER BY until_ms LIMIT ?`
    return db.all<StoredHold>(sql, nowMs, limit).map(holdOf)
  }
  const account = db.one<{ number: number }>(ledgerQueries.holdings, payer)
  if (account === undefined) return []
  const sql = `${ledgerQueries.openHold} WHERE ledger_hold.payer = ? AND is_open = 1 AND until_ms <= ? LIMIT ?`
  return db.all<StoredHold>(sql, account.number, nowMs, limit).map(holdOf)
}

export function readEntries(
  db: Database,
  query: {
    aid: string
    before: number | undefined
    sinceMs: number
    limit: number
    reason?: TransferReason | undefined
  },
): LedgerEntry[] {
  const account = db.one<{ number: number }>(ledgerQueries.holdings, query.aid)
  if (account === undefined) return []
  const rows = db.all<StoredEntry>(
    ledgerQueries.entries,
    account.number,
    query.before ?? Number.MAX_SAFE_INTEGER,
    query.sinceMs,
    query.reason ?? null,
    query.limit,
  )
  return rows.map(entryOf)
}

export function readRedemptions(
  db: Database,
  { sinceMs, before, limit }: { sinceMs: number; before: number | undefined; limit: number },
): RedemptionRow[] {
  return db
    .all<StoredRedemption>(ledgerQueries.redemptions, before ?? Number.MAX_SAFE_INTEGER, sinceMs, limit)
    .map(redemptionOf)
}

export function readOldestEntry(db: Database, aid: string, sinceMs: number): number | undefined {
  const account = db.one<{ number: number }>(ledgerQueries.holdings, aid)
  return account && db.one<{ seq: number }>(ledgerQueries.oldest, account.number, sinceMs)?.seq
}

export function readAccountTotals(db: Database, aid: string): { entries: number; sum: number } {
  const account = db.one<{ number: number }>(ledgerQueries.holdings, aid)
  const none = { entries: 0, sum: 0 }
  if (account === undefined) return none
  return db.one<{ entries: number; sum: number }>(ledgerQueries.accountTotals, account.number) ?? none
}

export function readSupplyHead(db: Database): SupplyHead | undefined {
  return db.one<{ seq: number; id: Uint8Array }>(ledgerQueries.supplyHead)
}

export function readSupplyRecords(
  db: Database,
  from: number,
  limit: number,
): { seq: number; id: Uint8Array; record: Uint8Array }[] {
  const sql = 'SELECT seq, id, record FROM supply_record WHERE seq >= ? ORDER BY seq LIMIT ?'
  return db.all<{ seq: number; id: Uint8Array; record: Uint8Array }>(sql, from, limit)
}

export function readKeptEpoch(db: Database, day: number | undefined): KeptEpoch | undefined {
  const sql = 'SELECT day, seq, accounts FROM supply_epoch'
  return day === undefined
    ? db.one<KeptEpoch>(`${sql} ORDER BY day DESC LIMIT 1`)
    : db.one<KeptEpoch>(`${sql} WHERE day = ?`, day)
}

export function readProofPiece(
  db: Database,
  { day, level, piece }: Omit<ProofPiece, 'bytes'>,
): Uint8Array | undefined {
  const sql = 'SELECT bytes FROM supply_piece WHERE day = ? AND level = ? AND piece = ?'
  return db.one<{ bytes: Uint8Array }>(sql, day, level, piece)?.bytes
}

export function readWithoutTrial(
  db: Database,
  { afterAid, nowMs, limit }: { afterAid: string; nowMs: number; limit: number },
): string[] {
  const rows = db.all<{ aid: string }>(
    'SELECT aid FROM agent LEFT JOIN ledger_account AS l ON l.kind = ?1 AND l.name = aid' +
      ' WHERE aid > ?2 AND registered = 1 AND probation_until_ms <= ?3 AND coalesce(l.trial, 0) = 0 ORDER BY aid LIMIT ?4',
    'agent',
    afterAid,
    nowMs,
    limit,
  )
  return rows.map(row => row.aid)
}

export function readTotals(db: Database): Totals {
  const row = db.one<StoredTotals>(
    'SELECT agents, holds, issued, retired, owed_by_peers, due_to_peers FROM ledger_totals',
  )
  if (row === undefined) throw new Error('the ledger has no totals')
  return totalsOf(row)
}

/** What the accounts sum up to; undefined where one is not what its own entries sum up to. */
export function readRecount(db: Database): Totals | undefined {
  const unequal = db.one(
    'SELECT 1 FROM ledger_account LEFT JOIN (SELECT account, sum(delta) AS sum FROM ledger_entry GROUP BY account) ON account = number' +
      ' WHERE balance <> coalesce(sum, 0) LIMIT 1',
  )
  const row = db.one<StoredTotals>(
    "SELECT coalesce(sum(CASE kind WHEN 'agent' THEN balance END), 0) AS agents," +
      " coalesce(sum(CASE kind WHEN 'held' THEN balance END), 0) AS holds," +
      " -coalesce(sum(CASE kind WHEN 'issue' THEN balance END), 0) AS issued," +
      " coalesce(sum(CASE kind WHEN 'retired' THEN balance END), 0) AS retired," +
      " -coalesce(sum(CASE WHEN kind = 'peer' AND balance < 0 THEN balance END), 0) AS owed_by_peers," +
      " coalesce(sum(CASE WHEN kind = 'peer' AND balance > 0 THEN balance END), 0) AS due_to_peers FROM ledger_account",
  )
  return row === undefined || unequal !== undefined ? undefined : totalsOf(row)
}

/** What each agent is owed: its balance and the holds that it made. */
function readOwed(db: Database): { aid: string; amount: number }[] {
  return db.all<{ aid: string; amount: number }>(
    'SELECT a.name AS aid, a.balance + coalesce(h.held, 0) AS amount FROM ledger_account AS a LEFT JOIN' +
      ' (SELECT payer, sum(balance) AS held FROM ledger_hold JOIN ledger_account ON number = account WHERE is_open = 1 GROUP BY payer) AS h' +
      " ON h.payer = a.number WHERE a.kind = 'agent' AND a.balance + coalesce(h.held, 0) > 0 ORDER BY a.name",
  )
}

export function readLedgerHw(db: Database): number {
  return db.one<{ seq: number }>('SELECT coalesce(max(seq), 0) AS seq FROM ledger_transfer')?.seq ?? 0
}

/** Totals, recount and heads of one moment, and what each agent is owed in it. */
export function readSnapshot(db: Database): LedgerSnapshot {
  db.exec('BEGIN')
  try {
    return {
      totals: readTotals(db),
      recount: readRecount(db),
      ledgerHw: readLedgerHw(db),
      head: readSupplyHead(db),
      owed: readOwed(db),
    }
  } finally {
    db.exec('COMMIT')
  }
}
