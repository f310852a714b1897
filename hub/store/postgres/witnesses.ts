/** Witnesses and their statements, in PostgreSQL; they are few, and change one after another. */
import type { NewStatement, WitnessStore } from '../witness-port.ts'
import {
  goesOnFrom,
  type StoredStatement,
  type StoredWitness,
  statementOf,
  witnessOf,
} from '../witness-rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { readWatched } from './watched-chains.ts'
import type { Writer } from './writes.ts'

export const witnessQueries = {
  witness: 'SELECT aid, url, kel, ahead FROM witness WHERE aid = $1',
  witnesses: 'SELECT aid, url, kel, ahead FROM witness ORDER BY aid',
  statements: 'SELECT witness, seq, observed_ms, statement FROM witness_statement ORDER BY witness, day DESC',
  newest: 'SELECT seq, observed_ms FROM witness_statement WHERE witness = $1 ORDER BY day DESC LIMIT 1',
  day: 'SELECT coalesce(max(day), -1) AS day FROM supply_epoch WHERE seq <= $1',
} as const

const locks = () => ({ subjects: ['witnesses'] })

export const putWitness: Write<Parameters<WitnessStore['putWitness']>[0], boolean> = {
  locks,
  async make(db, { aid, url, max }) {
    const others = await db.one<{ n: number }>('SELECT count(*) AS n FROM witness WHERE aid <> $1', aid)
    if ((others?.n ?? 0) >= max) return false
    await db.run(
      'INSERT INTO witness (aid, url) VALUES ($1, $2)' +
        ' ON CONFLICT (aid) DO UPDATE SET url = coalesce(excluded.url, witness.url)',
      aid,
      url ?? null,
    )
    return true
  },
}

export const removeWitness: Write<string, boolean> = {
  locks,
  async make(db, aid) {
    await db.run('DELETE FROM witness_statement WHERE witness = $1', aid)
    return (await db.run('DELETE FROM witness WHERE aid = $1', aid)) === 1
  },
}

/** One stays for each epoch that is kept, and the newest in any case. */
export const keepStatement: Write<NewStatement, boolean> = {
  locks,
  async make(db, given) {
    const { witness, seq, observedMs, statement, kel, keptSinceDay } = given
    if ((await db.run('UPDATE witness SET kel = $1 WHERE aid = $2', kel, witness)) === 0) return false
    if (!goesOnFrom(await db.one<StoredStatement>(witnessQueries.newest, witness), given)) return false
    const day = (await db.one<{ day: number }>(witnessQueries.day, seq))?.day ?? -1
    await db.run('DELETE FROM witness_statement WHERE witness = $1 AND day < $2', witness, keptSinceDay)
    await db.run(
      'INSERT INTO witness_statement (witness, day, seq, observed_ms, statement) VALUES ($1, $2, $3, $4, $5)' +
        ' ON CONFLICT (witness, day) DO UPDATE SET seq = excluded.seq, observed_ms = excluded.observed_ms,' +
        ' statement = excluded.statement',
      ...[witness, day, seq, observedMs, statement],
    )
    return true
  },
}

export const keepAhead: Write<Parameters<WitnessStore['keepAhead']>[0], void> = {
  locks,
  async make(db, { witness, kel, statement }) {
    await db.run('UPDATE witness SET kel = $1, ahead = $2 WHERE aid = $3', kel, statement, witness)
  },
}

export const witnessReads = (
  reader: Queries,
): Pick<WitnessStore, 'witness' | 'witnesses' | 'witnessStatements'> => ({
  async witness(aid) {
    const row = await reader.one<StoredWitness>(witnessQueries.witness, aid)
    return row && witnessOf(row)
  },
  witnesses: async () => (await reader.all<StoredWitness>(witnessQueries.witnesses)).map(witnessOf),
  witnessStatements: async () =>
    (await reader.all<StoredStatement>(witnessQueries.statements)).map(statementOf),
})

export const witnessesOver = (reader: Queries, writer: Writer): WitnessStore => ({
  ...witnessReads(reader),
  putWitness: given => writer.write('putWitness', given),
  removeWitness: aid => writer.write('removeWitness', aid),
  keepStatement: given => writer.write('keepStatement', given),
  keepAhead: given => writer.write('keepAhead', given),
  watchedRecords: of => readWatched(reader, of),
})
