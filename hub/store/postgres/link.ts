/** A connection that lasts: over it the server tells word of others, and holds locks for as long as it is there. */
import pg from 'pg'
import type { Queries } from './connections.ts'
import { queriesOver } from './connections.ts'

export interface Link extends Queries {
  /** Hears what is told on a channel from here on. */
  hear(channel: string, heard: (payload: string) => void): Promise<void>
  /** Resolves once the connection is gone, for whatever reason. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

const CONNECT_MS = 5000

export async function openLink(url: string): Promise<Link> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    application_name: 'svc-hub word',
  })
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  client.on('error', () => resolve())
  client.on('end', () => resolve())
  await client.connect()
  return {
    ...queriesOver(client),
    async hear(channel, heard) {
      client.on('notification', ({ payload = '' }) => heard(payload))
      await client.query(`LISTEN ${client.escapeIdentifier(channel)}`)
    },
    ended,
    // a connection that hangs has no end of its own
    async close() {
      resolve()
      await client.end()
    },
  }
}
