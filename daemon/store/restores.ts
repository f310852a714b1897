/**
 * That a store came from an archive, and when: what its identity signed in between is not known here until its hub and its
 * correspondents were asked.
 */
import { present } from '../../protocol/encoding/present.ts'
import { integer, orNull, type RowOf, text } from './columns.ts'
import { forgetTold } from './direct.ts'
import { newestKey } from './interactions.ts'
import { keepLasting, lasting } from './lasting.ts'
import type { Store } from './open.ts'

export const restoresTable = {
  name: 'restores',
  columns: {
    key: integer,
    madeAt: integer,
    settledAt: integer,
    /** Key of the newest task that the store had: a copy that is lost may have gone on with it. */
    lastTask: orNull(integer),
  },
} as const
type RestoreRow = RowOf<typeof restoresTable>

export const numbersAnsweredTable = {
  name: 'numbers_answered',
  columns: { peer: text, askedAt: integer },
} as const

/** What happened in between is not known here. */
export type Restore = { madeAtMs: number; settledMs: number; lastTask?: number }

const KEPT_MAX = 8

/** Marks a store that comes from an archive. */
export const markRestored = (store: Store, madeAtMs: number): void =>
  keepLasting(store, { restoredFrom: madeAtMs })

/** When the archive was made that this store came from, until its node has asked its hub. */
export const restoredAt = (store: Store): number | undefined => lasting(store, 'restoredFrom')

/** The hub was asked; what the correspondents hold is asked next. */
export function noteSettled(store: Store, madeAtMs: number, settledMs: number): void {
  store.run(
    'INSERT INTO restores (made_at, settled_at, last_task) VALUES (?, ?, ?)',
    madeAtMs,
    settledMs,
    newestKey(store),
  )
  store.run(
    'DELETE FROM restores WHERE key NOT IN (SELECT key FROM restores ORDER BY key DESC LIMIT ?)',
    KEPT_MAX,
  )
  forgetTold(store)
  keepLasting(store, { restoredFrom: null, contactsDue: 1 })
}

type Times = { madeAtMs: number; settledMs: number } & Pick<RestoreRow, 'lastTask'>
const COLUMNS = 'made_at AS madeAtMs, settled_at AS settledMs, last_task AS lastTask'
const restoreOf = ({ lastTask, ...times }: Times): Restore => ({
  ...times,
  ...present({ lastTask: lastTask ?? undefined }),
})

/** When the archive was made from which this store came last, and when its node went on from there. */
export function lastRestore(store: Store): Restore | undefined {
  const row = store.get<Times>(`SELECT ${COLUMNS} FROM restores ORDER BY key DESC LIMIT 1`)
  return row && restoreOf(row)
}

/** Every restore of which this store knows, the newest last: a backup that was made after one knows of it too. */
export const restores = (store: Store): Restore[] =>
  store.all<Times>(`SELECT ${COLUMNS} FROM restores ORDER BY key`).map(restoreOf)

/** Whether the contacts have still to be asked what was lost. */
export const areContactsDue = (store: Store): boolean => lasting(store, 'contactsDue') === 1

/** Every one of them has its question in the queue. */
export const noteContactsAsked = (store: Store): void => keepLasting(store, { contactsDue: 0 })

/** When the newest question was asked what a peer holds that it has answered; 0 for none. */
export const answeredTo = (store: Store, peer: string): number =>
  store.get<{ askedAt: number }>('SELECT asked_at AS askedAt FROM numbers_answered WHERE peer = ?', peer)
    ?.askedAt ?? 0

/** The peer has answered a question that was asked then. */
export function noteAnswered(store: Store, peer: string, askedAtMs: number): void {
  store.run(
    `INSERT INTO numbers_answered VALUES (?, ?)
     ON CONFLICT (peer) DO UPDATE SET asked_at = max(asked_at, excluded.asked_at)`,
    peer,
    askedAtMs,
  )
}
