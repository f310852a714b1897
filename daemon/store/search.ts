/** Words of messages, by which threads are found: an index that follows the messages, so that no message waits for it. */
import type { Store } from './open.ts'

const STEP = 500
/** The newest message in the index: every one has a row there, also one without words. */
const INDEXED_SQL = 'SELECT max(id) AS key FROM messages_text_docsize'

/** A word that stands everywhere finds no more messages than so many, the newest. */
export const MESSAGES_FOUND_MAX = 10_000

/** Interactions with a message that holds the words of one parameter, as {@link phrase} gives it. */
export const HAS_WORDS = `key IN (SELECT m.interaction FROM (SELECT rowid AS key FROM messages_text WHERE messages_text MATCH ? ORDER BY rowid DESC LIMIT ${MESSAGES_FOUND_MAX}) AS t CROSS JOIN messages AS m ON m.key = t.key)`

/**
 * A page of messages that hold some words (as {@link wordsOf} gives them) before a key, the newest first. The order of
 * the index itself, so that it ends with the page: sorted afterwards, every message that holds a word would be read.
 */
export const PAGE_OF_WORDS = `SELECT m.key, m.interaction, i.id, i.side, i.peer, m.direction, m.sender, m.at, snippet(messages_text, 0, '', '', '…', 24) AS excerpt
  FROM messages_text CROSS JOIN messages AS m ON m.key = messages_text.rowid CROSS JOIN interactions AS i ON i.key = m.interaction
  WHERE messages_text MATCH ?1 AND messages_text.rowid < ?2 ORDER BY messages_text.rowid DESC LIMIT ?3`

/** A message that holds some words, with what stands around them. */
export type Found = {
  key: number
  interaction: number
  id: string
  side: 'sent' | 'received'
  peer: string
  direction: 'in' | 'out'
  sender: string
  at: number
  excerpt: string
}

/** Messages before a key that hold some words, of all tasks or of one, the newest first. */
export const messagesWith = (
  store: Store,
  words: string,
  { before, within, max }: { before: number; within: string | undefined; max: number },
): Found[] =>
  store.all(
    within === undefined ? PAGE_OF_WORDS : PAGE_OF_WORDS.replace('WHERE', 'WHERE i.id = ?4 AND'),
    wordsOf(words),
    before,
    max,
    ...(within === undefined ? [] : [within]),
  )

/** Words as one phrase, whatever signs stand in them. */
export const phrase = (words: string): string => `"${words.replaceAll('"', '""')}"`

/** All of these words, in whatever order; one that ends with a star begins so. */
export const wordsOf = (text: string): string =>
  text
    .trim()
    .split(/\s+/)
    .map(word => (/[^*]\*$/.test(word) ? `${phrase(word.slice(0, -1))}*` : phrase(word)))
    .join(' ')

/** Words of a filter, each once; so many are asked for at most. */
export const FILTER_WORDS_MAX = 16
export const filterWordsOf = (text: string): string[] => [
  ...new Set(text.toLowerCase().split(/\s+/).filter(Boolean)),
]

/** The marks of one word in {@link holdsWord}: beginning of a word of a message, part of a text, AIDs of contacts. */
export type WordMarks = { beginning: number; part: number; contacts: number }

/** Interactions that hold one word of a filter; its parameters are given by their numbers. */
export const holdsWord = ({ beginning, part, contacts }: WordMarks): string =>
  `(${[
    HAS_WORDS.replace('?', `?${beginning}`),
    ...['id', 'peer', "coalesce(capability, '')", 'state', 'preview'].map(
      column => `instr(lower(${column}), ?${part}) > 0`,
    ),
    `peer IN (SELECT value FROM json_each(?${contacts}))`,
  ].join(' OR ')})`

/** A word by its beginning; one without a letter or digit stands in no index. */
export const beginning = (word: string): string =>
  /[\p{L}\p{N}]/u.test(word) ? `${phrase(word)}*` : phrase(word)

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
