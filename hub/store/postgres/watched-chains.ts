/**
 * The supply chains of other hubs that are watched from this database: their records, and what was signed about them. A
 * command writes them, whether or not a hub serves from there; a hub that does reads them.
 */
import type { WatchedChain, WatchedChains, WatchedPart, WitnessStore } from '../witness-port.ts'
import type { Connections, Queries } from './connections.ts'

export const watchedQueries = {
  chain: 'SELECT kel, length, place, statement FROM watched_chain WHERE hub = $1',
  records: 'SELECT record FROM watched_record WHERE hub = $1 AND seq >= $2 ORDER BY seq',
  /** Those of a chain that is so long. */
  part: 'SELECT record FROM watched_record WHERE hub = $1 AND seq >= $2 AND seq < $3 ORDER BY seq LIMIT $4',
} as const

const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('watched ' || $1, 0))"

const readChain = (db: Queries, hub: string): Promise<WatchedChain | undefined> =>
  db.one<WatchedChain>(watchedQueries.chain, hub)

/** How many hubs are watched from a database. */
export const watchedHubsIn = async (db: Queries): Promise<number> =>
  (await db.one<{ hubs: number }>('SELECT count(*) AS hubs FROM watched_chain'))?.hubs ?? 0

const recordsOf = (rows: readonly { record: Uint8Array }[]): Uint8Array[] => rows.map(({ record }) => record)

/** Over connections to a database that has the schema of this build; `close` ends them. */
export const watchedChainsOver = (connections: Connections): WatchedChains => ({
  chain: hub => readChain(connections, hub),
  records: async (hub, from) => recordsOf(await connections.all(watchedQueries.records, hub, from)),
  keep: ({ hub, before, records, kel, length, place, statement }) =>
    connections.transaction(async db => {
      await db.run(LOCK, hub)
      if (((await readChain(db, hub))?.length ?? 0) !== before) return false
      await db.run(
        'INSERT INTO watched_record (hub, seq, record)' +
          ' SELECT $1, $2 + at - 1, record FROM unnest($3::bytea[]) WITH ORDINALITY AS of (record, at)',
        ...[hub, before, records],
      )
      await db.run(
        'INSERT INTO watched_chain (hub, kel, length, place, statement) VALUES ($1, $2, $3, $4, $5)' +
          ' ON CONFLICT (hub) DO UPDATE SET kel = excluded.kel, length = excluded.length, place = excluded.place,' +
          ' statement = excluded.statement',
        ...[hub, kel, length, place, statement],
      )
      return true
    }),
  async keepConflict(hub, seenMs, why, record) {
    await connections.run(
      'INSERT INTO watched_conflict (hub, seen_ms, why, record) VALUES ($1, $2, $3, $4)',
      ...[hub, seenMs, why, record ?? null],
    )
  },
  close: () => connections.close(),
})

/** Records are never changed, so those of a chain as long as it was belong to what was signed about it then. */
export async function readWatched(
  db: Queries,
  { hub, from, limit }: Parameters<WitnessStore['watchedRecords']>[0],
): Promise<WatchedPart | undefined> {
  const chain = await readChain(db, hub)
  if (chain === undefined) return undefined
  const { length, statement } = chain
  const rows = await db.all<{ record: Uint8Array }>(watchedQueries.part, hub, from, length, limit)
  return { length, statement, records: recordsOf(rows) }
}
