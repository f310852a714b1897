/** Verdicts on messages by sender and id: a message that comes again gets the answer that it had. */
import type { DackCode } from '../../protocol/mail/dack.ts'
import { blob, integer, oneOf, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const seenTable = {
  name: 'seen',
  columns: { sender: text, messageId: blob, code: oneOf<DackCode>(integer), until: integer },
} as const
type Seen = RowOf<typeof seenTable>

export function verdictOn(store: Store, sender: string, messageId: Uint8Array): DackCode | undefined {
  return store.get<Pick<Seen, 'code'>>(
    'SELECT code FROM seen WHERE sender = ? AND message_id = ?',
    sender,
    messageId,
  )?.code
}

/** The first verdict on a message stays. */
export function noteVerdict(store: Store, { sender, messageId, code, until }: Seen): void {
  store.run('INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)', sender, messageId, code, until)
}

export function forgetVerdicts(store: Store, now: number): void {
  store.run('DELETE FROM seen WHERE until < ?', now)
}
