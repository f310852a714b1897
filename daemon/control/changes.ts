/** What the other sides did since a moment: cursors of lists, by which a caller learns of every change once. */
import { type Page, readCursor, type Since } from '../../protocol/control/cursors.ts'
import type { News } from '../../protocol/control/shapes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { refuse } from '../refusal.ts'
import { PREVIEW_CHARACTERS } from '../store/glimpses.ts'
import { isEndProposedAfter, movedAfter, newestMessage, stoppedWithin, wordsAfter } from '../store/lists.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'

/** How far a clock may have been set back while somebody has a list. */
const AHEAD_MAX_MS = 86_400_000

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
    return { kind: 'since', message: newestMessage(this.#store), at: this.#now() }
  }

  /** Keys of the interactions of a side that changed since, the earliest change first, and the moment that this is of. */
  since(side: 'sent' | 'received', { message, at }: Since, limit: number): { keys: number[]; upTo: Since } {
    const now = this.moment()
    // of another node, or of this one before an older copy of its directory was put back
    if (message > now.message || at > now.at + AHEAD_MAX_MS) refuseCursor()
    const moved = movedAfter(this.#store, side, message, limit + 1)
    const last = moved[limit - 1]
    if (moved.length > limit && last !== undefined)
      return { keys: moved.slice(0, limit).map(row => row.key), upTo: { ...now, message: last.newest, at } }
    const stopped = stoppedWithin(this.#store, side, { after: at, upTo: now.at })
    return { keys: [...new Set([...moved.map(row => row.key), ...stopped])], upTo: now }
  }

  /**
   * What the other side did after a message, as far as nobody read it: words, and a proposed end that waits for this side.
   * Steps that answer this side's own, as an accepted end or a receipt, are no news.
   */
  news({ key, lastIn, readTo, state, endBy }: Interaction, since: number): News | undefined {
    const after = Math.max(since, readTo)
    const wrote = lastIn > after
    const words = wrote ? wordsAfter(this.#store, key, after) : undefined
    const isProposed =
      state === 'end_proposed' && endBy === 'peer' && isEndProposedAfter(this.#store, key, after)
    if (!wrote && !isProposed) return undefined
    return present({
      wrote: wrote || undefined,
      preview: words?.slice(0, PREVIEW_CHARACTERS),
      proposes_end: isProposed || undefined,
    })
  }
}
