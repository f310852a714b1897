/** Verdicts on messages by sender and id: a message that comes again gets the answer that it had. */
import { blob, integer, oneOf, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

/** What this node says of a message that it was given, each as it is kept. */
export const verdicts = {
  stored: 0,
  refusedByPolicy: 1,
  malformed: 2,
  times: 3,
  retiredKey: 4,
  ended: 5,
} as const
export type Verdict = keyof typeof verdicts
type Kept = (typeof verdicts)[Verdict]
const names = Object.keys(verdicts) as Verdict[]

export const seenTable = {
  name: 'seen',
  columns: { sender: text, messageId: blob, code: oneOf<Kept>(integer), until: integer },
} as const
type Seen = RowOf<typeof seenTable>
type Judged = Omit<Seen, 'code'> & { verdict: Verdict }

export function verdictOn(store: Store, sender: string, messageId: Uint8Array): Verdict | undefined {
  const kept = store.get<Pick<Seen, 'code'>>(
    'SELECT code FROM seen WHERE sender = ? AND message_id = ?',
    sender,
    messageId,
  )?.code
  return names.find(name => verdicts[name] === kept)
}

/** The first verdict on a message stays. */
export function noteVerdict(store: Store, { sender, messageId, verdict, until }: Judged): void {
  store.run('INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)', sender, messageId, verdicts[verdict], until)
}

export function forgetVerdicts(store: Store, now: number): void {
  store.run('DELETE FROM seen WHERE until < ?', now)
}
