/** What a list shows of its tasks beside their own rows, in one question of the store. */
import { kinds, wordKinds } from '../../protocol/mail/payload.ts'
import type { DeliveryState } from './messages.ts'
import type { Store } from './open.ts'

/** The first 200 characters of a text: a character is never longer than three bytes, or two are no longer than four. */
export const PREVIEW_CHARACTERS = 200
const PREVIEW_BYTES = 3 * PREVIEW_CHARACTERS

export type Glimpse = {
  interaction: number
  /** Newest words of either side, and whether a person of this side wrote them. */
  preview: string | null
  previewMine: 0 | 1 | null
  /** Words of the other side that nobody read: how many, and the newest. */
  unread: number
  unreadPreview: string | null
  attachments: number
  /** Newest numbered message of this side, by its key, and what became of it. */
  own: number | null
  delivery: DeliveryState | null
  reason: string | null
  reasonBy: 'node' | null
  direct: 0 | 1 | null
  isReviewed: 0 | 1
  isPriced: 0 | 1
}

// a text is cut as bytes, because substr() of a text ends at the first NUL; half a character is cut off by the caller
const previewOf = (text: string) => `CAST(substr(CAST(${text} AS BLOB), 1, ${PREVIEW_BYTES}) AS TEXT)`

export const GLIMPSES = `
SELECT
  i.key AS interaction,
  ${previewOf('newest.text')} AS preview,
  newest.direction = 'out' AND newest.auto = 0 AND newest.kind NOT IN (${kinds.result}, ${kinds.quote}) AS preview_mine,
  (SELECT count(*) FROM messages AS m
   WHERE m.interaction = i.key AND m.direction = 'in' AND m.key > i.read_to AND m.kind IN (${wordKinds})) AS unread,
  (SELECT ${previewOf('m.text')} FROM messages AS m
   WHERE m.interaction = i.key AND m.direction = 'in' AND m.key > i.read_to AND m.text <> ''
   ORDER BY m.key DESC LIMIT 1) AS unread_preview,
  (SELECT count(*) FROM messages AS m JOIN message_attachments AS a ON a.message = m.key
   WHERE m.interaction = i.key) AS attachments,
  own.key AS own, own.delivery, own.reason, own.reason_by, own.direct,
  EXISTS (SELECT 1 FROM reviews AS r WHERE r.interaction = i.key)
    OR EXISTS (SELECT 1 FROM ratings AS r WHERE r.interaction = i.key) AS is_reviewed,
  EXISTS (SELECT 1 FROM payments AS p WHERE p.interaction = i.key)
    OR EXISTS (SELECT 1 FROM quotes AS q WHERE q.interaction = i.key) AS is_priced
FROM interactions AS i
LEFT JOIN messages AS newest ON newest.key =
  (SELECT m.key FROM messages AS m WHERE m.interaction = i.key AND m.text <> '' ORDER BY m.key DESC LIMIT 1)
LEFT JOIN messages AS own ON own.key =
  (SELECT m.key FROM messages AS m WHERE m.interaction = i.key AND m.direction = 'out' AND m.number > 0
   ORDER BY m.number DESC LIMIT 1)
WHERE i.key IN (SELECT value FROM json_each(?))`

/** By the keys of the interactions. */
export function glimpsesOf(store: Store, interactions: readonly number[]): ReadonlyMap<number, Glimpse> {
  const rows = interactions.length === 0 ? [] : store.rows<Glimpse>(GLIMPSES, JSON.stringify(interactions))
  return new Map(rows.map(glimpse => [glimpse.interaction, glimpse]))
}
