/** Clearing with peers, in PostgreSQL; each answer is of one moment. */
import type { ClearingState, ClearingStore, PeerFigures } from '../clearing-port.ts'
import { clearingOf, type StoredClearing, type StoredPeerTransfer, transfersOf } from '../clearing-rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import type { Writer } from './writes.ts'

const ACCOUNT = "(SELECT number FROM ledger_account WHERE kind = 'peer' AND name = $1)"
const TRANSFERS =
  'SELECT e.transfer AS seq, t.at_ms, e.delta, length(t.id) AS id_bytes, t.reason, t.receipt,' +
  ' p.peer_receipt, p.peer_end_receipt FROM ledger_entry AS e JOIN ledger_transfer AS t ON t.seq = e.transfer' +
  // a hold ends under an id of its own
  ' LEFT JOIN ledger_peer_payment AS p ON p.id = CASE length(t.id) WHEN 36 THEN t.id ELSE t.about END' +
  ` WHERE e.account = ${ACCOUNT}`
const CLEARED = "SELECT receipt FROM ledger_transfer WHERE reason = 'cleared' AND receipt IS NOT NULL"

export const clearingQueries = {
  state:
    'SELECT agreed_seq, agreed_ms, at_ms, due, owed, rounds, accepted, stopped_ms, day, published, claim' +
    ' FROM ledger_clearing WHERE peer = $1',
  figures:
    'SELECT coalesce(sum(balance), 0)::bigint AS due,' +
    ` coalesce((SELECT max(transfer) FROM ledger_entry WHERE account = ${ACCOUNT}), 0) AS seq,` +
    ' (SELECT coalesce(sum(amount), 0)::bigint FROM ledger_peer_payment WHERE peer = $1' +
    " AND state <> 'ended' AND (state = 'asked' OR hold_order IS NOT NULL)) AS waiting" +
    " FROM ledger_account WHERE kind = 'peer' AND name = $1",
  transfersAfter: `${TRANSFERS} AND e.transfer > $2 ORDER BY e.transfer LIMIT $3`,
  transfersBefore: `${TRANSFERS} AND e.transfer < $2 ORDER BY e.transfer DESC LIMIT $3`,
  statements: `${CLEARED} AND reference = $1 ORDER BY seq`,
  statementsAfter: `${CLEARED} AND seq > $1 ORDER BY seq`,
  /** Goes back from what the peer owes now to the last move before that time. */
  least:
    'SELECT (-balance + least(0, (SELECT min(back) FROM (SELECT sum(delta) OVER (ORDER BY transfer DESC) AS back' +
    ' FROM ledger_entry WHERE account = number AND transfer > coalesce((SELECT e.transfer FROM ledger_entry AS e' +
    ' JOIN ledger_transfer AS t ON t.seq = e.transfer WHERE e.account = number AND t.at_ms < $2' +
    ' ORDER BY e.transfer DESC LIMIT 1), 0)) AS moves)))::bigint AS claim' +
    " FROM ledger_account WHERE kind = 'peer' AND name = $1",
} as const

export const putClearing: Write<ClearingState, void> = {
  locks: () => ({}),
  async make(db, state) {
    const { peer, agreedSeq, agreedMs, atMs, due, owed, rounds, accepted, stoppedMs, epoch } = state
    await db.run(
      'INSERT INTO ledger_clearing (peer, agreed_seq, agreed_ms, at_ms, due, owed, rounds, accepted, stopped_ms,' +
        ' day, published, claim) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)' +
        ' ON CONFLICT (peer) DO UPDATE SET agreed_seq = excluded.agreed_seq, agreed_ms = excluded.agreed_ms,' +
        ' at_ms = excluded.at_ms, due = excluded.due, owed = excluded.owed, rounds = excluded.rounds,' +
        ' accepted = excluded.accepted, stopped_ms = excluded.stopped_ms, day = excluded.day,' +
        ' published = excluded.published, claim = excluded.claim',
      ...[peer, agreedSeq, agreedMs ?? null, atMs ?? null, due, owed, rounds, accepted, stoppedMs ?? null],
      ...[epoch?.day ?? null, epoch?.published ?? null, epoch?.claim ?? null],
    )
  },
}

const receiptsOf = (rows: readonly { receipt: Uint8Array }[]): Uint8Array[] =>
  rows.map(({ receipt }) => receipt)

export const readClearing = async (reader: Queries, peer: string): Promise<ClearingState> =>
  clearingOf(peer, await reader.one<StoredClearing>(clearingQueries.state, peer))

export const clearingOver = (reader: Queries, writer: Writer): ClearingStore => ({
  clearing: peer => readClearing(reader, peer),
  putClearing: state => writer.write('putClearing', state),
  async peerFigures(peer) {
    const figures = await reader.one<PeerFigures>(clearingQueries.figures, peer)
    return figures ?? { due: 0, seq: 0, waiting: 0 }
  },
  async peerTransfers(query) {
    const { peer, limit } = query
    const [sql, from] =
      'after' in query
        ? [clearingQueries.transfersAfter, query.after]
        : [clearingQueries.transfersBefore, query.before]
    return transfersOf(await reader.all<StoredPeerTransfer>(sql, peer, from, limit), limit)
  },
  clearedAfter: async seq => receiptsOf(await reader.all(clearingQueries.statementsAfter, seq)),
  clearedUnder: async reference => receiptsOf(await reader.all(clearingQueries.statements, reference)),
  leastClaim: async (peer, sinceMs) =>
    (await reader.one<{ claim: number }>(clearingQueries.least, peer, sinceMs))?.claim ?? 0,
  postTogether: postings => writer.write('postTogether', postings),
})
