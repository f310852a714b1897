/** A connection that lasts: over it the server tells word of others, and holds locks for as long as it is there. */
import type pg from 'pg'
import { addressOf, passwordIn } from './address.ts'
import { type ConnectOptions, KEPT, type Queries, TABLES, types, type Value } from './connections.ts'
import { faultOf, unconnected } from './faults.ts'
import { clientFor } from './login.ts'

export interface Link extends Queries {
  /** Hears what is told on a channel from here on. */
  hear(channel: string, heard: (payload: string) => void): Promise<void>
  /** Resolves once the connection is gone, for whatever reason. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

const CONNECT_MS = 5000
const ANSWER_MS = 5000

/** No pooler may stand between that lends a connection out for one transaction. */
export async function openLink(
  url: string,
  { passwordFile }: Pick<ConnectOptions, 'passwordFile'> = {},
): Promise<Link> {
  const address = addressOf(url)
  const { host, port, user, database, password, tls } = address
  const Client = clientFor(address, (passwordFile ?? password) !== undefined)
  const client = new Client({
    ...{ host, port, user, database, types },
    password: () => (passwordFile === undefined ? (password ?? '') : passwordIn(passwordFile)),
    ssl: tls,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    application_name: 'svc-hub word',
  } as pg.ClientConfig)
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  client.on('error', () => resolve())
  client.on('end', () => resolve())
  try {
    await client.connect()
    await client.query(`SET ${TABLES}; SET ${KEPT}`).catch((error: unknown) => {
      client.end().catch(() => undefined)
      throw error
    })
  } catch (error) {
    throw unconnected(error)
  }
  let last: Promise<unknown> = Promise.resolve()
  // one after the other: the driver takes no question while it waits for an answer
  const ask = (text: string, values: Value[]): Promise<pg.QueryResult> => {
    const answer = last.then(async () => {
      try {
        return await client.query({ text, values })
      } catch (error) {
        throw faultOf(error)
      }
    })
    last = answer.catch(() => undefined)
    return answer
  }
  return {
    all: async <T>(sql: string, ...values: Value[]) => (await ask(sql, values)).rows as T[],
    one: async <T>(sql: string, ...values: Value[]) => (await ask(sql, values)).rows[0] as T | undefined,
    run: async (sql, ...values) => (await ask(sql, values)).rowCount ?? 0,
    async hear(channel, heard) {
      client.on('notification', ({ payload = '' }) => heard(payload))
      await ask(`LISTEN ${client.escapeIdentifier(channel)}`, [])
    },
    ended,
    // a connection that hangs has no end of its own
    async close() {
      resolve()
      await client.end()
    },
  }
}
