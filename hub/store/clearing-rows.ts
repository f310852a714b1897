/** What was said and signed with peers, as engines keep it and as the hub sees it. */
import type { ClearingState, PeerTransfer } from './clearing-port.ts'

const TRANSACTION_BYTES = 36

export type StoredClearing = {
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

/** Without a row nothing was cleared yet. */
export function clearingOf(peer: string, row: StoredClearing | undefined): ClearingState {
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

export type StoredPeerTransfer = {
  seq: number
  at_ms: number
  delta: number
  id_bytes: number
  reason: string
  receipt: Uint8Array | null
  peer_receipt: Uint8Array | null
  peer_end_receipt: Uint8Array | null
}

/** A page of transfers: those of its rows of which something was signed, and where the rest begins. */
export const transfersOf = (
  rows: readonly StoredPeerTransfer[],
  limit: number,
): { transfers: PeerTransfer[]; next: number | undefined } => ({
  transfers: rows.flatMap(provenOf),
  next: rows.length < limit ? undefined : rows.at(-1)?.seq,
})

function provenOf(row: StoredPeerTransfer): PeerTransfer[] {
  const bytes = signedOf(row)
  if (bytes === null) return []
  const kind = row.reason === 'cleared' ? 'statement' : 'receipt'
  return [{ seq: row.seq, atMs: row.at_ms, kind, bytes }]
}

/** What the hub of the payer signed: this one, where it owes more since. */
function signedOf(row: StoredPeerTransfer): Uint8Array | null {
  if (row.reason === 'cleared' || row.delta > 0) return row.receipt
  return row.id_bytes === TRANSACTION_BYTES ? row.peer_receipt : row.peer_end_receipt
}
