/** Lists of tasks: pages of them, counts, and what the other sides did since a moment. */
import { kinds } from '../../protocol/mail/payload.ts'
import { ARCHIVED, NOT_ARCHIVED } from './interactions.ts'
import type { Store } from './open.ts'
import { beginning, HAS_WORDS, holdsWord, phrase } from './search.ts'

type Side = 'sent' | 'received'
const UNFINISHED = ['pending', 'open', 'end_proposed'] as const

/** A word of a filter, and the AIDs of the contacts whose name holds it. */
export type FilterWord = { word: string; contacts: readonly string[] }

/** The row after which a list goes on, as it stood when it was listed. */
export type RowPlace = { updatedAt: number; key: number }

/** Which tasks are listed. */
export type PageRequest = {
  side: Side
  pending?: boolean | undefined
  unfinished?: boolean | undefined
  ended?: boolean
  q?: string | undefined
  /** Only what waits for a yes of this side. */
  needs?: boolean | undefined
  /** Only what was taken out of the lists. */
  archived?: boolean | undefined
  filter?: readonly FilterWord[]
}

/** Keys of a page, the newest first. */
export function keysOfPage(
  store: Store,
  given: PageRequest,
  after: RowPlace | undefined,
  rows: number,
): number[] {
  const { sql, parameters } = pageQuestion(given, after, rows)
  return store.all<{ key: number }>(sql, ...parameters).map(({ key }) => key)
}

/**
 * How the store is asked for the keys of a page. Every state is asked for by itself, newest first, and the answers are merged: so
 * a few open tasks are found as quickly among a hundred thousand that ended.
 */
export function pageQuestion(given: PageRequest, after: RowPlace | undefined, rows: number) {
  const parameters: (string | number)[] = [given.side, rows]
  const conditions = ['side = ?1']
  if (after !== undefined) {
    parameters.push(after.updatedAt, after.key)
    conditions.push('(updated_at, key) < (?3, ?4)')
  }
  if (given.q) {
    parameters.push(phrase(given.q))
    conditions.push(HAS_WORDS.replace('?', `?${parameters.length}`))
  }
  for (const { word, contacts } of given.filter ?? []) {
    const at = parameters.push(beginning(word), word, JSON.stringify(contacts))
    conditions.push(holdsWord({ beginning: at - 2, part: at - 1, contacts: at }))
  }
  if (given.needs === true && given.side === 'sent') conditions.push(HAS_OPEN_PRICE)
  const isSearched = Boolean(given.q) || (given.filter ?? []).length > 0
  if (given.archived === true) conditions.push(ARCHIVED)
  else if (!isSearched) conditions.push(NOT_ARCHIVED)
  const parts = statesOf(given)?.map(state => `state = '${state}'`) ?? ['true']
  const asked = parts.map(
    part => `SELECT key, updated_at FROM interactions WHERE ${[...conditions, part].join(' AND ')}`,
  )
  return { sql: `${asked.join(' UNION ALL ')} ORDER BY updated_at DESC, key DESC LIMIT ?2`, parameters }
}

/** A price that waits for the yes of a person. */
const HAS_OPEN_PRICE = "key IN (SELECT interaction FROM quotes WHERE state = 'open')"

function statesOf({ pending, unfinished, ended, needs, side }: PageRequest): readonly string[] | undefined {
  if (pending === true || (needs === true && side === 'received')) return ['pending']
  if (unfinished === true) return UNFINISHED
  return ended === true ? ['ended'] : undefined
}

/** Tasks of others that wait for a yes. */
export const pendingCount = (store: Store): number =>
  store.get<{ n: number }>(
    "SELECT count(*) AS n FROM interactions WHERE side = 'received' AND state = 'pending'",
  )?.n ?? 0

/** Tasks of a side in which something came that nobody read. */
export const unreadCount = (store: Store, side: Side): number =>
  store.get<{ n: number }>(
    'SELECT count(*) AS n FROM interactions WHERE last_in > read_to AND side = ?',
    side,
  )?.n ?? 0

/** Key of the newest message; 0 where there is none. */
export const newestMessage = (store: Store): number =>
  store.get<{ key: number | null }>('SELECT max(key) AS key FROM messages')?.key ?? 0

/** Key of the newest message of a task; 0 where there is none. */
export const newestMessageOf = (store: Store, interaction: number): number =>
  store.get<{ key: number | null }>('SELECT max(key) AS key FROM messages WHERE interaction = ?', interaction)
    ?.key ?? 0

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
/** States that come by themselves, without a message. */
const BY_ITSELF = "('failed', 'expired')"

/** Tasks of a side that the other one moved on after a message, with the newest message that did, the earliest change first. */
export const movedAfter = (
  store: Store,
  side: Side,
  message: number,
  max: number,
): { key: number; newest: number }[] =>
  store.all(
    `SELECT i.key, max(m.key) AS newest FROM messages AS m JOIN interactions AS i ON i.key = m.interaction
     WHERE m.key > ? AND m.direction = 'in' AND m.kind IN (${MOVES}) AND i.side = ?
     GROUP BY i.key ORDER BY newest LIMIT ?`,
    message,
    side,
    max,
  )

/** Tasks of a side that failed, or that nobody answered in time, within these times. */
export const stoppedWithin = (
  store: Store,
  side: Side,
  { after, upTo }: { after: number; upTo: number },
): number[] =>
  store
    .all<{ key: number }>(
      `SELECT key FROM interactions WHERE side = ? AND state IN ${BY_ITSELF} AND updated_at > ? AND updated_at <= ?`,
      side,
      after,
      upTo,
    )
    .map(({ key }) => key)

/** The last words that came after a message. */
export const wordsAfter = (store: Store, interaction: number, message: number): string | undefined =>
  store.get<{ text: string }>(
    "SELECT text FROM messages WHERE interaction = ? AND direction = 'in' AND key > ? AND text <> '' ORDER BY key DESC LIMIT 1",
    interaction,
    message,
  )?.text

/** Whether the other side proposed the end after a message. */
export const isEndProposedAfter = (store: Store, interaction: number, message: number): boolean =>
  store.get(
    `SELECT 1 FROM messages WHERE interaction = ? AND direction = 'in' AND key > ? AND kind = ${kinds.end} LIMIT 1`,
    interaction,
    message,
  ) !== undefined

/** The last words of the other side of the task of an id. */
export const lastWordsOf = (store: Store, id: string): string | undefined =>
  store.get<{ text: string }>(
    `SELECT m.text FROM messages AS m JOIN interactions AS i ON i.key = m.interaction
     WHERE i.id = ? AND m.direction = 'in' AND m.text <> '' ORDER BY m.key DESC LIMIT 1`,
    id,
  )?.text
