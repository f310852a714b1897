/** Direct delivery of sealed mail: where correspondents take it, what they were told of this node, and what came that way. */
import { blob, integer, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const directAddressesTable = {
  name: 'direct_addresses',
  columns: {
    peer: text,
    /** Where it takes mail, as it said last, and when; the empty one is withdrawn. */
    address: orNull(text),
    saidAt: orNull(integer),
    /** What it was told last of this node, and when. */
    told: orNull(text),
    toldAt: orNull(integer),
  },
} as const
export const capabilityUsesTable = {
  name: 'capability_uses',
  columns: {
    id: blob,
    /** That of the envelope. */
    digest: blob,
    /** Of UTC. */
    day: integer,
  },
} as const
export type Told = Pick<RowOf<typeof directAddressesTable>, 'peer'> & { told: string; toldAt: number }

/** Keeps what a peer says of itself, unless it has said something later. */
export function keepAddress(store: Store, peer: string, said: { address: string; atMs: number }): void {
  store.run(
    `INSERT INTO direct_addresses (peer, address, said_at) VALUES (?, ?, ?)
     ON CONFLICT (peer) DO UPDATE SET address = excluded.address, said_at = excluded.said_at
     WHERE said_at IS NULL OR said_at < excluded.said_at`,
    peer,
    said.address,
    said.atMs,
  )
}

/** Where a peer takes mail directly; undefined where it never said, or does no more. */
export const addressOf = (store: Store, peer: string): string | undefined =>
  store.get<{ address: string | null }>('SELECT address FROM direct_addresses WHERE peer = ?', peer)
    ?.address || undefined

/** What each peer was told last of this node. */
export const toldAddresses = (store: Store): Told[] =>
  store.all<Told>(
    'SELECT peer, told, told_at AS toldAt FROM direct_addresses WHERE told IS NOT NULL ORDER BY peer',
  )

/** A message with the address of this node is on its way to a peer. */
export function noteTold(store: Store, { peer, told, toldAt }: Told): void {
  store.run(
    `INSERT INTO direct_addresses (peer, told, told_at) VALUES (?, ?, ?)
     ON CONFLICT (peer) DO UPDATE SET told = excluded.told, told_at = excluded.told_at`,
    peer,
    told,
    toldAt,
  )
}

/** Every peer is to be told anew: what this store says may be older than what it was told. */
export function forgetTold(store: Store): void {
  store.run("UPDATE direct_addresses SET told = '?' WHERE told IS NOT NULL")
}

/** An envelope came under this capability of ours; the same one counts once. */
export function noteUseOf(store: Store, id: Uint8Array, digest: Uint8Array, day: number): void {
  store.run('INSERT OR IGNORE INTO capability_uses VALUES (?, ?, ?)', id, digest, day)
}

/** Digests of other envelopes that came under it on that day. */
export const otherUses = (store: Store, id: Uint8Array, digest: Uint8Array, day: number): number =>
  store.get<{ n: number }>(
    'SELECT count(*) AS n FROM capability_uses WHERE id = ? AND digest <> ? AND day = ?',
    id,
    digest,
    day,
  )?.n ?? 0

/** Uses of days before. */
export function forgetUses(store: Store, before: number): void {
  store.run('DELETE FROM capability_uses WHERE day < ?', before)
}
