/** A kept sentence is for readers: no statement and no condition of the node decides by what it says. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { askedStatements, root, sources } from '../testing/statements.ts'
import { openStoreAt } from './open.ts'
import { upgrades } from './upgrades.ts'

const flat = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim()
/** Columns in which sentences are kept: of the outbox, messages, tasks, receipts, prices, payments, reviews. */
const SENTENCES = ['last_error', 'reason', 'receipt_note', 'says']
const members = SENTENCES.map(name => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase()))

/** Texts with a space in them that a statement names, beside the beginnings of keys. */
const sentencesIn = (sql: string): string[] =>
  (sql.match(/'(?:[^']|'')*'(?! \|\|)/g) ?? []).filter(literal => /\s/.test(literal))
/** What a statement compares a kept sentence with, beside the question whether there is one. */
const comparedIn = (sql: string): string[] =>
  flat(sql).match(
    new RegExp(
      `\\b(?:WHERE|AND|OR|WHEN|NOT|ON|iif\\()\\s*\\(?(?:\\w+\\.)?(?:${SENTENCES.join('|')})\\b\\s*(?!IS (?:NOT )?NULL)(?:=|<|>|!|IS|IN|LIKE|GLOB|REGEXP)[^A-Za-z]?.{0,20}`,
      'g',
    ),
  ) ?? []
/** Conditions of the code over a kept sentence: with a text of several words, or with a constant. */
const decidedIn = (code: string): string[] =>
  code.match(
    new RegExp(
      `\\b(?:${members.join('|')})\\)? *[!=]==? *(?:['"\`][^'"\`\n]* [^'"\`\n]*['"\`]|[A-Z][A-Z_]+\\b)` +
        `|\\b(?:lastError|receiptNote) *[!=]==? *(?!null|undefined)\\w+` +
        `|\\.(?:has|includes|startsWith|endsWith|test|match)\\((?:\\w+\\.)*(?:${members.join('|')})\\b` +
        `|\\b(?:${members.join('|')})\\??\\.(?:includes|startsWith|endsWith|match|search)\\(`,
      'g',
    ),
  ) ?? []

test('no statement of the node names a sentence, or compares one that is kept', () => {
  const statements = askedStatements()
  expect(statements.length).toBeGreaterThan(150)
  expect(statements.flatMap(sentencesIn)).toEqual([])
  expect(statements.flatMap(comparedIn)).toEqual([])
})

test('no condition of the node asks what a kept sentence says', () => {
  const found = sources.flatMap(path =>
    decidedIn(readFileSync(path, 'utf8')).map(one => `${path.slice(root.length)}: ${one}`),
  )
  expect(found).toEqual([])
})

test.each([
  [sentencesIn, "SELECT 1 FROM outbox WHERE last_error = 'held back by you'", true],
  [sentencesIn, "SELECT 1 FROM outbox WHERE state = 'at_hub'", false],
  [comparedIn, 'UPDATE outbox SET next_at = ? WHERE last_error = ?', true],
  [comparedIn, "SELECT 1 FROM outbox AS o WHERE 1 AND o.last_error LIKE 'held%'", true],
  [comparedIn, 'UPDATE outbox SET last_error = ? WHERE message = ?', false],
  [comparedIn, "SELECT 1 FROM quotes WHERE state = 'open' AND reason IS NULL", false],
  [decidedIn, 'if (entry.lastError === HELD) return', true],
  [decidedIn, "if (row.reason !== 'held back by you') return", true],
  [decidedIn, 'retry(entry.lastError === refused.code ? 0 : 1)', true],
  [decidedIn, 'return OWN.has(reason)', true],
  [decidedIn, "if (receiptNote?.startsWith('not')) return", true],
  [decidedIn, "if (entry.reason === 'held') return", false],
  [decidedIn, 'if (reason === entry.lastError) return', false],
])('finds what it looks for: %s in %s', (find, given, isFound) => {
  expect(find(given).length > 0).toBe(isFound)
})

test('what an earlier release kept is ours where no hub can have had a word in it', () => {
  const store = openStoreAt(':memory:')
  const dropped = { interactions: ['reason_by'], messages: ['reason_by'], outbox: ['error_by', 'refused_as'] }
  for (const [table, names] of Object.entries(dropped))
    for (const name of names) store.database.exec(`ALTER TABLE ${table} DROP COLUMN ${name}`)
  const kept = [
    ['sent', 'declined', 'not today', 'peer'],
    ['received', 'declined', 'too much', 'node'],
    ['received', 'cancelled', 'done already', 'peer'],
    ['sent', 'expired', 'nobody answered', 'node'],
    ['sent', 'failed', 'words of a hub', null],
    ['sent', 'open', null, null],
  ] as const
  for (const [key, [side, state, reason]] of kept.entries())
    store.run(
      `INSERT INTO interactions (key, id, delegator, peer, side, state, reason, preview, request_cid, started_at,
         updated_at, deadline_at) VALUES (?1, 'i' || ?1, 'd', 'p', ?2, ?3, ?4, '', '', 0, 0, 0)`,
      key,
      side,
      state,
      reason,
    )
  store.database.exec(upgrades.find(step => step.includes('error_by')) as string)
  const rows = store.all<{ by: string | null }>('SELECT reason_by AS by FROM interactions ORDER BY key')
  expect(rows.map(({ by }) => by)).toEqual(kept.map(([, , , by]) => by))
  store.close()
})
