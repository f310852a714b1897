/** PostgreSQL keeps the contract of the store, here in this process; `server-contract.test.ts` starts a server. */
import { afterAll, beforeAll } from 'vitest'
import { EmbeddedPostgres } from '../../testing/pglite.ts'
import { postgresContract } from '../../testing/postgres-contract.ts'

let server: EmbeddedPostgres
beforeAll(async () => {
  server = await EmbeddedPostgres.start()
}, 60_000)
afterAll(() => server.stop())

postgresContract('PostgreSQL in this process', () => server.connect())
