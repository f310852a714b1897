/** The messages of a thread that a reader sees, without their payloads. */
import { kinds, wordKinds } from '../../protocol/mail/payload.ts'
import type { Interaction } from './interactions.ts'
import { IN_ORDER, type Message } from './messages.ts'
import type { Store } from './open.ts'

/** A message as readers see it; its payload stays where it is. */
export type ShownMessage = Omit<Message, 'payload'>
const SHOWN_COLUMNS = `key, interaction, direction, sender, recipient, message_id, kind, number, at, digest, text,
  retired, auto, delivery, reason, reason_by, place, direct`

/** One under a retired key is shown too, until the same one came under a good key. */
const SHOWN = `messages AS m WHERE interaction = ? AND (number > 0 OR kind = ? OR (retired = 1
  AND NOT EXISTS (SELECT 1 FROM messages AS g WHERE g.interaction = m.interaction AND g.retired = 0
    AND g.digest = m.digest)))`

/** A page of what a reader of a thread sees. */
export function shownMessages(
  store: Store,
  interaction: Interaction,
  page: { skip: number; limit: number },
): ShownMessage[] {
  return store.rows(
    `SELECT ${SHOWN_COLUMNS} FROM messages WHERE key IN (
         SELECT key FROM ${SHOWN} ORDER BY ${IN_ORDER} LIMIT ? OFFSET ?) ORDER BY ${IN_ORDER}`,
    interaction.key,
    kinds.delegate,
    page.limit,
    page.skip,
  )
}

/** The number of the turn that a message is. */
export function turnOf(store: Store, message: { key: number; interaction: number | null }): number {
  const shown = store.get<{ n: number }>(
    `SELECT count(*) AS n FROM ${SHOWN} AND (coalesce(place, key), number) <=
       (SELECT coalesce(place, key), number FROM messages WHERE key = ?)`,
    message.interaction,
    kinds.delegate,
    message.key,
  )
  return shown?.n ?? 0
}

/** Whether the other side said something in this turn or a later one. */
export function hasWordsFrom(store: Store, interaction: Interaction, turn: number): boolean {
  const found = store.get(
    `SELECT 1 FROM (SELECT kind, direction FROM ${SHOWN} ORDER BY ${IN_ORDER} LIMIT -1 OFFSET ?)
     WHERE direction = 'in' AND kind IN (${wordKinds}) LIMIT 1`,
    interaction.key,
    kinds.delegate,
    Math.max(turn, 1) - 1,
  )
  return found !== undefined
}

/** The turn with which the last words of the other side begin: they may be several messages. */
export function answerTurnOf(store: Store, interaction: Interaction): number {
  const turn = store.get<{ n: number }>(
    `WITH shown AS (SELECT row_number() OVER (ORDER BY ${IN_ORDER}) AS key, kind, direction FROM ${SHOWN}),
       words AS (SELECT key, direction FROM shown WHERE kind IN (${wordKinds})),
       newest AS (SELECT max(key) AS key FROM words WHERE direction = 'in'),
       asked AS (SELECT max(key) AS key FROM words WHERE direction = 'out' AND key < (SELECT key FROM newest)),
       answer AS (SELECT min(key) AS key FROM words
         WHERE direction = 'in' AND key > coalesce((SELECT key FROM asked), 0))
     SELECT count(*) AS n FROM shown WHERE key <= (SELECT key FROM answer)`,
    interaction.key,
    kinds.delegate,
  )
  return Math.max(turn?.n ?? 0, 1)
}

/**
 * Where somebody who has read up to a turn goes on: at that turn, or earlier, where words came late that nobody has read
 * and nothing else did.
 */
export function goOnFrom(store: Store, interaction: Interaction, turn: number): number {
  const late = store.get<{ key: number; interaction: number }>(
    `SELECT key, interaction FROM messages WHERE interaction = ? AND direction = 'in' AND key > ? AND place IS NOT NULL
     ORDER BY ${IN_ORDER} LIMIT 1`,
    interaction.key,
    interaction.readTo,
  )
  const other = store.get(
    `SELECT 1 FROM messages WHERE interaction = ? AND direction = 'in' AND key > ? AND place IS NULL LIMIT 1`,
    interaction.key,
    interaction.readTo,
  )
  return late === undefined || other !== undefined ? turn : Math.min(turn, turnOf(store, late))
}
