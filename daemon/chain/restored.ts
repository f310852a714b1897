/** The mark of a store that came from an archive: what its identity signed since is not known here until the hub was asked. */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { forget, recall, remember } from '../store/memory.ts'
import type { Store } from '../store/open.ts'

const RESTORED = 'restored from an archive'

export const markRestored = (store: Store, madeAtMs: number): void =>
  remember(store, RESTORED, utf8(String(madeAtMs)))

/** When the archive was made that this store came from, until its node has asked its hub. */
export function restoredAt(store: Store): number | undefined {
  const mark = recall(store, RESTORED)
  return mark === undefined ? undefined : Number(fromUtf8(mark))
}

export const noteSettled = (store: Store): void => forget(store, RESTORED)
