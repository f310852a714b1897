/** The ledger's changes: a transfer is judged whole before its first row is written. They run inside a transaction. */

import { totalsAgree } from '../books.ts'
import type {
  AccountName,
  KeptEpoch,
  Move,
  NewSupplyRecord,
  Posting,
  PostResult,
  ProofPiece,
  ReturnedSupply,
  Totals,
} from '../ledger-port.ts'
import { versionOf } from './agent-writes.ts'
import type { Database } from './database.ts'
import { readSupplyHead, readTotals, readTransfer } from './ledger-reads.ts'
import { keepVoucher } from './voucher-store.ts'

const CREDITS_MAX = Number.MAX_SAFE_INTEGER

type Account = { number: number; kind: AccountName['kind']; balance: number }
type Change = { account: Account; name: AccountName; delta: number; other: AccountName }
type Refused = Exclude<PostResult['outcome'], 'posted' | 'held'>

/** Posts a transfer once; every later one with its id gets the first. */
export function post(db: Database, posting: Posting): PostResult {
  const transfer = readTransfer(db, posting.id)
  if (transfer !== undefined) return { outcome: 'held', transfer }
  const changes = changesOf(db, posting)
  const totals = readTotals(db)
  const next = nextTotals(totals, changes)
  const refused = refusal(db, posting, changes, next)
  if (refused !== undefined) return { outcome: refused }
  const seq = insertTransfer(db, posting)
  const numbers = changes.map(change => applyChange(db, change))
  for (const [at, change] of changes.entries()) insertEntry(db, seq, change, numbers[at] ?? 0)
  writeTotals(db, next)
  endOrOpenHold(db, posting)
  if (posting.trials !== undefined) markTrial(db, posting)
  if (posting.supply !== undefined) insertRecord(db, posting.supply)
  if (posting.voucher !== undefined) keepVoucher(db, seq, posting.voucher)
  return { outcome: 'posted', seq }
}

/** One change for each account, however many moves touch it. */
function changesOf(db: Database, { moves, parties }: Posting): Change[] {
  const changes: Change[] = []
  const add = (name: AccountName, delta: number, other: AccountName): void => {
    const held = changes.find(change => sameName(change.name, name))
    if (held !== undefined) held.delta += delta
    else changes.push({ account: accountOf(db, name), name, delta, other: otherOf(name, other, parties) })
  }
  for (const { from, to, amount } of moves) {
    add(from, -amount, to)
    add(to, amount, from)
  }
  return changes
}

const sameName = (a: AccountName, b: AccountName): boolean => a.kind === b.kind && a.name === b.name

/** Whom the owner of an account sees on the other side. */
function otherOf(name: AccountName, other: AccountName, parties: Posting['parties']): AccountName {
  if (parties === undefined || name.kind === 'held') return other
  return sameName(name, parties.payer) ? parties.payee : parties.payer
}

function accountOf(db: Database, { kind, name }: AccountName): Account {
  const row = db.one<{ number: number; balance: number }>(
    'SELECT number, balance FROM ledger_account WHERE kind = ? AND name = ?',
    kind,
    name,
  )
  return { kind, number: row?.number ?? 0, balance: row?.balance ?? 0 }
}

function nextTotals(totals: Totals, changes: readonly Change[]): Totals {
  const next = { ...totals }
  for (const { account, delta } of changes) {
    const { kind, balance } = account
    if (kind === 'agent') next.agents += delta
    else if (kind === 'held') next.holds += delta
    else if (kind === 'issue') next.issued -= delta
    else if (kind === 'retired') next.retired += delta
    else {
      next.dueToPeers += Math.max(0, balance + delta) - Math.max(0, balance)
      next.owedByPeers += Math.max(0, -(balance + delta)) - Math.max(0, -balance)
    }
  }
  return next
}

function refusal(
  db: Database,
  posting: Posting,
  changes: readonly Change[],
  next: Totals,
): Refused | undefined {
  if (posting.judgedBy?.some(row => versionOf(db, row.aid) !== row.version)) return 'moved'
  if (posting.supply !== undefined && !goesOn(db, posting.supply)) return 'headMoved'
  if (endsHold(posting) && !isOpenHold(db, posting.moves)) return 'noHold'
  const short = changes.some(
    ({ account: { kind, balance }, delta }) => kind !== 'issue' && kind !== 'peer' && balance + delta < 0,
  )
  if (short) return 'insufficient'
  const sums = [...Object.values(next), ...changes.map(({ account, delta }) => account.balance + delta)]
  if (sums.some(sum => Math.abs(sum) > CREDITS_MAX)) return 'overflow'
  if (!totalsAgree(next)) return 'stopped'
  if (posting.refundsMax !== undefined && refundedOf(db, posting) + posting.amount > posting.refundsMax)
    return 'refundedOver'
  const { trials } = posting
  if (trials !== undefined && trialsSince(db, trials.sinceMs) + posting.amount > trials.max)
    return 'trialsOver'
  return undefined
}

const endsHold = ({ reason }: Posting): boolean => reason === 'capture' || reason === 'return'

function isOpenHold(db: Database, [first]: Move[]): boolean {
  if (first === undefined) return false
  const row = db.one(
    'SELECT 1 FROM ledger_hold JOIN ledger_account ON number = account WHERE kind = ? AND name = ? AND is_open = 1',
    first.from.kind,
    first.from.name,
  )
  return row !== undefined
}

function refundedOf(db: Database, { about }: Posting): number {
  const sql =
    "SELECT coalesce(sum(amount), 0) AS sum FROM ledger_transfer WHERE about = ? AND reason = 'refund'"
  return db.one<{ sum: number }>(sql, about ?? null)?.sum ?? 0
}

function trialsSince(db: Database, sinceMs: number): number {
  const sql =
    "SELECT coalesce(sum(amount), 0) AS sum FROM ledger_transfer WHERE reason = 'trial' AND at_ms >= ?"
  return db.one<{ sum: number }>(sql, sinceMs)?.sum ?? 0
}

function insertTransfer(db: Database, posting: Posting): number {
  const { id, reason, atMs, amount, about, receipt, authorization, reference } = posting
  db.run(
    'INSERT INTO ledger_transfer (id, reason, at_ms, amount, about, receipt, authorization, reference) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    id,
    reason,
    atMs,
    amount,
    about ?? null,
    receipt ?? null,
    authorization ?? null,
    reference ?? null,
  )
  return db.one<{ seq: number }>('SELECT last_insert_rowid() AS seq')?.seq ?? 0
}

/** The number of the account, which the first change of it makes. */
function applyChange(db: Database, { account, name, delta }: Change): number {
  if (account.number === 0) return insertAccount(db, name, delta)
  db.run('UPDATE ledger_account SET balance = balance + ? WHERE number = ?', delta, account.number)
  return account.number
}

function insertAccount(db: Database, { kind, name }: AccountName, balance: number): number {
  db.run('INSERT INTO ledger_account (kind, name, balance) VALUES (?, ?, ?)', kind, name, balance)
  return db.one<{ number: number }>('SELECT last_insert_rowid() AS number')?.number ?? 0
}

function insertEntry(db: Database, seq: number, { delta, other }: Change, account: number): void {
  const known = numberOf(db, other)
  db.run(
    'INSERT INTO ledger_entry (account, transfer, delta, other) VALUES (?, ?, ?, ?)',
    account,
    seq,
    delta,
    known,
  )
}

/** The number of an account, which is made where it is new. */
function numberOf(db: Database, name: AccountName): number {
  const { number } = accountOf(db, name)
  return number === 0 ? insertAccount(db, name, 0) : number
}

function writeTotals(db: Database, totals: Totals): void {
  const { agents, holds, issued, retired, owedByPeers, dueToPeers } = totals
  db.run(
    'UPDATE ledger_totals SET agents = ?, holds = ?, issued = ?, retired = ?, owed_by_peers = ?, due_to_peers = ?',
    agents,
    holds,
    issued,
    retired,
    owedByPeers,
    dueToPeers,
  )
}

function endOrOpenHold(db: Database, posting: Posting): void {
  const { moves, parties, holdUntilMs, holdPeer } = posting
  const [first] = moves
  if (first === undefined) return
  if (endsHold(posting))
    db.run('UPDATE ledger_hold SET is_open = 0 WHERE account = ?', accountOf(db, first.from).number)
  if (holdUntilMs === undefined || parties === undefined) return
  db.run(
    'INSERT INTO ledger_hold (account, payer, payee, until_ms, peer) VALUES (?, ?, ?, ?, ?)',
    accountOf(db, first.to).number,
    accountOf(db, parties.payer).number,
    accountOf(db, parties.payee).number,
    holdUntilMs,
    holdPeer === undefined ? null : numberOf(db, holdPeer),
  )
}

function markTrial(db: Database, { moves }: Posting): void {
  const to = moves[0]?.to
  if (to !== undefined)
    db.run('UPDATE ledger_account SET trial = 1 WHERE kind = ? AND name = ?', to.kind, to.name)
}

function goesOn(db: Database, { seq, previous }: NewSupplyRecord): boolean {
  const head = readSupplyHead(db)
  if (head === undefined) return seq === 0
  return head.seq === seq - 1 && Buffer.compare(head.id, previous) === 0
}

function insertRecord(db: Database, { seq, id, record }: NewSupplyRecord): void {
  db.run('INSERT INTO supply_record (seq, id, record) VALUES (?, ?, ?)', seq, id, record)
}

/** Keeps a piece of an epoch that is to come; one that was interrupted is begun again. */
export function addProofPiece(db: Database, { day, level, piece, bytes }: ProofPiece): true {
  db.run(
    'INSERT OR REPLACE INTO supply_piece (day, level, piece, bytes) VALUES (?, ?, ?, ?)',
    day,
    level,
    piece,
    bytes,
  )
  return true
}

/** Adds an epoch if the chain has not gone on meanwhile. */
export function appendEpoch(
  db: Database,
  change: { record: NewSupplyRecord; epoch: Omit<KeptEpoch, 'seq'>; keptSinceDay: number },
): boolean {
  const { record, epoch, keptSinceDay } = change
  if (!goesOn(db, record)) return false
  insertRecord(db, record)
  keepEpochs(db, [{ ...epoch, seq: record.seq }], keptSinceDay)
  return true
}

function keepEpochs(db: Database, epochs: readonly KeptEpoch[], keptSinceDay: number): void {
  const sql = 'INSERT OR REPLACE INTO supply_epoch (day, seq, accounts) VALUES (?, ?, ?)'
  for (const { day, seq, accounts } of epochs) db.run(sql, day, seq, accounts)
  db.run('DELETE FROM supply_epoch WHERE day < ?', keptSinceDay)
  db.run('DELETE FROM supply_piece WHERE day < ?', keptSinceDay)
}

/** Adds records that were here before, then the transfers that go with them; throws where one does not fit. */
export function returnSupply(db: Database, given: ReturnedSupply): true {
  const { records, epochs, keptSinceDay, postings } = given
  for (const record of records) {
    if (!goesOn(db, record)) throw new Error(`record ${record.seq} does not go on from the supply chain`)
    insertRecord(db, record)
  }
  if (epochs.length > 0) keepEpochs(db, epochs, keptSinceDay)
  for (const posting of postings) {
    const { outcome } = post(db, posting)
    if (outcome !== 'posted') throw new Error(`a transfer that comes back is not posted: ${outcome}`)
  }
  return true
}
