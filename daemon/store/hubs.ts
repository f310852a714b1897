/** The hubs that this node knows: home, previous homes, those that it left, what each was told last, and the highest wire of each. */
import { blob, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

/** How long the mailbox at a previous hub is still emptied. */
const DRAIN_MS = 14 * 86_400_000 + 3_600_000

export const hubsTable = {
  name: 'hubs',
  columns: {
    url: text,
    aid: text,
    wire: integer,
    log: blob,
    bits: integer,
    /** `known`: left, and it still has this identity's account. */
    role: oneOf<'home' | 'draining' | 'known'>(text),
    drainUntil: orNull(integer),
    /** Seq of the last event of ours that the hub has; -1 where it had one and lost it. */
    registeredSeq: orNull(integer),
    /** The address that the hub gives itself, where it is not `url`. */
    baseUrl: orNull(text),
    /** Digest of the card that the hub answered last, how, and when it was last seen there. */
    card: orNull(blob),
    cardState: orNull(oneOf<'stored' | 'refused'>(text)),
    cardSeenAt: orNull(integer),
  },
} as const
export const wiresSeenTable = { name: 'wires_seen', columns: { hub: text, wire: integer } } as const
export type HubRow = RowOf<typeof hubsTable>

export function homeRow(store: Store): HubRow | undefined {
  return store.row("SELECT * FROM hubs WHERE role = 'home'")
}

export function hubRow(store: Store, url: string): HubRow | undefined {
  return store.row('SELECT * FROM hubs WHERE url = ?', url)
}

/** Previous homes whose time of emptying ends after `since`. */
export function previousRows(store: Store, since: number): HubRow[] {
  return store.rows("SELECT * FROM hubs WHERE role = 'draining' AND drain_until > ?", since)
}

/** Hubs that were left: each still has this identity's log and account. */
export function leftRows(store: Store): HubRow[] {
  return store.rows("SELECT * FROM hubs WHERE role = 'known' ORDER BY url")
}

/** Where a hub that was left answers; undefined for the home under another address, and for one that is not known. */
export function urlOfLeft(store: Store, aid: string): string | undefined {
  if (homeRow(store)?.aid === aid) return undefined
  const sql = 'SELECT url FROM hubs WHERE aid = ? ORDER BY url LIMIT 1'
  return store.get<{ url: string }>(sql, aid)?.url
}

/** The highest wire that a hub was ever seen to speak. */
export function highestWire(store: Store, hub: string): number | undefined {
  return store.get<{ wire: number }>('SELECT wire FROM wires_seen WHERE hub = ?', hub)?.wire
}

type Home = Pick<HubRow, 'url' | 'aid' | 'wire' | 'log' | 'bits'>

/** Makes a hub the home; the one before, when it is another, becomes a previous one. Inside a transaction. */
export function writeHome(store: Store, home: Home, moves: boolean, now: number): void {
  const { url, aid, wire, log, bits } = home
  if (moves)
    store.run("UPDATE hubs SET role = 'draining', drain_until = ? WHERE role = 'home'", now + DRAIN_MS)
  store.run("DELETE FROM hubs WHERE (role = 'home' AND url <> ?1) OR (url = ?1 AND aid <> ?2)", url, aid)
  // The same hub again keeps what it is known to hold of our card.
  store.run(
    `INSERT INTO hubs (url, aid, wire, log, bits, role) VALUES (?, ?, ?, ?, ?, 'home')
     ON CONFLICT (url) DO UPDATE SET wire = excluded.wire, log = excluded.log, bits = excluded.bits, role = 'home',
       drain_until = NULL, registered_seq = NULL`,
    url,
    aid,
    wire,
    log,
    bits,
  )
  store.run(
    'INSERT INTO wires_seen VALUES (?, ?) ON CONFLICT (hub) DO UPDATE SET wire = max(wire, excluded.wire)',
    aid,
    wire,
  )
}

/** Keeps what a hub now shows of itself. */
export function keepHubLog(store: Store, { url, log, bits }: Pick<HubRow, 'url' | 'log' | 'bits'>): void {
  store.run(
    'UPDATE hubs SET log = ?1, bits = ?2 WHERE url = ?3 AND (log IS NOT ?1 OR bits IS NOT ?2)',
    log,
    bits,
    url,
  )
}

/** Ends the membership at a hub; one that never took a registration is forgotten. */
export function leaveHub(store: Store, url: string): void {
  store.run('DELETE FROM hubs WHERE url = ? AND registered_seq IS NULL', url)
  store.run(
    `UPDATE hubs SET role = 'known', drain_until = NULL, base_url = NULL, card = NULL, card_state = NULL, card_seen_at = NULL
     WHERE url = ?`,
    url,
  )
}

/** Registers again at the next occasion: the hub does not have what it once confirmed. */
export function forgetRegistered(store: Store, url: string): void {
  store.run('UPDATE hubs SET registered_seq = -1 WHERE url = ?', url)
}

/** Notes the last event of ours that a hub has. */
export function noteRegistered(store: Store, url: string, seq: number): void {
  store.run('UPDATE hubs SET registered_seq = ? WHERE url = ?', seq, url)
}

/** Notes what a hub said to a card. */
export function noteCardAnswer(
  store: Store,
  url: string,
  answer: { card: Uint8Array; cardState: 'stored' | 'refused'; now: number },
): void {
  store.run(
    'UPDATE hubs SET card = ?, card_state = ?, card_seen_at = ? WHERE url = ?',
    answer.card,
    answer.cardState,
    answer.now,
    url,
  )
}

export function noteBaseUrl(store: Store, url: string, baseUrl: string): void {
  store.run('UPDATE hubs SET base_url = ? WHERE url = ?', baseUrl, url)
}

/** The hub still serves our card. */
export function noteCardSeen(store: Store, url: string, now: number): void {
  store.run('UPDATE hubs SET card_seen_at = ? WHERE url = ?', now, url)
}

/** The hub serves our card no longer: it is given again, under the address that the hub then gives itself. */
export function forgetCard(store: Store, url: string, now: number): void {
  store.run('UPDATE hubs SET card = NULL, base_url = NULL, card_seen_at = ? WHERE url = ?', now, url)
}

/** Whether any hub ever took a registration of this identity. */
export function wasRegistered(store: Store): boolean {
  return store.get('SELECT 1 FROM hubs WHERE registered_seq IS NOT NULL LIMIT 1') !== undefined
}
