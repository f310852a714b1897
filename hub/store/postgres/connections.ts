/** What the engine asks of a database server: statements, and transactions that have a connection to themselves. */
import pg from 'pg'

/** What a statement is given for a parameter. */
type Single = null | number | string | boolean | Uint8Array
export type Value = Single | readonly Single[]

export interface Queries {
  all<T>(sql: string, ...values: Value[]): Promise<T[]>
  /** The first row. */
  one<T>(sql: string, ...values: Value[]): Promise<T | undefined>
  /** How many rows were changed. */
  run(sql: string, ...values: Value[]): Promise<number>
}

export interface Connections extends Queries {
  /** Commits what the work did; where it throws, nothing of it is kept. */
  transaction<T>(work: (db: Queries) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const CONNECTIONS_MAX = 6
const CONNECT_MS = 5000

const { INT8, BYTEA } = pg.types.builtins
const bytesOf = pg.types.getTypeParser(BYTEA, 'text') as (text: string) => Buffer

/** Integers come as numbers: the schema keeps them within what these hold. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: Number,
  [BYTEA](text) {
    const { buffer, byteOffset, length } = bytesOf(text)
    return new Uint8Array(buffer, byteOffset, length)
  },
}
const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) => parsers[type] ?? pg.types.getTypeParser(type, format as 'text'),
}

/** Connections to the server of a `postgres://` address. */
export function connectTo(url: string): Connections {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS,
    types,
  })
  // whoever uses a connection that is lost hears of it by his statement; an idle one is replaced
  pool.on('error', () => undefined)
  pool.on('connect', client => void client.on('error', () => undefined))
  return {
    ...queriesOver(pool),
    async transaction(work) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const done = await work(queriesOver(client))
        await client.query('COMMIT')
        client.release()
        return done
      } catch (error) {
        client.release(
          await client.query('ROLLBACK').then(
            () => false,
            () => true,
          ),
        )
        throw error
      }
    },
    close: () => pool.end(),
  }
}

export function queriesOver(of: pg.Pool | pg.PoolClient | pg.Client): Queries {
  const query = (text: string, values: Value[]) => of.query({ text, values })
  return {
    all: async <T>(sql: string, ...values: Value[]) => (await query(sql, values)).rows as T[],
    one: async <T>(sql: string, ...values: Value[]) => (await query(sql, values)).rows[0] as T | undefined,
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
  }
}
