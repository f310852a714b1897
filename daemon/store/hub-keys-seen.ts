/** When a key state of a hub was first seen here. */
import { integer, text } from './columns.ts'
import type { Store } from './open.ts'

export const hubKeysSeenTable = {
  name: 'hub_keys_seen',
  columns: { hub: text, seq: integer, at: integer },
} as const

/** Keeps the time of the first sight alone. */
export function noteHubKeySeen(store: Store, hub: string, seq: number, at: () => number): void {
  if (hubKeySeenAt(store, hub, seq) === undefined)
    store.run('INSERT INTO hub_keys_seen VALUES (?, ?, ?)', hub, seq, at())
}

/** When it was; undefined for one that was never seen. */
export const hubKeySeenAt = (store: Store, hub: string, seq: number): number | undefined =>
  store.get<{ at: number }>('SELECT at FROM hub_keys_seen WHERE hub = ? AND seq = ?', hub, seq)?.at
