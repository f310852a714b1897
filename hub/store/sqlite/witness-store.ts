/** Witnesses and their statements in the database. Changes run inside a transaction. */
import type { KeptStatement, NewStatement, WitnessRow, WitnessStore } from '../witness-port.ts'
import {
  goesOnFrom,
  type StoredStatement,
  type StoredWitness,
  statementOf,
  witnessOf,
} from '../witness-rows.ts'
import type { Database } from './database.ts'
import { readWatched } from './watched-chains.ts'
import type { WriterClient } from './writer-client.ts'

const COLUMNS = 'aid, url, kel, ahead'

function readWitness(db: Database, aid: string): WitnessRow | undefined {
  const row = db.one<StoredWitness>(`SELECT ${COLUMNS} FROM witness WHERE aid = ?`, aid)
  return row && witnessOf(row)
}

const readWitnesses = (db: Database): WitnessRow[] =>
  db.all<StoredWitness>(`SELECT ${COLUMNS} FROM witness ORDER BY aid`).map(witnessOf)

export const namedWitnesses = (db: Database): string[] => readWitnesses(db).map(({ aid }) => aid)

const readStatements = (db: Database): KeptStatement[] =>
  db
    .all<StoredStatement>(
      'SELECT witness, seq, observed_ms, statement FROM witness_statement ORDER BY witness, day DESC',
    )
    .map(statementOf)

export function putWitness(
  db: Database,
  { aid, url, max }: { aid: string; url: string | undefined; max: number },
): boolean {
  const others = db.one<{ n: number }>('SELECT count(*) AS n FROM witness WHERE aid <> ?', aid)?.n ?? 0
  if (others >= max) return false
  db.run(
    'INSERT INTO witness (aid, url) VALUES (?, ?) ON CONFLICT (aid) DO UPDATE SET url = coalesce(excluded.url, url)',
    aid,
    url ?? null,
  )
  return true
}

export function removeWitness(db: Database, aid: string): boolean {
  db.run('DELETE FROM witness_statement WHERE witness = ?', aid)
  return db.run('DELETE FROM witness WHERE aid = ?', aid) === 1
}

/** One stays for each epoch that is kept, and the newest in any case. */
export function keepStatement(db: Database, given: NewStatement): boolean {
  const { witness, seq, observedMs, statement, kel, keptSinceDay } = given
  if (db.run('UPDATE witness SET kel = ? WHERE aid = ?', kel, witness) === 0) return false
  const newest = db.one<{ seq: number; observed_ms: number }>(
    'SELECT seq, observed_ms FROM witness_statement WHERE witness = ? ORDER BY day DESC LIMIT 1',
    witness,
  )
  if (!goesOnFrom(newest, given)) return false
  const day =
    db.one<{ day: number | null }>('SELECT max(day) AS day FROM supply_epoch WHERE seq <= ?', seq)?.day ?? -1
  db.run('DELETE FROM witness_statement WHERE witness = ? AND day < ?', witness, keptSinceDay)
  db.run(
    'INSERT OR REPLACE INTO witness_statement (witness, day, seq, observed_ms, statement) VALUES (?, ?, ?, ?, ?)',
    witness,
    day,
    seq,
    observedMs,
    statement,
  )
  return true
}

export function keepAhead(
  db: Database,
  { witness, kel, statement }: { witness: string; kel: Uint8Array; statement: Uint8Array },
): true {
  db.run('UPDATE witness SET kel = ?, ahead = ? WHERE aid = ?', kel, statement, witness)
  return true
}

export const witnessReads = (
  reader: Database,
): Pick<WitnessStore, 'witness' | 'witnesses' | 'witnessStatements'> => ({
  witness: async aid => readWitness(reader, aid),
  witnesses: async () => readWitnesses(reader),
  witnessStatements: async () => readStatements(reader),
})

export function witnessesOver(path: string, reader: Database, writer: WriterClient): WitnessStore {
  return {
    ...witnessReads(reader),
    putWitness: given => writer.write('putWitness', given),
    removeWitness: aid => writer.write('removeWitness', aid),
    keepStatement: given => writer.write('keepStatement', given),
    async keepAhead(given) {
      await writer.write('keepAhead', given)
    },
    watchedRecords: async of => readWatched(path, of),
  }
}
