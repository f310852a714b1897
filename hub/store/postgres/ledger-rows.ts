/** The rows of the ledger: whatever changes one of their tables stands here. */
import type { AccountName, PostedTransfer, Posting, Totals } from '../ledger-port.ts'
import type { Change, NewHold } from '../posting.ts'
import type { Queries } from './connections.ts'

const statements = {
  order: 'LOCK TABLE ledger_order IN ROW EXCLUSIVE MODE',
  numbers:
    "SELECT nextval(pg_get_serial_sequence('ledger_transfer', 'seq')) AS seq FROM generate_series(1, $1)",
  accounts:
    'INSERT INTO ledger_account (kind, name) SELECT * FROM unnest($1::text[], $2::text[]) RETURNING number, kind, name',
  balances:
    'UPDATE ledger_account SET balance = now.balance, trial = ledger_account.trial OR now.trial' +
    ' FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS now (number, balance, trial)' +
    ' WHERE ledger_account.number = now.number',
  transfers:
    'INSERT INTO ledger_transfer (seq, id, reason, at_ms, amount, about, receipt, "authorization", reference)' +
    ' SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[],' +
    ' $7::bytea[], $8::bytea[], $9::text[])',
  entries:
    'INSERT INTO ledger_entry (account, transfer, delta, other)' +
    ' SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])',
  ended: 'UPDATE ledger_hold SET is_open = false WHERE account = ANY($1::bigint[])',
  opened:
    'INSERT INTO ledger_hold (account, payer, payee, until_ms, peer)' +
    ' SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])',
  totals:
    'INSERT INTO ledger_totals (one, agents, holds, issued, retired, owed_by_peers, due_to_peers)' +
    ' VALUES (1, $1, $2, $3, $4, $5, $6) ON CONFLICT (one) DO UPDATE SET agents = excluded.agents,' +
    ' holds = excluded.holds, issued = excluded.issued, retired = excluded.retired,' +
    ' owed_by_peers = excluded.owed_by_peers, due_to_peers = excluded.due_to_peers',
} as const

/** As far as a group of transfers knows it; `number` is 0 until it has a row. */
export type Account = {
  number: number
  readonly kind: AccountName['kind']
  readonly name: string
  balance: number
  /** Whether it is that of a hold which has not ended. */
  isOpen: boolean
}
export type Posted = {
  posting: Posting
  changes: readonly Change<Account>[]
  /** Both have their number once it is stored. */
  transfer: PostedTransfer
  result: { outcome: 'posted'; seq: number }
}
/** What a group of transfers has changed, in its order. */
export type PostedGroup = {
  readonly posted: readonly Posted[]
  /** The totals, where they changed. */
  readonly changedTotals: Totals | undefined
  readonly opened: readonly NewHold[]
  readonly ended: readonly AccountName[]
  /** Who had trial credits. */
  readonly trials: ReadonlySet<Account>
  accountOf(name: AccountName): Account
}

/** Writes what a group has posted, by one statement a table, and numbers it. */
export async function storePosted(db: Queries, group: PostedGroup): Promise<void> {
  await db.run(statements.order)
  await number(db, group.posted)
  await addAccounts(db, group)
  await changeAccounts(db, group)
  await addTransfers(db, group.posted)
  await addEntries(db, group)
  // one may be opened and ended in the same group
  await openHolds(db, group)
  await endHolds(db, group)
  if (group.changedTotals !== undefined) await writeTotals(db, group.changedTotals)
}

async function number(db: Queries, posted: readonly Posted[]): Promise<void> {
  const rows = await db.all<{ seq: number }>(statements.numbers, posted.length)
  const numbers = rows.map(({ seq }) => seq).sort((a, b) => a - b)
  for (const [at, { transfer, result }] of posted.entries()) {
    transfer.seq = numbers[at] as number
    result.seq = transfer.seq
  }
}

/** Accounts without a row that anything of the group names. */
async function addAccounts(db: Queries, group: PostedGroup): Promise<void> {
  const named = [
    ...group.posted.flatMap(({ changes }) => changes.flatMap(({ name, other }) => [name, other])),
    ...group.opened.flatMap(({ account, payer, payee, peer }) => [
      account,
      payer,
      payee,
      ...(peer ? [peer] : []),
    ]),
  ]
  const added = [...new Set(named.map(name => group.accountOf(name)))].filter(one => one.number === 0)
  if (added.length === 0) return
  const rows = await db.all<AccountName & { number: number }>(
    statements.accounts,
    added.map(({ kind }) => kind),
    added.map(({ name }) => name),
  )
  for (const row of rows) group.accountOf(row).number = row.number
}

async function changeAccounts(db: Queries, { posted, trials }: PostedGroup): Promise<void> {
  const changed = [...new Set(posted.flatMap(({ changes }) => changes.map(({ account }) => account)))]
  await db.run(
    statements.balances,
    changed.map(one => one.number),
    changed.map(one => one.balance),
    changed.map(one => trials.has(one)),
  )
}

async function addTransfers(db: Queries, posted: readonly Posted[]): Promise<void> {
  const each = <T>(read: (posting: Posting) => T): T[] => posted.map(({ posting }) => read(posting))
  await db.run(
    statements.transfers,
    posted.map(({ transfer }) => transfer.seq),
    each(({ id }) => id),
    each(({ reason }) => reason),
    each(({ atMs }) => atMs),
    each(({ amount }) => amount),
    each(({ about }) => about ?? null),
    each(({ receipt }) => receipt ?? null),
    each(({ authorization }) => authorization ?? null),
    each(({ reference }) => reference ?? null),
  )
}

async function addEntries(db: Queries, group: PostedGroup): Promise<void> {
  const entries = group.posted.flatMap(({ transfer: { seq }, changes }) =>
    changes.map(change => ({ seq, ...change })),
  )
  await db.run(
    statements.entries,
    entries.map(({ account }) => account.number),
    entries.map(({ seq }) => seq),
    entries.map(({ delta }) => delta),
    entries.map(({ other }) => group.accountOf(other).number),
  )
}

async function endHolds(db: Queries, { ended, accountOf }: PostedGroup): Promise<void> {
  const numbers = ended.map(name => accountOf(name).number)
  if (numbers.length > 0) await db.run(statements.ended, numbers)
}

async function openHolds(db: Queries, { opened, accountOf }: PostedGroup): Promise<void> {
  if (opened.length === 0) return
  await db.run(
    statements.opened,
    opened.map(({ account }) => accountOf(account).number),
    opened.map(({ payer }) => accountOf(payer).number),
    opened.map(({ payee }) => accountOf(payee).number),
    opened.map(({ untilMs }) => untilMs),
    opened.map(({ peer }) => (peer === undefined ? null : accountOf(peer).number)),
  )
}

async function writeTotals(db: Queries, totals: Totals): Promise<void> {
  const { agents, holds, issued, retired, owedByPeers, dueToPeers } = totals
  await db.run(statements.totals, agents, holds, issued, retired, owedByPeers, dueToPeers)
}
