/** Words of messages, by which threads are found: an index that follows the messages, so that no message waits for it. */
import type { Store } from './open.ts'

const STEP = 500
/** The newest message in the index: every one has a row there, also one without words. */
const INDEXED_SQL = 'SELECT max(id) AS key FROM messages_text_docsize'

/** Interactions with a message that holds the words of one parameter, as {@link phrase} gives it. */
export const HAS_WORDS =
  'key IN (SELECT m.interaction FROM messages_text AS t JOIN messages AS m ON m.key = t.rowid WHERE messages_text MATCH ?)'

/** Words as one phrase, whatever signs stand in them. */
export const phrase = (words: string): string => `"${words.replaceAll('"', '""')}"`

/** All of these words, in whatever order; one that ends with a star begins so. */
export const wordsOf = (text: string): string =>
  text
    .trim()
    .split(/\s+/)
    .map(word => (/[^*]\*$/.test(word) ? `${phrase(word.slice(0, -1))}*` : phrase(word)))
    .join(' ')

const EXCERPT_TOKENS = 24
/** The part of a found text in which the words stand. */
export const EXCERPT = `snippet(messages_text, 0, '', '', '…', ${EXCERPT_TOKENS})`

/** Brings the index up to the newest message, some at a time. */
export function indexMessages(store: Store): void {
  const newest = keyOf(store, 'SELECT max(key) AS key FROM messages')
  for (let from = keyOf(store, INDEXED_SQL); from < newest; from += STEP)
    store.transaction(() => {
      store.run(
        'INSERT INTO messages_text (rowid, text) SELECT key, text FROM messages WHERE key > ? AND key <= ?',
        from,
        from + STEP,
      )
    }, 'node.index')
}

const keyOf = (store: Store, sql: string): number => store.get<{ key: number | null }>(sql)?.key ?? 0
