/** For tests: PostgreSQL in this process. It has one connection, which a transaction has to itself. */
import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { Connections, Queries, Value } from '../store/postgres/connections.ts'
import type { Link } from '../store/postgres/link.ts'

/** `-F` turns flushes off, with which no hub starts. */
const FLUSHING = PGlite.defaultStartParams.filter(given => given !== '-F')

export class EmbeddedPostgres {
  readonly #server: PGlite

  private constructor(server: PGlite) {
    this.#server = server
  }

  static async start(): Promise<EmbeddedPostgres> {
    return new EmbeddedPostgres(await PGlite.create({ startParams: FLUSHING }))
  }

  connect(): Connections {
    const server = this.#server
    return {
      ...queriesOver(server),
      transaction: work => server.transaction(of => work(queriesOver(of))) as never,
      close: async () => undefined,
    }
  }

  /** Word goes the way it does at a server; locks of a connection would be everybody's. */
  async link(): Promise<Link> {
    const server = this.#server
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const deaf: (() => Promise<void>)[] = []
    return {
      ...queriesOver(server),
      hear: async (channel, heard) => void deaf.push(await server.listen(channel, heard)),
      ended,
      async close() {
        resolve()
        for (const stop of deaf.splice(0)) await stop()
      },
    }
  }

  stop(): Promise<void> {
    return this.#server.close()
  }
}

function queriesOver(of: PGlite | Transaction): Queries {
  const query = (sql: string, values: Value[]) => of.query(sql, values)
  return {
    all: async <T>(sql: string, ...values: Value[]) => (await query(sql, values)).rows as T[],
    one: async <T>(sql: string, ...values: Value[]) => (await query(sql, values)).rows[0] as T | undefined,
    run: async (sql, ...values) => (await query(sql, values)).affectedRows ?? 0,
  }
}
