// project: programs
/** PostgreSQL as a server keeps the contract of the store, over connections of their own. */
import { afterAll, beforeAll, describe } from 'vitest'
import { postgresContract } from '../../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../../testing/postgres-server.ts'
import { connectTo } from './connections.ts'

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'a server of its own', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.stop())
  postgresContract('a PostgreSQL server', () => connectTo(server.url))
})
