/** The last answers of the auto-reply, and its runs within the hour. */
import { integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const autoRepliesTable = {
  name: 'auto_replies',
  columns: {
    key: integer,
    interactionId: text,
    at: integer,
    event: oneOf<'answered' | 'failed'>(text),
    ms: integer,
    cost: orNull(text),
  },
} as const
type AutoReply = Omit<RowOf<typeof autoRepliesTable>, 'key'>

export const autoReplyRunsTable = {
  name: 'auto_reply_runs',
  columns: { key: integer, peer: text, at: integer, ms: integer },
} as const
type Run = Omit<RowOf<typeof autoReplyRunsTable>, 'key'>

/** The newest first. */
export const autoReplies = (store: Store): AutoReply[] =>
  store.rows('SELECT interaction_id, at, event, ms, cost FROM auto_replies ORDER BY key DESC')

/** Keeps one, and as many of the newest as are kept. */
export function keepAutoReply(store: Store, reply: AutoReply, keptMax: number): void {
  const { interactionId, at, event, ms, cost } = reply
  store.run(
    'INSERT INTO auto_replies (interaction_id, at, event, ms, cost) VALUES (?, ?, ?, ?, ?)',
    interactionId,
    at,
    event,
    ms,
    cost,
  )
  store.run(
    'DELETE FROM auto_replies WHERE key NOT IN (SELECT key FROM auto_replies ORDER BY key DESC LIMIT ?)',
    keptMax,
  )
}

/** Runs that count for the limits, the oldest first. */
export const autoReplyRuns = (store: Store): Run[] =>
  store.all('SELECT peer, at, ms FROM auto_reply_runs ORDER BY key')

/** Keeps these runs and no others. */
export function keepAutoReplyRuns(store: Store, runs: readonly Run[]): void {
  store.run('DELETE FROM auto_reply_runs')
  for (const { peer, at, ms } of runs)
    store.run('INSERT INTO auto_reply_runs (peer, at, ms) VALUES (?, ?, ?)', peer, at, ms)
}
