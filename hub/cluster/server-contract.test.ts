// project: programs
/** What processes share keeps the contracts over a server. */
import { afterAll, beforeAll, describe } from 'vitest'
import { connectTo } from '../store/postgres/connections.ts'
import { openLink } from '../store/postgres/link.ts'
import { clusterContract } from '../testing/cluster-contract.ts'
import { openForTest } from '../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../testing/postgres-server.ts'

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'at a server', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start()
    await (await openForTest(connectTo(server.url))).close()
  })
  afterAll(() => server.stop())

  clusterContract(
    'a server',
    () => ({ connect: () => connectTo(server.url), openLink: () => openLink(server.url) }),
    { hasLocks: true },
  )
})
