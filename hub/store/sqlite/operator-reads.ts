/** What the operator asks: who is known here and how they stand, and which address ranges are refused. */
import type { Overview } from '../port.ts'
import type { Database } from './database.ts'

/**
 * Rows that hold nothing but the floor of a signer's times or the key history of one that left say nothing to the
 * operator; whom he blocks is set aside only.
 */
const overview = (comparison: '>' | '='): string => `
SELECT known.aid AS aid, coalesce(registered OR (blocked AND keys IS NOT NULL), 0) AS registered, coalesce(admitted, 0) AS admitted,
  coalesce(blocked, 0) AS blocked, coalesce(name, '') AS name, coalesce(registered_day_ms, 0) AS registeredDayMs,
  coalesce(seen_hour_ms, 0) AS seenHourMs, coalesce(envelopes, 0) AS envelopes, coalesce(bytes, 0) AS bytes
FROM (
  SELECT aid FROM agent WHERE aid ${comparison} ?1 AND registered = 1
  UNION SELECT aid FROM account WHERE aid ${comparison} ?1 AND (admitted = 1 OR blocked = 1)
  ORDER BY aid LIMIT ?2
) AS known
LEFT JOIN agent ON agent.aid = known.aid
LEFT JOIN account ON account.aid = known.aid
LEFT JOIN mailbox ON mailbox.number = agent.number
ORDER BY known.aid`

type Row = Omit<Overview, 'registered' | 'admitted' | 'blocked'> &
  Record<'registered' | 'admitted' | 'blocked', number>

export function readOverview(db: Database, query: { afterAid: string; limit: number }): Overview[] {
  return db.all<Row>(overview('>'), query.afterAid, query.limit).map(overviewFrom)
}

export function readOverviewOf(db: Database, aid: string): Overview | undefined {
  return db.all<Row>(overview('='), aid, 1).map(overviewFrom)[0]
}

const overviewFrom = (row: Row): Overview => ({
  ...row,
  registered: row.registered === 1,
  admitted: row.admitted === 1,
  blocked: row.blocked === 1,
})

export function readRefusedRanges(db: Database): string[] {
  return db.all<{ range: string }>('SELECT range FROM refused_range ORDER BY range').map(({ range }) => range)
}
