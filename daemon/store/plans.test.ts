/** No question that a node asks of its store takes longer for a longer history: each is answered through an index. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { expect, test } from 'vitest'
import { openStoreAt } from './open.ts'

const root = new URL('../..', import.meta.url).pathname

/** Tables that grow as long as a node lives. */
const HISTORY = [
  'a2a_events',
  'a2a_messages',
  'a2a_pushes',
  'a2a_tasks',
  'chain',
  'interactions',
  'message_attachments',
  'messages',
  'payments',
  'quotes',
  'ratings',
  'reviews',
  'seen',
]
/** What is asked once in a while, or by a person who waits for it. */
const RARELY = [
  // once at most, before there is any message
  'SELECT 1 FROM messages LIMIT 1',
  // the last row
  'SELECT seq + 1 AS length, id FROM chain ORDER BY seq DESC LIMIT 1',
  // a backup, and a move to another hub
  'SELECT DISTINCT cid FROM message_attachments ORDER BY cid',
  "SELECT aid FROM contacts WHERE petname IS NOT NULL AND blocked = 0 AND aid IN (SELECT aid FROM peers) UNION SELECT peer FROM interactions WHERE state IN ('delivered', 'open', 'end_proposed')",
  // a new token of the A2A interface, and an archive that is loaded
  'DELETE FROM a2a_pushes',
  'SELECT count(*) AS n FROM a2a_pushes',
  // a restore
  "UPDATE interactions SET numbering = 'asking', certain_to = min(numbered, coalesce(certain_to, numbered)) WHERE wire <> ? AND (state IN ('queued', 'delivered', 'pending', 'open', 'end_proposed', 'expired') OR (state = 'ended' AND counter_signature IS NULL AND contradicting IS NULL))",
  'SELECT max(updated_at) AS at FROM interactions',
  // after the clock was set back
  "UPDATE reviews SET next_at = ?1 WHERE state = 'kept' AND next_at > ?2",
]

const sources = readdirSync(join(root, 'daemon'), { recursive: true, encoding: 'utf8' })
  .map(path => `daemon/${path}`)
  .filter(path => /\.ts$/.test(path) && !/\.test\.ts$|\/testing|schema\.ts$|upgrades\.ts$/.test(path))

/** Every statement that stands whole in the sources. */
function statements(): string[] {
  const found = new Set<string>()
  const note = (text: string) => void (/^\s*(?:SELECT|UPDATE|DELETE|WITH) /.test(text) && found.add(text))
  const visitor = new Visitor({
    TemplateLiteral: ({ quasis }) => void (quasis.length === 1 && note(quasis[0]?.value.cooked ?? '')),
    Literal: ({ value }) => void (typeof value === 'string' && note(value)),
  })
  for (const path of sources) visitor.visit(parseSync(path, readFileSync(join(root, path), 'utf8')).program)
  return [...found]
}

const flat = (sql: string) => sql.replace(/\s+/g, ' ').trim()

test('no statement of the node reads a whole table of its history', () => {
  const store = openStoreAt(':memory:')
  const asked = statements()
  expect(asked.length).toBeGreaterThan(100)
  const whole = asked
    .filter(sql => !RARELY.includes(flat(sql)))
    .filter(sql =>
      store.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).some(({ detail }) => {
        const scanned =
          /^SCAN (\w+)(?! USING (?:COVERING )?INDEX \w+_(?:unread|undrained|waiting|unfinished|contradicted|kept|uncertain)\b)/.exec(
            detail,
          )
        return scanned !== null && HISTORY.includes(scanned[1] as string)
      }),
    )
  expect(whole.map(flat)).toEqual([])
  store.close()
})
