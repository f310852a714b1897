/** Clearing with peers, in the database. Changes run inside a transaction. */
import type { ClearingState, ClearingStore, PeerFigures, PeerTransfer } from '../clearing-port.ts'
import type { Posting, PostResult } from '../ledger-port.ts'
import type { Database } from './database.ts'
import { post } from './ledger-writes.ts'
import type { WriterClient } from './writer-client.ts'

const TRANSFERS =
  'SELECT e.transfer AS seq, t.at_ms, e.delta, length(t.id) AS id_bytes, t.reason, t.receipt, p.peer_receipt, p.peer_end_receipt' +
  ' FROM ledger_entry AS e JOIN ledger_transfer AS t ON t.seq = e.transfer' +
  // a hold ends under an id of its own
  ' LEFT JOIN ledger_peer_payment AS p ON p.id = CASE length(t.id) WHEN 36 THEN t.id ELSE t.about END' +
  " WHERE e.account = (SELECT number FROM ledger_account WHERE kind = 'peer' AND name = ?1)"

export const clearingQueries = {
  state:
    'SELECT agreed_seq, agreed_ms, at_ms, due, owed, rounds, accepted, stopped_ms, day, published, claim FROM ledger_clearing WHERE peer = ?',
  figures:
    'SELECT balance, (SELECT max(transfer) FROM ledger_entry WHERE account = number) AS seq FROM ledger_account' +
    " WHERE kind = 'peer' AND name = ?",
  waiting:
    'SELECT coalesce(sum(amount), 0) AS sum FROM ledger_peer_payment' +
    " WHERE peer = ? AND state <> 'ended' AND (state = 'asked' OR hold_order IS NOT NULL)",
  transfersAfter: `${TRANSFERS} AND e.transfer > ?2 ORDER BY e.transfer LIMIT ?3`,
  transfersBefore: `${TRANSFERS} AND e.transfer < ?2 ORDER BY e.transfer DESC LIMIT ?3`,
  statements:
    "SELECT receipt FROM ledger_transfer WHERE reference = ? AND reason = 'cleared' AND receipt IS NOT NULL",
  statementsAfter:
    "SELECT receipt FROM ledger_transfer WHERE reason = 'cleared' AND seq > ? AND receipt IS NOT NULL ORDER BY seq",
  moves:
    'SELECT e.transfer AS seq, e.delta, t.at_ms FROM ledger_entry AS e JOIN ledger_transfer AS t ON t.seq = e.transfer' +
    " WHERE e.account = (SELECT number FROM ledger_account WHERE kind = 'peer' AND name = ?1)" +
    ' AND e.transfer < ?2 ORDER BY e.transfer DESC LIMIT ?3',
} as const

const MOVES_AT_ONCE = 1000
const TRANSACTION_BYTES = 36

type StateRow = {
  agreed_seq: number
  agreed_ms: number | null
  at_ms: number | null
  due: number
  owed: number
  rounds: number
  accepted: number
  stopped_ms: number | null
  day: number | null
  published: number | null
  claim: number | null
}

export function readClearing(db: Database, peer: string): ClearingState {
  const row = db.one<StateRow>(clearingQueries.state, peer)
  const { day = null, published, claim } = row ?? {}
  return {
    peer,
    agreedSeq: row?.agreed_seq ?? 0,
    agreedMs: row?.agreed_ms ?? undefined,
    atMs: row?.at_ms ?? undefined,
    due: row?.due ?? 0,
    owed: row?.owed ?? 0,
    rounds: row?.rounds ?? 0,
    accepted: row?.accepted ?? 0,
    stoppedMs: row?.stopped_ms ?? undefined,
    epoch: day === null ? undefined : { day, published: published ?? 0, claim: claim ?? 0 },
  }
}

export function putClearing(db: Database, state: ClearingState): true {
  db.run(
    'INSERT OR REPLACE INTO ledger_clearing (peer, agreed_seq, agreed_ms, at_ms, due, owed, rounds, accepted, stopped_ms, day, published, claim)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    state.peer,
    state.agreedSeq,
    state.agreedMs ?? null,
    state.atMs ?? null,
    state.due,
    state.owed,
    state.rounds,
    state.accepted,
    state.stoppedMs ?? null,
    state.epoch?.day ?? null,
    state.epoch?.published ?? null,
    state.epoch?.claim ?? null,
  )
  return true
}

function readFigures(db: Database, peer: string): PeerFigures {
  const row = db.one<{ balance: number; seq: number | null }>(clearingQueries.figures, peer)
  const waiting = db.one<{ sum: number }>(clearingQueries.waiting, peer)?.sum ?? 0
  return { due: row?.balance ?? 0, seq: row?.seq ?? 0, waiting }
}

type TransferRow = {
  seq: number
  at_ms: number
  delta: number
  id_bytes: number
  reason: string
  receipt: Uint8Array | null
  peer_receipt: Uint8Array | null
  peer_end_receipt: Uint8Array | null
}

/** What the hub of the payer signed: this one, where it owes more since. */
function signedOf(row: TransferRow): Uint8Array | null {
  if (row.reason === 'cleared' || row.delta > 0) return row.receipt
  return row.id_bytes === TRANSACTION_BYTES ? row.peer_receipt : row.peer_end_receipt
}

function transferOf(row: TransferRow): PeerTransfer[] {
  const bytes = signedOf(row)
  if (bytes === null) return []
  const kind = row.reason === 'cleared' ? 'statement' : 'receipt'
  return [{ seq: row.seq, atMs: row.at_ms, kind, bytes }]
}

/** Goes back from what it owes now. */
function readLeastClaim(db: Database, peer: string, sinceMs: number): number {
  let claim = 0 - readFigures(db, peer).due
  let least = claim
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = db.all<{ delta: number; at_ms: number; seq: number }>(
      clearingQueries.moves,
      peer,
      before,
      MOVES_AT_ONCE,
    )
    for (const { delta, at_ms } of rows) {
      if (at_ms < sinceMs) return least
      claim += delta
      least = Math.min(least, claim)
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < MOVES_AT_ONCE) return least
    before = last.seq
  }
}

export function postTogether(db: Database, postings: readonly Posting[]): PostResult['outcome'] {
  for (const [at, posting] of postings.entries()) {
    const { outcome } = post(db, posting)
    if (outcome === 'posted') continue
    // what was posted before it is taken back with the whole change
    if (at > 0) throw new Error(`a transfer that goes with another is not posted: ${outcome}`)
    return outcome
  }
  return 'posted'
}

export function clearingOver(reader: Database, writer: WriterClient): ClearingStore {
  return {
    clearing: async peer => readClearing(reader, peer),
    async putClearing(state) {
      await writer.write('putClearing', state)
    },
    peerFigures: async peer => readFigures(reader, peer),
    async peerTransfers(query) {
      const { peer, limit } = query
      const rows =
        'after' in query
          ? reader.all<TransferRow>(clearingQueries.transfersAfter, peer, query.after, limit)
          : reader.all<TransferRow>(clearingQueries.transfersBefore, peer, query.before, limit)
      return {
        transfers: rows.flatMap(transferOf),
        next: rows.length < limit ? undefined : rows.at(-1)?.seq,
      }
    },
    clearedAfter: async seq =>
      reader.all<{ receipt: Uint8Array }>(clearingQueries.statementsAfter, seq).map(({ receipt }) => receipt),
    clearedUnder: async reference =>
      reader
        .all<{ receipt: Uint8Array }>(clearingQueries.statements, reference)
        .map(({ receipt }) => receipt),
    leastClaim: async (peer, sinceMs) => readLeastClaim(reader, peer, sinceMs),
    postTogether: given => writer.write('postTogether', given),
  }
}
