/** Threads found by the words of their messages. */
import { copyFileSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStoreAt, type Store } from './open.ts'
import { HAS_WORDS, indexMessages, MESSAGES_FOUND_MAX, PAGE_OF_WORDS, phrase, wordsOf } from './search.ts'

let nextId = 1
function add(store: Store, text: string, interaction: number): void {
  store.run(
    `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest, text)
     VALUES (?, 'out', 'a', 'b', ?, 2, 0, 0, x'', x'', ?)`,
    interaction,
    Uint8Array.of(nextId >> 16, (nextId >> 8) & 255, nextId & 255),
    text,
  )
  nextId += 1
}

function openWithThreads(count: number): Store {
  const store = openStoreAt(':memory:')
  for (let i = 0; i < count; i++)
    store.run(
      `INSERT INTO interactions (id, delegator, side, peer, state, preview, request_cid, started_at, updated_at, deadline_at)
       VALUES (?, 'b', 'sent', 'a', 'open', '', '', 0, 0, 0)`,
      `thread ${i + 1}`,
    )
  return store
}

const found = (store: Store, words: string) =>
  store
    .all<{ key: number }>(`SELECT key FROM interactions WHERE ${HAS_WORDS} ORDER BY key`, phrase(words))
    .map(({ key }) => key)

test('a message is found once the index has followed, and one that came later after it followed again', () => {
  const store = openWithThreads(3)
  add(store, 'summarise the repository', 1)
  add(store, 'translate the readme', 2)
  expect(found(store, 'readme')).toEqual([])
  indexMessages(store)
  indexMessages(store)
  expect([found(store, 'readme'), found(store, 'the repository')]).toEqual([[2], [1]])
  add(store, 'the readme again', 3)
  indexMessages(store)
  expect(found(store, 'readme')).toEqual([2, 3])
  store.close()
})

test.each([
  [1000, 2],
  [1001, 3],
])('%i messages are indexed in %i steps of 500', (count, expected) => {
  const store = openWithThreads(1)
  for (let i = 0; i < count; i++) add(store, `word${i}`, 1)
  let steps = 0
  const { transaction } = store
  store.transaction = (work, fault) => {
    steps++
    return transaction.call(store, work, fault) as never
  }
  indexMessages(store)
  expect(steps).toBe(expected)
  for (const n of [0, 499, 500, count - 1]) expect(found(store, `word${n}`)).toEqual([1])
  store.close()
})

test('signs of the query language are words like any other', () => {
  const store = openWithThreads(1)
  add(store, 'say "yes" OR no', 1)
  indexMessages(store)
  expect(['"yes" OR', 'yes*', 'NOT', '"'].map(words => found(store, words))).toEqual([[1], [1], [], []])
  store.close()
})

test('words are found in any order, by their beginning where a star ends them, with the place where they stand', () => {
  const store = openWithThreads(1)
  add(store, 'the report of the third quarter', 1)
  add(store, `${'filler '.repeat(100)}a quarterly report ${'filler '.repeat(100)}`, 1)
  indexMessages(store)
  const excerpts = (words: string) =>
    store
      .all<{ excerpt: string }>(PAGE_OF_WORDS, wordsOf(words), Number.MAX_SAFE_INTEGER, 100)
      .map(({ excerpt }) => excerpt)
      .reverse()
  expect(excerpts('quarter report')).toEqual(['the report of the third quarter'])
  expect(excerpts(' report   quarter* ')).toHaveLength(2)
  expect(excerpts('quarterly')[0]).toMatch(/^….* quarterly report .*…$/)
  expect(excerpts('quarterly')[0]?.split(' ')).toHaveLength(24)
  expect(['"', '*', 'report"', 'OR', 'a*b', '* *'].flatMap(excerpts)).toHaveLength(2)
  store.close()
})

test('a word of every message costs a page, and no sorting of all that hold it', () => {
  const store = openWithThreads(MESSAGES_FOUND_MAX + 100)
  store.transaction(() => {
    for (let i = 0; i < MESSAGES_FOUND_MAX + 100; i++) add(store, `the report ${i}`, i + 1)
  }, 'test.fill')
  indexMessages(store)
  const plan = (sql: string, ...given: (string | number)[]) =>
    store.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...given).map(({ detail }) => detail)
  expect(plan(PAGE_OF_WORDS, wordsOf('report'), 1, 1).join()).not.toMatch(
    /TEMP B-TREE|SCAN (?!messages_text)/,
  )
  const keys = (before: number) =>
    store.all<{ key: number }>(PAGE_OF_WORDS, wordsOf('report'), before, 3).map(({ key }) => key)
  const [newest] = keys(Number.MAX_SAFE_INTEGER)
  expect(keys(Number.MAX_SAFE_INTEGER)).toEqual([0, 1, 2].map(n => (newest as number) - n))
  expect(keys((newest as number) - 2)).toEqual([3, 4, 5].map(n => (newest as number) - n))
  // of a list the threads of the newest messages that hold it
  const threads = found(store, 'report')
  expect([threads.length, threads[0]]).toEqual([MESSAGES_FOUND_MAX, 101])
  expect(found(store, 'the report 7')).toEqual([8])
  store.close()
})

const homes = new URL('../../fixtures/homes/', import.meta.url)

test.each(readdirSync(homes))('every message that %s left is found by its words, and by a letter', home => {
  const path = join(mkdtempSync(join(tmpdir(), 'svc-search-')), 'store.db')
  copyFileSync(new URL(`${home}/node/interactions/store.db`, homes), path)
  const store = openStoreAt(path)
  const messages = store.all<{ interaction: number; text: string }>(
    "SELECT interaction, text FROM messages WHERE text GLOB '[a-zA-Z]*'",
  )
  expect(messages.length).toBeGreaterThan(0)
  for (const { interaction, text } of messages) {
    const [first = ''] = text.split(/\W/)
    expect(found(store, first)).toContain(interaction)
    const byLetter = store.all<{ key: number }>(
      `SELECT key FROM interactions WHERE ${HAS_WORDS}`,
      wordsOf(`${first.slice(0, 1)}*`),
    )
    expect(byLetter.map(({ key }) => key)).toContain(interaction)
  }
  store.close()
})
