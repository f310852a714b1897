/** What processes share keeps the contracts over PostgreSQL in this process, all but the locks of a connection. */
import { afterAll, beforeAll } from 'vitest'
import { clusterContract } from '../testing/cluster-contract.ts'
import { EmbeddedPostgres } from '../testing/pglite.ts'
import { openForTest } from '../testing/postgres-contract.ts'

/** It compiles the server. */
const START_MS = 60_000

let server: EmbeddedPostgres
beforeAll(async () => {
  server = await EmbeddedPostgres.start()
  await (await openForTest(server.connect())).close()
}, START_MS)
afterAll(() => server.stop())

clusterContract('PGlite', () => ({ connect: () => server.connect(), openLink: () => server.link() }), {
  hasLocks: false,
})
