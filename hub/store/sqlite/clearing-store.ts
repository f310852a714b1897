/** Clearing with peers, in the database. Changes run inside a transaction. */
import type { ClearingState, ClearingStore, PeerFigures } from '../clearing-port.ts'
import { clearingOf, type StoredClearing, type StoredPeerTransfer, transfersOf } from '../clearing-rows.ts'
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

export const readClearing = (db: Database, peer: string): ClearingState =>
  clearingOf(peer, db.one<StoredClearing>(clearingQueries.state, peer))

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
      const [sql, from] =
        'after' in query
          ? [clearingQueries.transfersAfter, query.after]
          : [clearingQueries.transfersBefore, query.before]
      return transfersOf(reader.all<StoredPeerTransfer>(sql, peer, from, limit), limit)
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
