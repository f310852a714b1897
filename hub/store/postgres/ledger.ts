/** The ledger in PostgreSQL: what is read of it, each answer of one moment. */
import { booksAgree } from '../books.ts'
import type {
  Holdings,
  KeptEpoch,
  LedgerSnapshot,
  LedgerStore,
  OpenHold,
  ReturnedSupply,
  Totals,
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
  totalsOf,
} from '../ledger-rows.ts'
import type { Connections, Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { withSubjects } from './locks.ts'
import { PostingGroup, postingLocks, readTotals, readTransfer } from './posting.ts'
import { readHead, readRecords, returnRecords, SUPPLY_CHAIN, supplyQueries } from './supply-rows.ts'
import type { Writer } from './writes.ts'

const ACCOUNT = "(SELECT number FROM ledger_account WHERE kind = 'agent' AND name = $1)"
const HOLD =
  'SELECT held.name AS held, held.balance AS amount, payer.name AS payer, payee.name AS payee, until_ms,' +
  ' (SELECT name FROM ledger_account WHERE number = ledger_hold.peer) AS peer FROM ledger_hold' +
  ' JOIN ledger_account AS held ON held.number = ledger_hold.account' +
  ' JOIN ledger_account AS payer ON payer.number = ledger_hold.payer' +
  ' JOIN ledger_account AS payee ON payee.number = ledger_hold.payee'

export const ledgerQueries = {
  holdings:
    'SELECT own.balance, coalesce(sum(held.balance), 0)::bigint AS held,' +
    ' coalesce(sum(held.balance) FILTER (WHERE until_ms <= $2), 0)::bigint AS lapsed FROM ledger_account AS own' +
    ' LEFT JOIN ledger_hold ON payer = own.number AND is_open' +
    ' LEFT JOIN ledger_account AS held ON held.number = ledger_hold.account' +
    " WHERE own.kind = 'agent' AND own.name = $1 GROUP BY own.number",
  openHold: `${HOLD} WHERE held.kind = 'held' AND held.name = $1 AND is_open`,
  lapsed: `${HOLD} WHERE is_open AND until_ms <= $1 ORDER BY until_ms LIMIT $2`,
  lapsedOf: `${HOLD} WHERE ledger_hold.payer = ${ACCOUNT} AND is_open AND until_ms <= $2 ORDER BY until_ms LIMIT $3`,
  entries:
    'SELECT e.transfer AS seq, e.delta, t.reason, t.at_ms, t.id, t.about, o.kind, o.name FROM ledger_entry AS e' +
    ' JOIN ledger_transfer AS t ON t.seq = e.transfer JOIN ledger_account AS o ON o.number = e.other' +
    ` WHERE e.account = ${ACCOUNT} AND e.transfer < $2 AND t.at_ms >= $3 AND ($4::text IS NULL OR t.reason = $4)` +
    ' ORDER BY e.transfer DESC LIMIT $5',
  accountTotals: `SELECT count(*) AS entries, coalesce(sum(delta), 0)::bigint AS sum FROM ledger_entry WHERE account = ${ACCOUNT}`,
  oldest:
    'SELECT e.transfer AS seq FROM ledger_entry AS e JOIN ledger_transfer AS t ON t.seq = e.transfer' +
    ` WHERE e.account = ${ACCOUNT} AND t.at_ms >= $2 ORDER BY e.transfer LIMIT 1`,
  withoutTrial:
    "SELECT aid FROM agent LEFT JOIN ledger_account AS l ON l.kind = 'agent' AND l.name = aid WHERE aid > $1" +
    ' AND registered AND probation_until_ms <= $2 AND l.trial IS DISTINCT FROM true ORDER BY aid LIMIT $3',
  redemptions:
    'SELECT t.seq, t.at_ms, t.id, t.amount, t.reference, o.name AS aid FROM ledger_entry AS e' +
    ' JOIN ledger_transfer AS t ON t.seq = e.transfer JOIN ledger_account AS o ON o.number = e.other' +
    " WHERE e.account = (SELECT number FROM ledger_account WHERE kind = 'retired' AND name = '') AND o.kind = 'agent'" +
    ' AND e.transfer < $1 AND t.at_ms >= $2 ORDER BY e.transfer DESC LIMIT $3',
  last: 'SELECT coalesce(max(seq), 0) AS seq FROM ledger_transfer',
  unequal:
    'SELECT 1 FROM ledger_account LEFT JOIN' +
    ' (SELECT account, sum(delta) AS sum FROM ledger_entry GROUP BY account) AS entries ON account = number' +
    ' WHERE balance <> coalesce(sum, 0) LIMIT 1',
  recount:
    "SELECT coalesce(sum(balance) FILTER (WHERE kind = 'agent'), 0)::bigint AS agents," +
    " coalesce(sum(balance) FILTER (WHERE kind = 'held'), 0)::bigint AS holds," +
    " -coalesce(sum(balance) FILTER (WHERE kind = 'issue'), 0)::bigint AS issued," +
    " coalesce(sum(balance) FILTER (WHERE kind = 'retired'), 0)::bigint AS retired," +
    " -coalesce(sum(balance) FILTER (WHERE kind = 'peer' AND balance < 0), 0)::bigint AS owed_by_peers," +
    " coalesce(sum(balance) FILTER (WHERE kind = 'peer' AND balance > 0), 0)::bigint AS due_to_peers" +
    ' FROM ledger_account',
  owed:
    'SELECT a.name AS aid, (a.balance + coalesce(h.held, 0))::bigint AS amount FROM ledger_account AS a LEFT JOIN' +
    ' (SELECT payer, sum(balance) AS held FROM ledger_hold JOIN ledger_account ON number = account WHERE is_open GROUP BY payer) AS h' +
    " ON h.payer = a.number WHERE a.kind = 'agent' AND a.balance + coalesce(h.held, 0) > 0 ORDER BY a.name",
} as const

/**
 * What is read here is of one moment, and has every transfer before the last one in it: who posts meanwhile is waited for,
 * and goes on as soon as the moment stands.
 */
const momentOf = <T>(connections: Connections, read: (db: Queries) => Promise<T>): Promise<T> =>
  connections.transaction(
    async db => {
      await db.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      await db.run('SAVEPOINT moment')
      // this takes no snapshot yet; the first question does
      await db.run('LOCK TABLE ledger_order IN SHARE MODE')
      await db.one('SELECT 1')
      await db.run('ROLLBACK TO moment')
      return await read(db)
    },
    { reads: true },
  )

const readHw = async (db: Queries): Promise<number> =>
  (await db.one<{ seq: number }>(ledgerQueries.last))?.seq ?? 0

/** What the accounts sum up to; undefined where one is not what its own entries sum up to. */
async function readRecount(db: Queries): Promise<Totals | undefined> {
  if ((await db.one(ledgerQueries.unequal)) !== undefined) return undefined
  const row = await db.one<StoredTotals>(ledgerQueries.recount)
  return row && totalsOf(row)
}

const readSnapshot = (connections: Connections): Promise<LedgerSnapshot> =>
  momentOf(connections, async db => ({
    totals: await readTotals(db),
    recount: await readRecount(db),
    ledgerHw: await readHw(db),
    head: await readHead(db),
    owed: await db.all<{ aid: string; amount: number }>(ledgerQueries.owed),
  }))

async function readLapsed(
  db: Queries,
  { nowMs, limit, payer }: { nowMs: number; limit: number; payer: string | undefined },
): Promise<OpenHold[]> {
  const rows =
    payer === undefined
      ? await db.all<StoredHold>(ledgerQueries.lapsed, nowMs, limit)
      : await db.all<StoredHold>(ledgerQueries.lapsedOf, payer, nowMs, limit)
  return rows.map(holdOf)
}

/** Adds records that were here before, then the transfers that go with them; throws where one does not fit. */
export const returnSupply: Write<ReturnedSupply, void> = {
  locks: ({ postings }) => withSubjects(postingLocks(...postings), SUPPLY_CHAIN),
  async make(db, { postings, ...chain }) {
    await returnRecords(db, chain)
    if (postings.length === 0) return
    const group = await PostingGroup.read(db, postings)
    for (const posting of postings) {
      const { outcome } = group.post(posting)
      if (outcome !== 'posted') throw new Error(`a transfer that comes back is not posted: ${outcome}`)
    }
    await group.store(db)
  },
}

const LAST = Number.MAX_SAFE_INTEGER

type Entries = Pick<
  LedgerStore,
  'ledgerEntries' | 'accountTotals' | 'oldestEntry' | 'redemptions' | 'withoutTrial'
>

const entriesOver = (reader: Queries): Entries => ({
  async ledgerEntries({ aid, before = LAST, sinceMs, limit, reason = null }) {
    const rows = await reader.all<StoredEntry>(ledgerQueries.entries, aid, before, sinceMs, reason, limit)
    return rows.map(entryOf)
  },
  async accountTotals(aid) {
    const sums = await reader.one<{ entries: number; sum: number }>(ledgerQueries.accountTotals, aid)
    return sums ?? { entries: 0, sum: 0 }
  },
  oldestEntry: async (aid, sinceMs) =>
    (await reader.one<{ seq: number }>(ledgerQueries.oldest, aid, sinceMs))?.seq,
  async redemptions({ sinceMs, before = LAST, limit }) {
    const rows = await reader.all<StoredRedemption>(ledgerQueries.redemptions, before, sinceMs, limit)
    return rows.map(redemptionOf)
  },
  async withoutTrial({ afterAid, nowMs, limit }) {
    const rows = await reader.all<{ aid: string }>(ledgerQueries.withoutTrial, afterAid, nowMs, limit)
    return rows.map(({ aid }) => aid)
  },
})

type Supply = Pick<
  LedgerStore,
  | 'supplyHead'
  | 'supplyRecords'
  | 'addProofPiece'
  | 'appendEpoch'
  | 'returnSupply'
  | 'keptEpoch'
  | 'proofPiece'
>

const supplyOver = (reader: Queries, writer: Writer): Supply => ({
  supplyHead: () => readHead(reader),
  supplyRecords: (from, limit) => readRecords(reader, from, limit),
  addProofPiece: piece => writer.write('addProofPiece', piece),
  appendEpoch: (record, epoch, keptSinceDay) => writer.write('appendEpoch', { record, epoch, keptSinceDay }),
  returnSupply: given => writer.write('returnSupply', given),
  keptEpoch: day =>
    day === undefined
      ? reader.one<KeptEpoch>(supplyQueries.newestEpoch)
      : reader.one<KeptEpoch>(supplyQueries.epoch, day),
  proofPiece: async ({ day, level, piece }) =>
    (await reader.one<{ bytes: Uint8Array }>(supplyQueries.piece, day, level, piece))?.bytes,
})

export const ledgerOver = (connections: Connections, writer: Writer): LedgerStore => ({
  ...entriesOver(connections),
  ...supplyOver(connections, writer),
  post: posting => writer.write('post', posting),
  transfer: id => readTransfer(connections, id),
  async holdings(aid, nowMs) {
    const held = await connections.one<Holdings>(ledgerQueries.holdings, aid, nowMs)
    return held ?? { balance: 0, held: 0, lapsed: 0 }
  },
  async openHold(transaction) {
    const row = await connections.one<StoredHold>(ledgerQueries.openHold, holdName(transaction))
    return row && holdOf(row)
  },
  lapsedHolds: (nowMs, limit, payer) => readLapsed(connections, { nowMs, limit, payer }),
  ledgerHw: () => readHw(connections),
  creditTotals: () => readTotals(connections),
  snapshot: () => readSnapshot(connections),
  booksAgree: async () => booksAgree(await readSnapshot(connections)),
})
