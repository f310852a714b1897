/** Payments in the credits of peers, in the database. Changes run inside a transaction. */
import type { PostResult } from '../ledger-port.ts'
import type {
  AnsweredPeerPayment,
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
import type { Database } from './database.ts'
import { readTransfer } from './ledger-reads.ts'
import { post } from './ledger-writes.ts'
import type { WriterClient } from './writer-client.ts'

const COLUMNS =
  'id, peer, payee, amount, authorization, hold_s, state, receipt, peer_receipt, end_receipt, peer_end_receipt, hold_order, ask_at_ms'

export const peerPaymentQueries = {
  one: `SELECT ${COLUMNS} FROM ledger_peer_payment WHERE id = ?`,
  due: `SELECT ${COLUMNS} FROM ledger_peer_payment WHERE ask_at_ms <= ? ORDER BY ask_at_ms LIMIT ?`,
  open:
    'SELECT count(*) AS count, coalesce(sum(amount), 0) AS sum FROM ledger_peer_payment' +
    " WHERE peer = ? AND state <> 'ended'",
  balance: "SELECT balance FROM ledger_account WHERE kind = 'peer' AND name = ?",
} as const

function readOne(db: Database, transaction: Uint8Array): PeerPayment | undefined {
  const row = db.one<StoredPeerPayment>(peerPaymentQueries.one, transaction)
  return row && paymentOf(row)
}

function readCredit(db: Database, peer: string): StoredCredit {
  const open = db.one<{ count: number; sum: number }>(peerPaymentQueries.open, peer)
  const balance = db.one<{ balance: number }>(peerPaymentQueries.balance, peer)?.balance ?? 0
  return { balance, open: open?.sum ?? 0, count: open?.count ?? 0 }
}

export function openPeerPayment(db: Database, given: OpenPeerPayment): OpenResult {
  const payment = readOne(db, given.transaction)
  if (payment !== undefined) return { outcome: 'found', payment }
  if (opensOver(readCredit(db, given.peer), given)) return { outcome: 'over' }
  insert(db, given, 'asked', given.askAtMs)
  return { outcome: 'opened' }
}

type Inserted = Pick<
  PeerPayment,
  'transaction' | 'peer' | 'payee' | 'amount' | 'authorization' | 'holdSeconds'
>

function insert(
  db: Database,
  { transaction, peer, payee, amount, authorization, holdSeconds }: Inserted,
  state: PeerPaymentState,
  askAtMs: number | undefined,
): void {
  db.run(
    'INSERT OR IGNORE INTO ledger_peer_payment (id, peer, payee, amount, authorization, hold_s, state, ask_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    transaction,
    peer,
    payee,
    amount,
    authorization,
    holdSeconds ?? null,
    state,
    askAtMs ?? null,
  )
}

export function dropPeerPayment(db: Database, transaction: Uint8Array): true {
  db.run("DELETE FROM ledger_peer_payment WHERE id = ? AND state = 'asked'", transaction)
  return true
}

/** Nothing is kept of it where nothing was posted. */
function posted(db: Database, posting: AnsweredPeerPayment['posting']): PostResult['outcome'] {
  return posting === undefined ? 'posted' : post(db, posting).outcome
}

export function answerPeerPayment(db: Database, given: AnsweredPeerPayment): PostResult['outcome'] {
  const { asked, receipt, peerReceipt, askAtMs, posting } = given
  const outcome = posted(db, posting)
  if (outcome !== 'posted' && outcome !== 'held') return outcome
  insert(db, asked, 'asked', undefined)
  db.run(
    "UPDATE ledger_peer_payment SET state = ?, receipt = ?, peer_receipt = ?, ask_at_ms = ? WHERE id = ? AND state = 'asked'",
    posting === undefined ? 'held' : 'ended',
    readTransfer(db, asked.transaction)?.receipt ?? receipt,
    peerReceipt,
    askAtMs ?? null,
    asked.transaction,
  )
  return outcome
}

export function bookShown(db: Database, given: ShownPayment): PostResult['outcome'] | 'over' {
  const { asked, isEnd, receipt, peerReceipt, posting, creditMax } = given
  if (readTransfer(db, posting.id) !== undefined) return 'held'
  if (owesOver(readCredit(db, asked.peer), { amount: asked.amount, creditMax })) return 'over'
  const { outcome } = post(db, posting)
  if (outcome !== 'posted') return outcome
  insert(db, asked, 'asked', undefined)
  db.run(
    isEnd
      ? "UPDATE ledger_peer_payment SET state = 'ended', end_receipt = ?, peer_end_receipt = ?, ask_at_ms = NULL WHERE id = ?"
      : "UPDATE ledger_peer_payment SET state = 'ended', receipt = ?, peer_receipt = ?, ask_at_ms = NULL WHERE id = ?",
    receipt,
    peerReceipt,
    asked.transaction,
  )
  return outcome
}

export function orderPeerPayment(
  db: Database,
  { transaction, order, askAtMs }: { transaction: Uint8Array; order: Uint8Array; askAtMs: number },
): true {
  db.run(
    "UPDATE ledger_peer_payment SET hold_order = ?, ask_at_ms = ? WHERE id = ? AND state = 'held'",
    order,
    askAtMs,
    transaction,
  )
  return true
}

export function endPeerPayment(
  db: Database,
  { transaction, receipt, peerReceipt, posting }: EndedPeerPayment,
): PostResult['outcome'] {
  if (readOne(db, transaction)?.state !== 'held') return 'held'
  const outcome = posted(db, posting)
  if (outcome !== 'posted' && outcome !== 'held') return outcome
  db.run(
    "UPDATE ledger_peer_payment SET state = 'ended', end_receipt = ?, peer_end_receipt = ?, ask_at_ms = NULL WHERE id = ?",
    receipt,
    peerReceipt,
    transaction,
  )
  return outcome
}

export function askPeerPaymentAt(
  db: Database,
  { transaction, askAtMs }: { transaction: Uint8Array; askAtMs: number },
): true {
  db.run(
    "UPDATE ledger_peer_payment SET ask_at_ms = ? WHERE id = ? AND state <> 'ended'",
    askAtMs,
    transaction,
  )
  return true
}

export function peerPaymentsOver(reader: Database, writer: WriterClient): PeerPaymentStore {
  return {
    peerPayment: async transaction => readOne(reader, transaction),
    openPeerPayment: given => writer.write('openPeerPayment', given),
    async dropPeerPayment(transaction) {
      await writer.write('dropPeerPayment', transaction)
    },
    answerPeerPayment: given => writer.write('answerPeerPayment', given),
    async orderPeerPayment(given) {
      await writer.write('orderPeerPayment', given)
    },
    bookShown: given => writer.write('bookShown', given),
    endPeerPayment: given => writer.write('endPeerPayment', given),
    duePeerPayments: async (nowMs, limit) =>
      reader.all<StoredPeerPayment>(peerPaymentQueries.due, nowMs, limit).map(paymentOf),
    async askPeerPaymentAt(given) {
      await writer.write('askPeerPaymentAt', given)
    },
    peerCredit: async peer => creditOf(readCredit(reader, peer)),
  }
}
