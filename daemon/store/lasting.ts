/** Single values of this node that outlive a restart. What there may be several of has a table of its own. */
import { blob, columnOf, flag, integer, json, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

/** The number of the folder tells a copy from the folder that it was made of. */
export type MachinePlace = { machine: string; dir: string; folder: number }

export const lastingTable = {
  name: 'lasting',
  columns: {
    one: oneOf<1>(integer),
    /** How much of the evidence chain is verified, as its identity signed it. */
    chainCheckpoint: orNull(blob),
    /** When the archive was made that this store came from, until the hub was asked. */
    restoredFrom: orNull(integer),
    /** The contacts have still to be asked what was lost with a restore. */
    contactsDue: flag,
    /** The head of a correspondent that this chain contradicts: its AID as bytes, length and id. */
    contradictingPeer: orNull(blob),
    contradictingLength: orNull(integer),
    contradictingId: orNull(blob),
    /** Heads beyond this length, under this key state or an older one, were signed by a copy that is lost. */
    lostBeyond: orNull(integer),
    lostKelSeq: orNull(integer),
    /** A key set that a newer copy made may be outnumbered. */
    copyAccepted: flag,
    /** A key set that shows other copies that this one took over is to be made, or made and to be published. */
    keySetDue: orNull(oneOf<'raise' | 'publish'>(text)),
    /** Where this store was last used. */
    place: orNull(json<MachinePlace>()),
    /** When another node of this identity was found to be first, where that was known to be, and where this one is. */
    secondCopy: orNull(json<{ atMs: number; former?: MachinePlace; here: MachinePlace }>()),
    /** When its owner let this copy go on in the place of every other one, and where it was last used. */
    takenOver: orNull(json<{ atMs: number; former?: MachinePlace }>()),
    /** When another copy tried to poll the mailbox. */
    copySeenAt: orNull(integer),
    /** The mailbox is to be replaced, and the correspondents are to be told. */
    mailboxDue: flag,
    /** Seq of the key event under which the outbox was last made ready. */
    outboxKelSeq: orNull(integer),
    /** The AID of the identity that was made anew, and when. */
    anewFrom: orNull(text),
    anewAt: orNull(integer),
    /** When a message was last given up. */
    gaveUpAt: orNull(integer),
    /** The UTC day for which uses of capabilities are counted. */
    usesDay: orNull(integer),
  },
} as const
type Lasting = Omit<RowOf<typeof lastingTable>, 'one'>

/** One of the values; undefined where it was never kept, or was taken out. */
export function lasting<M extends keyof Lasting>(
  store: Store,
  member: M,
): NonNullable<Lasting[M]> | undefined {
  const row = store.get<{ value: Lasting[M] }>(`SELECT ${columnOf(member)} AS value FROM lasting`)
  return row?.value ?? undefined
}

/** Keeps values, all of them or none; null takes one out. */
export function keepLasting(store: Store, changes: Partial<Lasting>): void {
  const columns = Object.keys(changes).map(columnOf)
  store.run(
    `INSERT INTO lasting (one, ${columns.join(', ')}) VALUES (1${', ?'.repeat(columns.length)})
     ON CONFLICT (one) DO UPDATE SET ${columns.map(column => `${column} = excluded.${column}`).join(', ')}
     WHERE ${columns.map(column => `lasting.${column} IS NOT excluded.${column}`).join(' OR ')}`,
    ...Object.values(changes),
  )
}
