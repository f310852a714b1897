/** What was committed under an idempotency key, so that the same order is carried out once. */
import { blob, integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const idempotencyTable = {
  name: 'idempotency',
  columns: { key: text, digest: blob, reply: text, at: integer },
} as const
type Committed = RowOf<typeof idempotencyTable>

export function committedUnder(store: Store, key: string): Pick<Committed, 'digest' | 'reply'> | undefined {
  return store.get('SELECT digest, reply FROM idempotency WHERE key = ?', key)
}

export function keepCommitted(store: Store, { key, digest, reply, at }: Committed): void {
  store.run('INSERT INTO idempotency VALUES (?, ?, ?, ?)', key, digest, reply, at)
}

export function forgetCommitted(store: Store, before: number): void {
  store.run('DELETE FROM idempotency WHERE at < ?', before)
}
