/** Rows of the peers: verified log and key set as bytes, and the state of our own ones that a peer was shown. */
import { blob, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const peersTable = {
  name: 'peers',
  columns: { aid: text, log: blob, keys: orNull(blob), introduced: orNull(text) },
} as const
export type PeerRow = RowOf<typeof peersTable>

export function peerRow(store: Store, aid: string): PeerRow | undefined {
  return store.get<PeerRow>('SELECT * FROM peers WHERE aid = ?', aid)
}

/** Keeps log and key set; what the peer was shown of us stays as it is. */
export function keepPeer(store: Store, { aid, log, keys }: Omit<PeerRow, 'introduced'>): void {
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
