/** Delivery credentials: those held of others, those issued to others, and those that the hub has still to hear are void. */
import { blob, integer, oneOf, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

const DAY_MS = 86_400_000

/** What became of an issued capability: unspent, spent by the peer, or no longer counted as its stock. */
export const UNSPENT = 0
export const SPENT = 1
export const FORGOTTEN = 2

export const heldTable = {
  name: 'capabilities_held',
  columns: {
    id: blob,
    peer: text,
    epoch: blob,
    body: blob,
    signature: blob,
    holderSeed: blob,
    expiresAt: integer,
    bytesMax: integer,
    /** Since midnight UTC. */
    uses: integer,
    /** Which of a peer's came together, in the order in which they came. */
    batch: integer,
  },
} as const
export const issuedTable = {
  name: 'capabilities_issued',
  columns: {
    id: blob,
    peer: text,
    expiresAt: integer,
    used: oneOf<typeof UNSPENT | typeof SPENT | typeof FORGOTTEN>(integer),
  },
} as const
export const revocationsTable = { name: 'revocations', columns: { id: blob, expiresAt: integer } } as const
export type HeldRow = RowOf<typeof heldTable>
export type IssuedRow = RowOf<typeof issuedTable>

/** Keeps a granted capability; one that is held already stays as it is. */
export function keepHeld(store: Store, row: Omit<HeldRow, 'uses'>): void {
  store.run(
    `INSERT OR IGNORE INTO capabilities_held (id, peer, epoch, body, signature, holder_seed, expires_at, bytes_max, batch)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.peer,
    row.epoch,
    row.body,
    row.signature,
    row.holderSeed,
    row.expiresAt,
    row.bytesMax,
    row.batch,
  )
}

/** Keeps no more than `max` of a peer: those used least, and of these the ones that last longest. */
export function trimHeld(store: Store, peer: string, max: number): void {
  store.run(
    `DELETE FROM capabilities_held WHERE peer = ?1 AND id NOT IN
       (SELECT id FROM capabilities_held WHERE peer = ?1 ORDER BY uses, expires_at DESC LIMIT ?2)`,
    peer,
    max,
  )
}

export function spendHeld(store: Store, id: Uint8Array): void {
  store.run('UPDATE capabilities_held SET uses = uses + 1 WHERE id = ?', id)
}

export function refundHeld(store: Store, id: Uint8Array): void {
  store.run('UPDATE capabilities_held SET uses = uses - 1 WHERE id = ? AND uses > 0', id)
}

export function dropHeld(store: Store, id: Uint8Array): void {
  store.run('DELETE FROM capabilities_held WHERE id = ?', id)
}

/** The number of the batch that comes next from a peer. */
export function nextBatch(store: Store, peer: string): number {
  const row = store.get<{ last: number | null }>(
    'SELECT max(batch) AS last FROM capabilities_held WHERE peer = ?',
    peer,
  )
  return (row?.last ?? 0) + 1
}

/** Drops what came from a peer no later than this one, as far as newer ones can be spent; true when there were any. */
export function dropUpTo(store: Store, peer: string, id: Uint8Array, usesMax: number): boolean {
  const { changes } = store.run(
    `DELETE FROM capabilities_held WHERE peer = ?1 AND batch <= (SELECT batch FROM capabilities_held WHERE id = ?2)
       AND EXISTS (SELECT 1 FROM capabilities_held AS newer WHERE newer.peer = ?1 AND newer.uses < ?3
         AND newer.batch > (SELECT batch FROM capabilities_held WHERE id = ?2))`,
    peer,
    id,
    usesMax,
  )
  return changes > 0
}

/** Drops the stock of every other epoch of a peer; true when there was any. */
export function dropOtherEpochs(store: Store, peer: string, epoch: Uint8Array): boolean {
  return store.run('DELETE FROM capabilities_held WHERE peer = ? AND epoch <> ?', peer, epoch).changes > 0
}

/** A new day: every capability in stock may be spent again as often as its issuer said. */
export function renewUses(store: Store): void {
  store.run('UPDATE capabilities_held SET uses = 0 WHERE uses > 0')
}

export function noteIssued(store: Store, { id, peer, expiresAt }: Omit<IssuedRow, 'used'>): void {
  store.run('INSERT INTO capabilities_issued (id, peer, expires_at) VALUES (?, ?, ?)', id, peer, expiresAt)
}

export function noteSpent(store: Store, id: Uint8Array): void {
  store.run('UPDATE capabilities_issued SET used = ? WHERE id = ?', SPENT, id)
}

/** What a peer has not spent no longer counts as its stock. */
export function forgetUnspent(store: Store, peer: string): void {
  store.run('UPDATE capabilities_issued SET used = ? WHERE peer = ? AND used = ?', FORGOTTEN, peer, UNSPENT)
}

/** Everything issued is void: the mailbox has a new epoch, and the hub needs to be told of none of it. */
export function voidAllIssued(store: Store): void {
  store.run('DELETE FROM capabilities_issued')
  store.run('DELETE FROM revocations')
}

/** Notes that everything issued to a peer is to be taken back; it is none of ours any more. */
export function revokeIssued(store: Store, peer: string, now: number): void {
  store.run(
    `INSERT OR IGNORE INTO revocations
     SELECT id, expires_at FROM capabilities_issued WHERE peer = ? AND expires_at > ?`,
    peer,
    now,
  )
  store.run('DELETE FROM capabilities_issued WHERE peer = ?', peer)
}

/** Ids that still count and that the hub has not been told. */
export function dueRevocations(store: Store, now: number, max: number): Uint8Array[] {
  return store
    .all<{ id: Uint8Array }>('SELECT id FROM revocations WHERE expires_at > ? LIMIT ?', now, max)
    .map(row => row.id)
}

/** The hub has these. */
export function removeRevocations(store: Store, ids: readonly Uint8Array[]): void {
  for (const id of ids) store.run('DELETE FROM revocations WHERE id = ?', id)
}

export function removeExpired(store: Store, now: number): void {
  store.run('DELETE FROM capabilities_held WHERE expires_at <= ?', now)
  store.run('DELETE FROM capabilities_issued WHERE expires_at <= ?', now)
  store.run('DELETE FROM revocations WHERE expires_at <= ?', now)
}

/** Earlier releases granted and issued such with a finer end, which no hub takes. */
const ENDS_WITH_DAY = `expires_at % ${DAY_MS} = 0`

/** How many a peer holds of this node that it has spent, or not, or that count no more. */
export function issuedCount(store: Store, peer: string, used: IssuedRow['used'], now: number): number {
  const row = store.get<{ n: number }>(
    'SELECT count(*) AS n FROM capabilities_issued WHERE peer = ? AND used = ? AND expires_at > ?',
    peer,
    used,
    now,
  )
  return row?.n ?? 0
}

/** How many a peer holds that it can still spend. */
export function unspentCount(store: Store, peer: string, now: number): number {
  const row = store.get<{ n: number }>(
    `SELECT count(*) AS n FROM capabilities_issued WHERE peer = ? AND used = 0 AND expires_at > ? AND ${ENDS_WITH_DAY}`,
    peer,
    now,
  )
  return row?.n ?? 0
}

/** What became of an issued one; undefined where it was taken back, or is of a mailbox of before. */
export const issuedUse = (store: Store, id: Uint8Array): IssuedRow['used'] | undefined =>
  store.get<Pick<IssuedRow, 'used'>>('SELECT used FROM capabilities_issued WHERE id = ?', id)?.used

/** Ids of everything unexpired that a peer holds of this node. */
export const issuedIds = (store: Store, peer: string, now: number): Uint8Array[] =>
  store
    .all<{ id: Uint8Array }>(
      'SELECT id FROM capabilities_issued WHERE peer = ? AND expires_at > ?',
      peer,
      now,
    )
    .map(({ id }) => id)

/** The least used capability of a peer's epoch that takes an envelope of `size` bytes, of these the newest. */
export function leastUsedHeld(
  store: Store,
  peer: string,
  {
    epoch,
    until,
    latest,
    size,
    usesMax,
  }: {
    epoch: Uint8Array
    until: number
    latest: number
    size: number
    usesMax: number
  },
): HeldRow | undefined {
  return store.row(
    `SELECT * FROM capabilities_held
     WHERE peer = ? AND epoch = ? AND expires_at > ? AND ${ENDS_WITH_DAY} AND bytes_max >= ? AND uses < ?
     ORDER BY expires_at > ?, uses, batch DESC, expires_at LIMIT 1`,
    peer,
    epoch,
    until,
    size,
    usesMax,
    latest,
  )
}

/** Whether a capability of a peer is in stock. */
export const isAnyHeld = (
  store: Store,
  peer: string,
  { until, usesMax }: { until: number; usesMax: number },
): boolean =>
  store.get(
    `SELECT 1 FROM capabilities_held WHERE peer = ? AND expires_at > ? AND ${ENDS_WITH_DAY} AND uses < ? LIMIT 1`,
    peer,
    until,
    usesMax,
  ) !== undefined

/** Seeds of the holders of all that are in stock. */
export const heldSeeds = (store: Store): Uint8Array[] =>
  store.all<{ seed: Uint8Array }>('SELECT holder_seed AS seed FROM capabilities_held').map(({ seed }) => seed)
