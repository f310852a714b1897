/** The hubs that this node knows, as the store holds them: home, former homes, and what each was told last. */
import { encodeKel } from '../../protocol/identity/kel.ts'
import type { Store } from '../store/open.ts'
import type { HubLine } from './hub.ts'

/** How long the mailbox at a former hub is still emptied. */
const DRAIN_MS = 14 * 86_400_000 + 3_600_000

export type HubRow = {
  url: string
  aid: string
  wire: number
  log: Uint8Array
  bits: number
  role: string
  registered_seq: number | null
  /** The address that the hub gives itself, where it is not `url`. */
  base_url: string | null
  /** Digest of the card that the hub answered last, and how. */
  card: Uint8Array | null
  card_state: 'stored' | 'refused' | null
  card_seen_at: number | null
}

export function homeRow(store: Store): HubRow | undefined {
  return store.get<HubRow>("SELECT * FROM hubs WHERE role = 'home'")
}

export function hubRow(store: Store, url: string): HubRow | undefined {
  return store.get<HubRow>('SELECT * FROM hubs WHERE url = ?', url)
}

/** Former homes whose time of emptying ends after `since`. */
export function formerRows(store: Store, since: number): HubRow[] {
  return store.all<HubRow>("SELECT * FROM hubs WHERE role = 'draining' AND drain_until > ?", since)
}

/** Makes a hub the home; the one before, when it is another, becomes a former one. Inside a transaction. */
export function writeHome(store: Store, line: HubLine, moves: boolean, now: number): void {
  if (moves)
    store.run("UPDATE hubs SET role = 'draining', drain_until = ? WHERE role = 'home'", now + DRAIN_MS)
  store.run(
    "DELETE FROM hubs WHERE (role = 'home' AND url <> ?1) OR (url = ?1 AND aid <> ?2)",
    line.url,
    line.identity.aid,
  )
  // The same hub again keeps what it is known to hold of our card.
  store.run(
    `INSERT INTO hubs (url, aid, wire, log, bits, role) VALUES (?, ?, ?, ?, ?, 'home')
     ON CONFLICT (url) DO UPDATE SET wire = excluded.wire, log = excluded.log, bits = excluded.bits, role = 'home',
       drain_until = NULL, registered_seq = NULL`,
    line.url,
    line.identity.aid,
    line.identity.wire,
    encodeKel(line.identity.log.events),
    line.identity.bitsMax,
  )
  store.run(
    'INSERT INTO wires_seen VALUES (?, ?) ON CONFLICT (hub) DO UPDATE SET wire = max(wire, excluded.wire)',
    line.identity.aid,
    line.identity.wire,
  )
}

/** Registers again at the next occasion: the hub does not have what it once confirmed. */
export function forgetRegistered(store: Store, url: string): void {
  store.run('UPDATE hubs SET registered_seq = NULL WHERE url = ?', url)
}

/** Notes the last event of ours that a hub has. */
export function noteRegistered(store: Store, url: string, seq: number): void {
  store.run('UPDATE hubs SET registered_seq = ? WHERE url = ?', seq, url)
}
