/** What is known of the accounts at hubs, and of the credits of each: alarms, comparisons, what audits ended with. */
import { blob, columnOf, flag, fromJson, integer, json, orNull, type RowOf, text, toJson } from './columns.ts'
import type { Store } from './open.ts'

export const hubAccountsTable = {
  name: 'hub_accounts',
  columns: {
    hub: text,
    /** Why nothing is paid in its credits; a person ends it. */
    alarm: orNull(text),
    comparedSeq: orNull(integer),
    comparedSum: orNull(integer),
    comparedAt: orNull(integer),
    acceptedSeq: orNull(integer),
    /** Until when a person has accepted what the hub shows. */
    acceptedUntil: orNull(integer),
    refusedUrl: orNull(text),
    refusedCode: orNull(text),
    supplyLength: orNull(integer),
    supplyHead: orNull(blob),
    supplyIssued: orNull(integer),
    supplyRetired: orNull(integer),
    /** Roots of the tree over the records, in base64url; null where it is not known from the first record on. */
    supplyRoots: orNull(json<string[]>()),
    witnessedAt: orNull(integer),
    witnessStale: flag,
    lostAskedAt: orNull(integer),
    lostSettledAt: orNull(integer),
  },
} as const
type HubAccount = RowOf<typeof hubAccountsTable>

export const witnessedRecordsTable = {
  name: 'witnessed_records',
  columns: { hub: text, seq: integer, id: blob },
} as const

export const unprovenDebitsTable = {
  name: 'unproven_debits',
  columns: {
    hub: text,
    /** Of its entry. */
    seq: integer,
    /** Of its payment as the hub calls it; empty where it has none. */
    id: text,
    amount: integer,
    at: integer,
    counterparty: orNull(text),
    reason: text,
  },
} as const
export type UnprovenDebit = Omit<RowOf<typeof unprovenDebitsTable>, 'hub'>

function accountOf<M extends keyof HubAccount>(
  store: Store,
  hub: string,
  ...members: M[]
): Pick<HubAccount, M> | undefined {
  const columns = members.map(member => `${columnOf(member)} AS ${member}`).join(', ')
  return store.get<Pick<HubAccount, M>>(`SELECT ${columns} FROM hub_accounts WHERE hub = ?`, hub)
}

function keep(store: Store, hub: string, changes: Partial<Omit<HubAccount, 'hub'>>): void {
  const columns = Object.keys(changes).map(columnOf)
  store.run(
    `INSERT INTO hub_accounts (hub, ${columns.join(', ')}) VALUES (?${', ?'.repeat(columns.length)})
     ON CONFLICT (hub) DO UPDATE SET ${columns.map(column => `${column} = excluded.${column}`).join(', ')}`,
    hub,
    ...Object.values(changes),
  )
}

/** Why nothing is paid in the credits of a hub. */
export const alarmOf = (store: Store, hub: string): string | undefined =>
  accountOf(store, hub, 'alarm')?.alarm ?? undefined

/** AIDs of the hubs of which there is one. */
export const alarmed = (store: Store): string[] =>
  store
    .all<Pick<HubAccount, 'hub'>>('SELECT hub FROM hub_accounts WHERE alarm IS NOT NULL ORDER BY hub')
    .map(({ hub }) => hub)

export const raiseAlarm = (store: Store, hub: string, why: string): void => keep(store, hub, { alarm: why })

export const endAlarm = (store: Store, hub: string): void => keep(store, hub, { alarm: null })

/** Up to where the entries of an account were added up; `sum` may be less where older ones were not shown. */
export type Comparison = {
  seq: number
  sum: number
  atMs: number
  /** Up to where a person went on with whatever was shown. */
  acceptedSeq: number | undefined
}

/** Where the last comparison of an account ended. */
export function lastComparison(store: Store, hub: string): Comparison | undefined {
  const row = accountOf(store, hub, 'comparedSeq', 'comparedSum', 'comparedAt', 'acceptedSeq')
  if (row === undefined) return undefined
  const { comparedSeq: seq, comparedSum: sum, comparedAt: atMs, acceptedSeq } = row
  if (seq === null || sum === null || atMs === null) return undefined
  return { seq, sum, atMs, acceptedSeq: acceptedSeq ?? undefined }
}

export const keepComparison = (
  store: Store,
  hub: string,
  { seq, sum, atMs, acceptedSeq }: Comparison,
): void =>
  keep(store, hub, {
    comparedSeq: seq,
    comparedSum: sum,
    comparedAt: atMs,
    acceptedSeq: acceptedSeq ?? null,
  })

/** Until when a person has accepted what a hub shows, whatever it signed before; 0 for never. */
export const acceptedUntil = (store: Store, hub: string): number =>
  accountOf(store, hub, 'acceptedUntil')?.acceptedUntil ?? 0

/** A person accepts what a hub shows, whatever was compared before. */
export const acceptShown = (store: Store, hub: string, untilMs: number): void =>
  keep(store, hub, {
    acceptedUntil: untilMs,
    comparedSeq: null,
    comparedSum: null,
    comparedAt: null,
    acceptedSeq: null,
  })

/** The hub refused to show the account, with this code; undefined: it showed it. */
export const noteRefusal = (
  store: Store,
  hub: string,
  refused: { url: string; code: string } | undefined,
): void => keep(store, hub, { refusedUrl: refused?.url ?? null, refusedCode: refused?.code ?? null })

/** Hubs that refused to show this node its account when they were asked last, with the code of that. */
export const refusals = (store: Store): { url: string; code: string }[] =>
  store.all(
    `SELECT refused_url AS url, refused_code AS code FROM hub_accounts
     WHERE refused_url IS NOT NULL AND refused_code IS NOT NULL ORDER BY hub`,
  )

/** Up to where a supply chain was read: its head there, what was issued, and roots of its tree in base64url. */
export type SupplyRead = {
  length: number
  head: Uint8Array
  issued: number
  retired: number
  roots: string[] | undefined
}

export function lastSupplyRead(store: Store, hub: string): SupplyRead | undefined {
  const row = accountOf(
    store,
    hub,
    'supplyLength',
    'supplyHead',
    'supplyIssued',
    'supplyRetired',
    'supplyRoots',
  )
  if (row === undefined) return undefined
  const { supplyLength: length, supplyHead: head, supplyIssued: issued, supplyRetired: retired } = row
  if (length === null || head === null || issued === null || retired === null) return undefined
  const roots = row.supplyRoots === null ? undefined : fromJson<string[]>(row.supplyRoots)
  return { length, head, issued, retired, roots }
}

export const keepSupplyRead = (store: Store, hub: string, read: SupplyRead): void =>
  keep(store, hub, {
    supplyLength: read.length,
    supplyHead: read.head,
    supplyIssued: read.issued,
    supplyRetired: read.retired,
    supplyRoots: read.roots === undefined ? null : toJson(read.roots),
  })

/** The next audit reads from the first record on. */
export const forgetSupplyRead = (store: Store, hub: string): void => keep(store, hub, { supplyLength: null })

/** What the witnesses of a hub's supply chain had signed at the last audit, and whether any was heard of lately. */
export type Witnessed = {
  /** When a witness was heard of last, by its clock. */
  lastMs: number
  isStale: boolean
  /** Ids of records that stood on the chain as they were witnessed, by their place. */
  agreed: readonly (readonly [seq: number, id: Uint8Array])[]
}

export function witnessedOf(store: Store, hub: string): Witnessed | undefined {
  const row = accountOf(store, hub, 'witnessedAt', 'witnessStale')
  if (row === undefined || row.witnessedAt === null) return undefined
  const records = store.all<{ seq: number; id: Uint8Array }>(
    'SELECT seq, id FROM witnessed_records WHERE hub = ? ORDER BY seq',
    hub,
  )
  const agreed = records.map(({ seq, id }) => [seq, id] as const)
  return { lastMs: row.witnessedAt, isStale: row.witnessStale === 1, agreed }
}

export function keepWitnessed(store: Store, hub: string, { lastMs, isStale, agreed }: Witnessed): void {
  keep(store, hub, { witnessedAt: lastMs, witnessStale: isStale ? 1 : 0 })
  store.run('DELETE FROM witnessed_records WHERE hub = ?', hub)
  for (const [seq, id] of agreed)
    store.run('INSERT OR REPLACE INTO witnessed_records VALUES (?, ?, ?)', hub, seq, id)
}

/** A person goes on with a hub in spite of what was found. */
export function forgetWitnessed(store: Store, hub: string): void {
  keep(store, hub, { witnessedAt: null, witnessStale: 0 })
  store.run('DELETE FROM witnessed_records WHERE hub = ?', hub)
}

/** When a hub was asked what lost copies ordered there, and since which restore. */
export function lostAskedOf(store: Store, hub: string): { atMs: number; settledMs: number } | undefined {
  const { lostAskedAt: atMs, lostSettledAt: settledMs } =
    accountOf(store, hub, 'lostAskedAt', 'lostSettledAt') ?? {}
  return typeof atMs === 'number' && typeof settledMs === 'number' ? { atMs, settledMs } : undefined
}

/** Keeps that a hub was asked, and the debits for which it showed nothing that was signed. */
export function keepLostAsked(
  store: Store,
  hub: string,
  asked: { atMs: number; settledMs: number; unproven: readonly UnprovenDebit[] },
): void {
  keep(store, hub, { lostAskedAt: asked.atMs, lostSettledAt: asked.settledMs })
  store.run('DELETE FROM unproven_debits WHERE hub = ?', hub)
  for (const { seq, id, amount, at, counterparty, reason } of asked.unproven)
    store.run(
      'INSERT INTO unproven_debits VALUES (?, ?, ?, ?, ?, ?, ?)',
      hub,
      seq,
      id,
      amount,
      at,
      counterparty,
      reason,
    )
}

/** Debits for which hubs showed nothing that was signed, as they were asked since that restore. */
export const unprovenSince = (store: Store, settledMs: number): UnprovenDebit[] =>
  store.all(
    `SELECT d.seq, d.id, d.amount, d.at, d.counterparty, d.reason
     FROM hub_accounts AS a JOIN unproven_debits AS d ON d.hub = a.hub
     WHERE a.lost_settled_at = ? ORDER BY d.hub, d.seq DESC`,
    settledMs,
  )
