/** No question that a node asks of its store takes longer for a longer history: each is answered through an index. */
import { expect, test } from 'vitest'
import { askedStatements } from '../testing/statements.ts'
import { openStoreAt, type Store } from './open.ts'

/** Tables that are read whole, and why each stays small. */
const SMALL: Readonly<Record<string, string>> = {
  auto_replies: 'the last two hundred',
  auto_reply_runs: 'those of an hour',
  board_orders: 'those without an answer, 64 at most',
  capabilities_held: 'at most a batch of each correspondent, each for days',
  capabilities_issued: 'at most a batch for each correspondent, each for days',
  contacts: 'kept by hand',
  capability_uses: 'of two days',
  credit_moves: 'one row for each hub that was left',
  direct_addresses: 'one row for each contact that said where it takes mail, or was told',
  hub_accounts: 'one row for each hub at which there is an account',
  hubs: 'those at which this identity was registered',
  idempotency: 'of thirty days, one row for each call that named a key',
  lasting: 'one row',
  lost_orders: 'what a lost copy signed, once',
  lost_tasks: 'what a restored node was told of, once',
  notes: 'as many as its configuration allows',
  outbox: 'what has not arrived yet',
  redemptions: 'until a hub has proven them',
  restores: 'the last eight',
  revocations: 'until they expire with what they revoke',
  unproven_debits: 'what a lost copy may have signed, once',
}
/** What is asked once in a while, or by a person who waits for it. */
const RARELY = [
  // once at most, before there is any message
  'SELECT 1 FROM messages LIMIT 1',
  // the last row
  'SELECT seq + 1 AS length, id FROM chain ORDER BY seq DESC LIMIT 1',
  // a backup, and a move to another hub
  'SELECT DISTINCT cid FROM message_attachments ORDER BY cid',
  "SELECT aid FROM contacts WHERE petname IS NOT NULL AND blocked = 0 AND aid IN (SELECT aid FROM peers) UNION SELECT peer FROM interactions WHERE state IN ('delivered', 'open', 'end_proposed')",
  // the hub or the key of this identity changed
  'UPDATE peers SET introduced = NULL',
  // the heads that correspondents hold, as a person or a page asks for them
  'SELECT aid, head FROM peers WHERE head IS NOT NULL AND (?1 IS NULL OR aid = ?1) ORDER BY aid',
  // a new token of the A2A interface, and an archive that is loaded
  'DELETE FROM a2a_pushes',
  'SELECT count(*) AS n FROM a2a_pushes',
  // a restore
  "UPDATE interactions SET numbering = 'asking', certain_to = min(numbered, coalesce(certain_to, numbered)) WHERE way <> 'local' AND (state IN ('queued', 'delivered', 'pending', 'open', 'end_proposed', 'expired') OR (state = 'ended' AND counter_signature IS NULL AND contradicting IS NULL))",
  'SELECT max(updated_at) AS at FROM interactions',
  // after the clock was set back
  "SELECT key FROM messages WHERE direction = 'out' AND delivery = 'unknown' AND claimed = 0 AND at > ? ORDER BY key",
  "UPDATE reviews SET next_at = ?1 WHERE state = 'kept' AND next_at > ?2",
]

const flat = (sql: string) => sql.replace(/\s+/g, ' ').trim()

/** The table that a name of a plan stands for. */
const tableOf = (sql: string, name: string): string =>
  new RegExp(`\\b(?:FROM|JOIN) (\\w+)(?: AS)? ${name}\\b`).exec(flat(sql))?.[1] ?? name

/** Tables that a statement reads whole, but for indexes that hold only what is unfinished. */
function scannedBy(store: Store, tables: ReadonlySet<string>, sql: string): string[] {
  return store.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).flatMap(({ detail }) => {
    const [, name] =
      /^SCAN (\w+)(?! VIRTUAL)(?! USING (?:COVERING )?INDEX \w+_(?:unread|undrained|waiting|unfinished|contradicted|kept|uncertain)\b)\b/.exec(
        detail,
      ) ?? []
    const table = name && tableOf(sql, name)
    // what a part of the statement found was read by a line of its own
    return table === undefined || !tables.has(table) ? [] : [table]
  })
}

test('no statement of the node, whole or built, reads a whole table of its history', () => {
  const store = openStoreAt(':memory:')
  const known = new Set(
    store
      .all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
      .map(({ name }) => name),
  )
  const asked = askedStatements()
  expect(asked.length).toBeGreaterThan(150)
  const scans = asked
    .filter(sql => !RARELY.includes(flat(sql)))
    .map(sql => ({
      sql: flat(sql),
      tables: scannedBy(store, known, sql).filter(table => !Object.hasOwn(SMALL, table)),
    }))
    .filter(({ tables }) => tables.length > 0)
  expect(scans).toEqual([])
  expect(Object.keys(SMALL).filter(table => !known.has(table))).toEqual([])
  store.close()
})
