/** The ledger as engines keep it and as the hub sees it. */
import type {
  LedgerEntry,
  OpenHold,
  PostedTransfer,
  Posting,
  RedemptionRow,
  Totals,
  TransferReason,
} from './ledger-port.ts'

const TRANSACTION_BYTES = 36

export type StoredTransfer = {
  seq: number
  reason: TransferReason
  amount: number
  at_ms: number
  receipt: Uint8Array | null
  authorization: Uint8Array | null
  reference: string | null
}

export const transferOf = (row: StoredTransfer): PostedTransfer => ({
  seq: row.seq,
  reason: row.reason,
  amount: row.amount,
  atMs: row.at_ms,
  receipt: row.receipt ?? undefined,
  authorization: row.authorization ?? undefined,
  reference: row.reference ?? undefined,
})

/** What a transfer is once it is posted. */
export const postedOf = (posting: Posting, seq: number): PostedTransfer => ({
  seq,
  reason: posting.reason,
  amount: posting.amount,
  atMs: posting.atMs,
  receipt: posting.receipt,
  authorization: posting.authorization,
  reference: posting.reference,
})

export type StoredHold = {
  held: string
  amount: number
  payer: string
  payee: string
  until_ms: number
  peer: string | null
}

export const holdOf = ({ held, amount, payer, payee, until_ms, peer }: StoredHold): OpenHold => ({
  transaction: new Uint8Array(Buffer.from(held, 'hex')),
  payer,
  payee,
  amount,
  untilMs: until_ms,
  peer: peer ?? undefined,
})

/** The name of the account of a hold. */
export const holdName = (transaction: Uint8Array): string => Buffer.from(transaction).toString('hex')

export type StoredEntry = {
  seq: number
  delta: number
  reason: TransferReason
  at_ms: number
  id: Uint8Array
  about: Uint8Array | null
  kind: string
  name: string
}

export const entryOf = ({ seq, delta, reason, at_ms, id, about, kind, name }: StoredEntry): LedgerEntry => ({
  seq,
  delta,
  reason,
  atMs: at_ms,
  transaction: transactionAmong(reason === 'refund' ? [id] : [about, id]),
  counterparty: kind === 'agent' || kind === 'peer' ? name : undefined,
})

/** The first that is a transaction: ids of other kinds are shorter. */
function transactionAmong(ids: (Uint8Array | null)[]): Uint8Array | undefined {
  return ids.find((id): id is Uint8Array => id?.length === TRANSACTION_BYTES)
}

export type StoredRedemption = {
  seq: number
  at_ms: number
  id: Uint8Array
  amount: number
  reference: string | null
  aid: string
}

export const redemptionOf = ({
  seq,
  at_ms,
  id,
  amount,
  reference,
  aid,
}: StoredRedemption): RedemptionRow => ({
  seq,
  atMs: at_ms,
  aid,
  amount,
  reference: reference ?? undefined,
  transaction: transactionAmong([id]),
})

export type StoredTotals = {
  agents: number
  holds: number
  issued: number
  retired: number
  owed_by_peers: number
  due_to_peers: number
}

export const totalsOf = (row: StoredTotals): Totals => ({
  agents: row.agents,
  holds: row.holds,
  issued: row.issued,
  retired: row.retired,
  owedByPeers: row.owed_by_peers,
  dueToPeers: row.due_to_peers,
})
