/**
 * Rows of the peers: verified log and key set as bytes, the state of our own ones that a peer was shown,
 * and the longest head of its chain that it signed.
 */
import { blob, integer, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const peersTable = {
  name: 'peers',
  columns: {
    aid: text,
    log: blob,
    keys: orNull(blob),
    introduced: orNull(text),
    /** The signed object that carries the head, as it is given back. */
    head: orNull(blob),
    headLength: orNull(integer),
    /** When the peer last signed or was given it. */
    headAt: orNull(integer),
  },
} as const
type PeerRow = RowOf<typeof peersTable>
type Known = Pick<PeerRow, 'aid' | 'log' | 'keys' | 'introduced'>

export function peerRow(store: Store, aid: string): Known | undefined {
  return store.get<Known>('SELECT aid, log, keys, introduced FROM peers WHERE aid = ?', aid)
}

/** Keeps log and key set; what the peer was shown of us stays as it is. */
export function keepPeer(store: Store, { aid, log, keys }: Pick<PeerRow, 'aid' | 'log' | 'keys'>): void {
  store.run(
    `INSERT INTO peers (aid, log, keys) VALUES (?, ?, ?)
     ON CONFLICT (aid) DO UPDATE SET log = excluded.log, keys = excluded.keys`,
    aid,
    log,
    keys,
  )
}

/** Notes that a message with our log and key set in this state was delivered. */
export function noteIntroduced(store: Store, aid: string, state: string): void {
  store.run('UPDATE peers SET introduced = ? WHERE aid = ?', state, aid)
}

/** The next message to this peer brings our log and key set. */
export function introduceAgain(store: Store, aid: string): void {
  store.run('UPDATE peers SET introduced = NULL WHERE aid = ?', aid)
}

/** The next message to every peer brings our log and key set. */
export function introduceToAllAgain(store: Store): void {
  store.run('UPDATE peers SET introduced = NULL')
}

/** Keeps a head that is longer than the one held. */
export function keepHead(
  store: Store,
  aid: string,
  { head, length, at }: { head: Uint8Array; length: number; at: number },
): boolean {
  const { changes } = store.run(
    `UPDATE peers SET head = ?, head_length = ?, head_at = ?
     WHERE aid = ? AND (head_length IS NULL OR head_length < ?)`,
    head,
    length,
    at,
    aid,
    length,
  )
  return changes > 0
}

/** The head held of a peer that last knew of it at this time or before. */
export function headKnownBefore(store: Store, aid: string, at: number): Uint8Array | undefined {
  const row = store.get<{ head: Uint8Array }>(
    'SELECT head FROM peers WHERE aid = ? AND head IS NOT NULL AND head_at <= ?',
    aid,
    at,
  )
  return row?.head
}

/** The heads that are held, of all peers or of one. */
export function heldHeads(store: Store, aid: string | undefined): { aid: string; head: Uint8Array }[] {
  return store.all<{ aid: string; head: Uint8Array }>(
    'SELECT aid, head FROM peers WHERE head IS NOT NULL AND (?1 IS NULL OR aid = ?1) ORDER BY aid',
    aid ?? null,
  )
}

/** Notes that the peer is given the head that is held of it. */
export function noteHeadReturned(store: Store, aid: string, at: number): void {
  store.run('UPDATE peers SET head_at = ? WHERE aid = ?', at, aid)
}
