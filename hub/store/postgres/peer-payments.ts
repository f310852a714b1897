/** Payments in the credits of peers, in PostgreSQL: one at a time with each peer, since all of them share what it may owe. */
import type { Posting, PostResult } from '../ledger-port.ts'
import type {
  AnsweredPeerPayment,
  AskedPayment,
  EndedPeerPayment,
  OpenPeerPayment,
  OpenResult,
  PeerPayment,
  PeerPaymentState,
  PeerPaymentStore,
  ShownPayment,
} from '../peer-payment-port.ts'
import {
  creditOf,
  opensOver,
  owesOver,
  paymentOf,
  type StoredCredit,
  type StoredPeerPayment,
} from '../peer-payment-rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { type Locks, withSubjects } from './locks.ts'
import { accountLock, postingLocks, postOne, readTransfer, transferLock } from './posting.ts'
import type { Writer } from './writes.ts'

const COLUMNS =
  'id, peer, payee, amount, "authorization", hold_s, state, receipt, peer_receipt, end_receipt, peer_end_receipt,' +
  ' hold_order, ask_at_ms'

export const peerPaymentQueries = {
  one: `SELECT ${COLUMNS} FROM ledger_peer_payment WHERE id = $1`,
  due: `SELECT ${COLUMNS} FROM ledger_peer_payment WHERE ask_at_ms <= $1 ORDER BY ask_at_ms LIMIT $2`,
  credit:
    'SELECT count(*) AS count, coalesce(sum(amount), 0)::bigint AS open,' +
    " coalesce((SELECT balance FROM ledger_account WHERE kind = 'peer' AND name = $1), 0) AS balance" +
    " FROM ledger_peer_payment WHERE peer = $1 AND state <> 'ended'",
} as const

const statements = {
  insert:
    'INSERT INTO ledger_peer_payment (id, peer, payee, amount, "authorization", hold_s, state, ask_at_ms)' +
    ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING',
  drop: "DELETE FROM ledger_peer_payment WHERE id = $1 AND state = 'asked'",
  answer:
    'UPDATE ledger_peer_payment SET state = $2, receipt = $3, peer_receipt = $4, ask_at_ms = $5' +
    " WHERE id = $1 AND state = 'asked'",
  order: "UPDATE ledger_peer_payment SET hold_order = $2, ask_at_ms = $3 WHERE id = $1 AND state = 'held'",
  paid:
    "UPDATE ledger_peer_payment SET state = 'ended', receipt = $2, peer_receipt = $3, ask_at_ms = NULL" +
    ' WHERE id = $1',
  end:
    "UPDATE ledger_peer_payment SET state = 'ended', end_receipt = $2, peer_end_receipt = $3, ask_at_ms = NULL" +
    ' WHERE id = $1',
  askAt: "UPDATE ledger_peer_payment SET ask_at_ms = $2 WHERE id = $1 AND state <> 'ended'",
} as const

async function readOne(db: Queries, transaction: Uint8Array): Promise<PeerPayment | undefined> {
  const row = await db.one<StoredPeerPayment>(peerPaymentQueries.one, transaction)
  return row && paymentOf(row)
}

const readCredit = async (db: Queries, peer: string): Promise<StoredCredit> =>
  (await db.one<StoredCredit>(peerPaymentQueries.credit, peer)) ?? { count: 0, open: 0, balance: 0 }

async function insert(
  db: Queries,
  { transaction, peer, payee, amount, authorization, holdSeconds }: AskedPayment,
  state: PeerPaymentState,
  askAtMs: number | undefined,
): Promise<void> {
  const given = [transaction, peer, payee, amount, authorization, holdSeconds ?? null] as const
  await db.run(statements.insert, ...given, state, askAtMs ?? null)
}

/** A payment, and what its peer may owe. */
const locksOf = ({ transaction, peer }: AskedPayment, posting?: Posting): Locks =>
  withSubjects(
    posting === undefined ? {} : postingLocks(posting),
    transferLock(transaction),
    accountLock({ kind: 'peer', name: peer }),
  )
const locksOne = ({ transaction }: { transaction: Uint8Array }): Locks => ({
  subjects: [transferLock(transaction)],
})

export const openPeerPayment: Write<OpenPeerPayment, OpenResult> = {
  locks: given => locksOf(given),
  async make(db, given) {
    const payment = await readOne(db, given.transaction)
    if (payment !== undefined) return { outcome: 'found', payment }
    if (opensOver(await readCredit(db, given.peer), given)) return { outcome: 'over' }
    await insert(db, given, 'asked', given.askAtMs)
    return { outcome: 'opened' }
  },
}

export const dropPeerPayment: Write<{ transaction: Uint8Array }, void> = {
  locks: locksOne,
  async make(db, { transaction }) {
    await db.run(statements.drop, transaction)
  },
}

/** Nothing is kept of it where nothing was posted. */
const posted = async (db: Queries, posting: Posting | undefined): Promise<PostResult['outcome']> =>
  posting === undefined ? 'posted' : (await postOne(db, posting)).outcome

export const answerPeerPayment: Write<AnsweredPeerPayment, PostResult['outcome']> = {
  locks: ({ asked, posting }) => locksOf(asked, posting),
  async make(db, { asked, receipt, peerReceipt, askAtMs, posting }) {
    const outcome = await posted(db, posting)
    if (outcome !== 'posted' && outcome !== 'held') return outcome
    await insert(db, asked, 'asked', undefined)
    await db.run(
      statements.answer,
      asked.transaction,
      posting === undefined ? 'held' : 'ended',
      (await readTransfer(db, asked.transaction))?.receipt ?? receipt,
      peerReceipt,
      askAtMs ?? null,
    )
    return outcome
  },
}

export const bookShown: Write<ShownPayment, PostResult['outcome'] | 'over'> = {
  locks: ({ asked, posting }) => locksOf(asked, posting),
  async make(db, { asked, isEnd, receipt, peerReceipt, posting, creditMax }) {
    if ((await readTransfer(db, posting.id)) !== undefined) return 'held'
    if (owesOver(await readCredit(db, asked.peer), { amount: asked.amount, creditMax })) return 'over'
    const { outcome } = await postOne(db, posting)
    if (outcome !== 'posted') return outcome
    await insert(db, asked, 'asked', undefined)
    await db.run(isEnd ? statements.end : statements.paid, asked.transaction, receipt, peerReceipt)
    return outcome
  },
}

type Order = { transaction: Uint8Array; order: Uint8Array; askAtMs: number }

export const orderPeerPayment: Write<Order, void> = {
  locks: locksOne,
  async make(db, { transaction, order, askAtMs }) {
    await db.run(statements.order, transaction, order, askAtMs)
  },
}

export const endPeerPayment: Write<EndedPeerPayment, PostResult['outcome']> = {
  locks: ({ transaction, posting }) =>
    withSubjects(posting === undefined ? {} : postingLocks(posting), transferLock(transaction)),
  async make(db, { transaction, receipt, peerReceipt, posting }) {
    if ((await readOne(db, transaction))?.state !== 'held') return 'held'
    const outcome = await posted(db, posting)
    if (outcome !== 'posted' && outcome !== 'held') return outcome
    await db.run(statements.end, transaction, receipt, peerReceipt)
    return outcome
  },
}

export const askPeerPaymentAt: Write<{ transaction: Uint8Array; askAtMs: number }, void> = {
  locks: locksOne,
  async make(db, { transaction, askAtMs }) {
    await db.run(statements.askAt, transaction, askAtMs)
  },
}

export const peerPaymentsOver = (reader: Queries, writer: Writer): PeerPaymentStore => ({
  peerPayment: transaction => readOne(reader, transaction),
  openPeerPayment: given => writer.write('openPeerPayment', given),
  dropPeerPayment: transaction => writer.write('dropPeerPayment', { transaction }),
  answerPeerPayment: given => writer.write('answerPeerPayment', given),
  orderPeerPayment: given => writer.write('orderPeerPayment', given),
  endPeerPayment: given => writer.write('endPeerPayment', given),
  bookShown: given => writer.write('bookShown', given),
  duePeerPayments: async (nowMs, limit) =>
    (await reader.all<StoredPeerPayment>(peerPaymentQueries.due, nowMs, limit)).map(paymentOf),
  askPeerPaymentAt: given => writer.write('askPeerPaymentAt', given),
  peerCredit: async peer => creditOf(await readCredit(reader, peer)),
})
