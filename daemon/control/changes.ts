/** What the other sides did since a moment: cursors of lists, by which a caller learns of every change once. */
import { type Page, readCursor, type Since } from '../../protocol/control/cursors.ts'
import type { News } from '../../protocol/control/shapes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { refuse } from '../refusal.ts'
import { PREVIEW_CHARACTERS } from '../store/glimpses.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'

/** Messages by which the other side moves a task on. */
const MOVES = [
  kinds.delegate,
  kinds.result,
  kinds.message,
  kinds.end,
  kinds.acceptEnd,
  kinds.receipt,
  kinds.counterSignature,
  kinds.quote,
  kinds.declined,
  kinds.cancelled,
  kinds.noReceipt,
]
/** How far a clock may have been set back while somebody has a list. */
const AHEAD_MAX_MS = 86_400_000
/** States that come by themselves, without a message. */
const BY_ITSELF = "('failed', 'expired')"

/** Reads a cursor; one that no reply gave would silently list from the start. */
export const cursorOf = (cursor: string): Page | Since => readCursor(cursor) ?? refuseCursor()

export const refuseCursor = () =>
  refuse('bad_request', 'cursor: expected the next_cursor or the new_cursor of the reply before')

export class Changes {
  readonly #store: Store
  readonly #now: () => number

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** The moment that a list is of: changes after it are news to whoever has the list. */
  moment(): Since {
    const newest = this.#store.get<{ key: number | null }>('SELECT max(key) AS key FROM messages')
    return { kind: 'since', message: newest?.key ?? 0, at: this.#now() }
  }

  /** Keys of the interactions of a side that changed since, the earliest change first, and the moment that this is of. */
  since(side: 'sent' | 'received', { message, at }: Since, limit: number): { keys: number[]; upTo: Since } {
    const now = this.moment()
    // of another node, or of this one before an older copy of its directory was put back
    if (message > now.message || at > now.at + AHEAD_MAX_MS) refuseCursor()
    const moved = this.#store.all<{ key: number; newest: number }>(
      `SELECT i.key, max(m.key) AS newest FROM messages AS m JOIN interactions AS i ON i.key = m.interaction
       WHERE m.key > ? AND m.direction = 'in' AND m.kind IN (${MOVES}) AND i.side = ?
       GROUP BY i.key ORDER BY newest LIMIT ?`,
      message,
      side,
      limit + 1,
    )
    const last = moved[limit - 1]
    if (moved.length > limit && last !== undefined)
      return { keys: moved.slice(0, limit).map(row => row.key), upTo: { ...now, message: last.newest, at } }
    const stopped = this.#store.all<{ key: number }>(
      `SELECT key FROM interactions WHERE side = ? AND state IN ${BY_ITSELF} AND updated_at > ? AND updated_at <= ?`,
      side,
      at,
      now.at,
    )
    return { keys: [...new Set([...moved, ...stopped].map(row => row.key))], upTo: now }
  }

  /**
   * What the other side did after a message, as far as nobody read it: words, and a proposed end that waits for this side.
   * Steps that answer this side's own, as an accepted end or a receipt, are no news.
   */
  news({ key, lastIn, readTo, state, endBy }: Interaction, since: number): News | undefined {
    const after = Math.max(since, readTo)
    const wrote = lastIn > after
    const words = wrote
      ? this.#store.get<{ text: string }>(
          "SELECT text FROM messages WHERE interaction = ? AND direction = 'in' AND key > ? AND text <> '' ORDER BY key DESC LIMIT 1",
          key,
          after,
        )
      : undefined
    const proposed =
      state === 'end_proposed' && endBy === 'peer'
        ? this.#store.get(
            `SELECT 1 FROM messages WHERE interaction = ? AND direction = 'in' AND key > ? AND kind = ${kinds.end} LIMIT 1`,
            key,
            after,
          )
        : undefined
    if (!wrote && proposed === undefined) return undefined
    return present({
      wrote: wrote || undefined,
      preview: words?.text.slice(0, PREVIEW_CHARACTERS),
      proposes_end: proposed === undefined ? undefined : true,
    })
  }
}
