/** The mark of a store that came from an archive: what its identity signed since is not known here until the hub was asked. */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { forget, recall, remember } from '../store/memory.ts'
import type { Store } from '../store/open.ts'

/** What happened in between is not known here. */
export type Restore = {
  madeAtMs: number
  settledMs: number
  /** Key of the newest task that the store had: a copy that is lost may have gone on with it. */
  lastTask?: number
}

const RESTORED = 'restored from an archive'
const LAST = 'last restore'
const ALL = 'restores'
const KEPT_MAX = 8
const CONTACTS_DUE = 'contacts to ask after a restore'

export const markRestored = (store: Store, madeAtMs: number): void =>
  remember(store, RESTORED, utf8(String(madeAtMs)))

/** When the archive was made that this store came from, until its node has asked its hub. */
export function restoredAt(store: Store): number | undefined {
  const mark = recall(store, RESTORED)
  return mark === undefined ? undefined : Number(fromUtf8(mark))
}

/** The hub was asked; what the correspondents hold is asked next. */
export function noteSettled(store: Store, madeAtMs: number, settledMs: number): void {
  forget(store, RESTORED)
  const lastTask = store.get<{ key: number }>('SELECT coalesce(max(key), 0) AS key FROM interactions')?.key
  const restore: Restore = { madeAtMs, settledMs, ...present({ lastTask }) }
  const all = [...restores(store), restore].slice(-KEPT_MAX)
  remember(store, LAST, utf8(JSON.stringify(restore)))
  remember(store, ALL, utf8(JSON.stringify(all)))
  remember(store, CONTACTS_DUE, utf8('yes'))
}

/** When the archive was made from which this store came last, and when its node went on from there. */
export function lastRestore(store: Store): Restore | undefined {
  const mark = recall(store, LAST)
  return mark === undefined ? undefined : (JSON.parse(fromUtf8(mark)) as Restore)
}

/** Every restore of which this store knows, the newest last: a backup that was made after one knows of it too. */
export function restores(store: Store): Restore[] {
  const kept = recall(store, ALL)
  const last = lastRestore(store)
  if (kept !== undefined) return JSON.parse(fromUtf8(kept)) as Restore[]
  return last === undefined ? [] : [last]
}

/** Whether the contacts have still to be asked what was lost. */
export const areContactsDue = (store: Store): boolean => recall(store, CONTACTS_DUE) !== undefined

/** Every one of them has its question in the queue. */
export const noteContactsAsked = (store: Store): void => forget(store, CONTACTS_DUE)

const answeredName = (peer: string): string => `numbers answered by ${peer}`

/** When the newest question was asked what a peer holds that it has answered; 0 for none. */
export function answeredTo(store: Store, peer: string): number {
  const at = recall(store, answeredName(peer))
  return at === undefined ? 0 : Number(fromUtf8(at))
}

export const noteAnswered = (store: Store, peer: string, askedAtMs: number): void =>
  remember(store, answeredName(peer), utf8(String(Math.max(askedAtMs, answeredTo(store, peer)))))
