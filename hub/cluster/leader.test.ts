// project: programs
/** Who leads loses its place with its connection: another process comes to lead, and the work under way is told. */
import { setTimeout as pause, setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Turn } from '../core/ports/leader.ts'
import { connectTo } from '../store/postgres/connections.ts'
import { openLink } from '../store/postgres/link.ts'
import { joinForTest } from '../testing/cluster-contract.ts'
import { openForTest } from '../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../testing/postgres-server.ts'

const CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc-hub word'"
/** So long a lost connection may take to be there again. */
const BACK_MS = 1500

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'a leader', { timeout: 30_000 }, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start()
    await (await openForTest(connectTo(server.url))).close()
  }, 60_000)
  afterAll(() => server.stop())
  const join = () =>
    joinForTest({ connect: () => connectTo(server.url), openLink: () => openLink(server.url) })

  test('that is cut off is told so, and leads no more until nobody else does', async () => {
    const one = await join()
    let given: Turn | undefined
    const under = one.memory.leader.lead('sweep', async turn => {
      given = turn
      while (!turn.isOver) await setImmediate()
      return 'told'
    })
    while (given === undefined) await setImmediate()
    const other = await join()
    expect(await other.memory.leader.lead('sweep', async () => 'leads')).toBeUndefined()
    server.order(CUT)
    expect(await under).toBe('told')
    await pause(BACK_MS)
    expect([one.isLinked, other.isLinked]).toEqual([true, true])
    const leads = [one, other].map(({ memory }) => memory.leader.lead('sweep', async () => 'leads'))
    expect((await Promise.all(leads)).filter(answer => answer === 'leads').length).toBe(1)
    await Promise.all([one.end(), other.end()])
  })

  test('ends in order, and its place is free at once', async () => {
    const [one, other] = [await join(), await join()]
    expect(await one.memory.leader.lead('books', async () => 'leads')).toBe('leads')
    await one.memory.leader.stop()
    expect(await other.memory.leader.lead('books', async () => 'leads')).toBe('leads')
    await Promise.all([one.end(), other.end()])
  })
})
