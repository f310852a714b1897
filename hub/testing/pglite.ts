/** For tests: PostgreSQL in this process. It has one connection, which a transaction has to itself. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { Connections, Queries, Value } from '../store/postgres/connections.ts'
import type { Link } from '../store/postgres/link.ts'

/** `-F` turns flushes off, with which no hub starts. */
const FLUSHING = PGlite.defaultStartParams.filter(given => given !== '-F')

const at = (path: string): URL => new URL(path, import.meta.url)
const { devDependencies } = JSON.parse(readFileSync(at('../../package.json'), 'utf8')) as {
  devDependencies: Record<string, string>
}
const FOLDER = at('../../node_modules/.cache/svc-pglite/')
const EMPTY = new URL(`${devDependencies['@electric-sql/pglite']}.tar`, FOLDER)

/** Making the files of an empty database takes most of a start, so they are kept for the next one. */
async function startEmpty(): Promise<PGlite> {
  if (existsSync(EMPTY))
    return PGlite.create({ startParams: FLUSHING, loadDataDir: new Blob([readFileSync(EMPTY)]) })
  const server = await PGlite.create({ startParams: FLUSHING })
  const draft = new URL(randomUUID(), FOLDER)
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(draft, await (await server.dumpDataDir('none')).bytes())
  renameSync(draft, EMPTY)
  return server
}

export class EmbeddedPostgres {
  readonly #server: PGlite

  private constructor(server: PGlite) {
    this.#server = server
  }

  static async start(): Promise<EmbeddedPostgres> {
    return new EmbeddedPostgres(await startEmpty())
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
