/** No question that a hub asks of its store takes longer for a longer history: each is answered through an index. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { statementsIn } from '../../../protocol/testing/statements.ts'
import { type Database, openWriter } from './database.ts'
import { migrate } from './migrate.ts'

const root = new URL('../..', import.meta.url).pathname
/** A witness keeps the chains that it watches in a file of its own, a row for each hub; whoever moves reads all. */
const ELSEWHERE = [
  'store/sqlite/watched-chains.ts',
  'store/sqlite/moving.ts',
  'moving.ts',
  'over-database.ts',
  'database-state.ts',
]
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts') && !path.endsWith('.test.ts') && !ELSEWHERE.includes(path))
  .filter(path => !/^(?:test|testing|dist|deploy|store\/postgres|cluster)\/|node_modules/.test(path))
  .map(path => join(root, path))

/** Tables that are read whole, and why each stays small. */
const SMALL: Readonly<Record<string, string>> = {
  board_card: 'a board has so many cards at most',
  invite: 'what the operator made, so many at most',
  digest_new: 'what the last group of commits brought, sorted in every few minutes',
  ledger_totals: 'one row',
  open_peer_read: 'a row for each peer',
  official: 'whom the operator vouches for, so many at most',
  peer_cards_read: 'a row for each peer',
  refused_range: 'what the operator refuses',
  setting: 'a row for each setting',
  supply_epoch: 'a row for each day',
  witness: 'what the operator or a witness added, at most some dozens',
  witness_statement: 'a row a day of each witness',
}
/** What is asked once in a while, or where all of it is what is asked for. */
const RARELY = new Set([
  // the last row
  'SELECT seq, id FROM supply_record ORDER BY seq DESC LIMIT 1',
  // a start, and a restore
  'UPDATE account SET floor_ms = max(floor_ms, ?)',
  'UPDATE mailbox SET next_id = next_id + ?',
  'SELECT seq FROM sqlite_sequence WHERE name = ?',
  'UPDATE sqlite_sequence SET seq = ? WHERE name = ?',
])
/** What begins other statements, and is none by itself. */
const BEGINNINGS = [/^SELECT held\.name AS held.* payee\.number = ledger_hold\.payee$/]
/** A recount of the books, the leaves of a day's proof, and sums that the operator asks for. */
const WHOLE: readonly RegExp[] = [
  /^SELECT 1 FROM ledger_account LEFT JOIN \(SELECT account, sum\(delta\)/,
  /^SELECT coalesce\(sum\(CASE kind WHEN 'agent'/,
  /^SELECT a\.name AS aid, a\.balance \+ coalesce\(h\.held, 0\)/,
  /^SELECT count\(\*\) AS (?:mailboxes|n)\b/,
]

const flat = (sql: string) => sql.replace(/\s+/g, ' ').trim()

/** The table that a name of a plan stands for. */
const tableOf = (sql: string, name: string): string =>
  new RegExp(`\\b(?:FROM|JOIN) (\\w+)(?: AS)? ${name}\\b`).exec(sql)?.[1] ?? name

function scannedBy(database: Database, sql: string): string[] {
  return database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).flatMap(({ detail }) => {
    const [, name] = /^SCAN (?!CONSTANT)(\w+)/.exec(detail) ?? []
    return name === undefined ? [] : [tableOf(sql, name)]
  })
}

test('no statement of the hub, whole or built, reads a whole table of its history', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-plans-'))
  const database = openWriter(join(folder, 'hub.db'))
  migrate(database, 'unused', { release: 'test' })
  const ways = { comparison: ['=', '>'], sql: ['SELECT day, seq, accounts FROM supply_epoch'] }
  const asked = statementsIn(sources, { ways, numbers: /^$/ }).map(flat)
  const tables = new Set(
    database
      .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .map(row => row.name),
  )
  expect(asked.length).toBeGreaterThan(100)
  expect(Object.keys(SMALL).filter(table => !tables.has(table))).toEqual([])
  const isKnown = (sql: string) =>
    RARELY.has(sql) || [...BEGINNINGS, ...WHOLE].some(form => form.test(sql)) || / sqlite_schema /.test(sql)
  const scans = asked
    .filter(sql => !isKnown(sql))
    .map(sql => ({
      sql,
      scans: scannedBy(database, sql).filter(name => tables.has(name) && !(name in SMALL)),
    }))
    .filter(({ scans }) => scans.length > 0)
  expect(scans).toEqual([])
  expect([...RARELY].filter(sql => !asked.includes(sql))).toEqual([])
  database.close()
  rmSync(folder, { recursive: true })
})
