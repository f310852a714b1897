// project: programs
/** The engine keeps its contract behind a pooler that lends out connections for one transaction at a time. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bouncer, withoutBouncer } from '../../testing/bouncer.ts'
import { agentRow } from '../../testing/contract/world.ts'
import { openForTest, postgresContract } from '../../testing/postgres-contract.ts'
import { PostgresServer } from '../../testing/postgres-server.ts'
import { StoreAway } from '../port.ts'
import { connectTo } from './connections.ts'

describe.skipIf(withoutBouncer !== undefined)(withoutBouncer ?? 'behind PgBouncer', () => {
  let server: PostgresServer
  let bouncer: Bouncer
  beforeAll(async () => {
    server = await PostgresServer.start()
    bouncer = await Bouncer.start(server)
  })
  afterAll(async () => {
    await bouncer.stop()
    await server.stop()
  })

  postgresContract('PgBouncer', () => connectTo(bouncer.url))

  test('bounds hold behind it, and end with their transaction', async () => {
    const connections = connectTo(bouncer.url, { bounds: { statementMs: 200 } })
    await expect(connections.one('SELECT pg_sleep(3)')).rejects.toThrow(/statement timeout/)
    const others = connectTo(bouncer.url)
    await Promise.all(Array.from({ length: 6 }, () => others.one('SELECT pg_sleep(0.4)')))
    await Promise.all([connections.close(), others.close()])
  })

  test('a server that is lost behind it is away, and back without a new pooler', async () => {
    const store = await openForTest(connectTo(bouncer.url))
    await server.halt()
    await expect(store.putSetting('one', 'value')).rejects.toBeInstanceOf(StoreAway)
    expect(await store.health()).toMatchObject({ away: true })
    await server.resume()
    while ((await store.health()).away) await new Promise(resolve => setTimeout(resolve, 50))
    expect(await store.putAgent({ row: agentRow('agent-one'), entry: undefined, terms: [] })).toMatchObject({
      outcome: 'stored',
    })
    await store.close()
  })
})
