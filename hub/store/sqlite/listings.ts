/** Pages of registered agents: read row by row until the page is full or as much was read as one answer may cost. */
import { askedIn } from '../listing.ts'
import type { AgentRow, ListedAgents, ListQuery } from '../port.ts'
import { agentOf, type StoredAgent } from '../rows.ts'
import type { Database } from './database.ts'
import { hotQueries, readAgent } from './reads.ts'

export function readList(db: Database, query: ListQuery): ListedAgents {
  const isAsked = askedIn(query)
  const rows: AgentRow[] = []
  let bytes = 0
  let read = 0
  let last: string | undefined
  for (const row of candidates(db, query)) {
    const size = row.kel.length + row.readme.length + row.summary.length + (row.card?.length ?? 0)
    const full = rows.length === query.limit || read === query.rowsMax || bytes + size > query.bytesMax
    if (full && last !== undefined) return { rows, next: last }
    bytes += size
    read += 1
    last = row.aid
    if (isAsked(row) && hasTerms(db, row, query)) rows.push(row)
  }
  return { rows, next: undefined }
}

/** The rows among which those asked for stand, in AID order: by an index where one names them. */
function* candidates(db: Database, query: ListQuery): Generator<AgentRow> {
  const { afterAid, caps, terms = [] } = query
  const [cap, ...otherCaps] = caps ?? []
  if (cap !== undefined && otherCaps.length === 0 && !cap.endsWith('*'))
    return yield* named(db, hotQueries.capExact, cap, afterAid)
  if (terms[0] !== undefined) return yield* named(db, hotQueries.cardTerm, terms[0], afterAid)
  const sql =
    query.open === true
      ? hotQueries.listedOpen
      : query.onlyPublic === true
        ? hotQueries.listedPublic
        : hotQueries.listed
  for (const stored of db.each<StoredAgent>(sql, afterAid)) yield agentOf(stored)
}

function* named(db: Database, sql: string, word: string, afterAid: string): Generator<AgentRow> {
  for (const { aid } of db.each<{ aid: string }>(sql, word, afterAid)) {
    const row = readAgent(db, aid)
    if (row !== undefined) yield row
  }
}

const hasTerms = (db: Database, { aid }: AgentRow, { terms = [] }: ListQuery): boolean =>
  terms.every(term => db.one(hotQueries.hasTerm, term, aid) !== undefined)
