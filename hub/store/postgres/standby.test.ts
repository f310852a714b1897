// project: programs
/** A standby that has to confirm each commit, and does not: changes are refused in time, the rest goes on, and nothing is lost with the primary. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentRow, item, NOW_MS } from '../../testing/contract/world.ts'
import { openForTest } from '../../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../../testing/postgres-server.ts'
import { type Store, StoreAway, StoreLocked } from '../port.ts'
import { connectTo } from './connections.ts'

const BOUNDS = { connectMs: 1000, statementMs: 1000, lockMs: 300, idleMs: 500, answerMs: 700 }
const ROUNDS = 5
/** Mailboxes that are sent to in one. */
const EACH = 2
const MAILBOXES = ROUNDS * EACH
const WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'a standby that does not confirm', () => {
  let server: PostgresServer
  let standby: PostgresServer
  let store: Store
  const boxes: number[] = []
  beforeAll(async () => {
    server = await PostgresServer.start()
    standby = await server.standby()
    store = await openForTest(connectTo(server.url, { bounds: BOUNDS }))
    for (let n = 0; n < MAILBOXES; n++) {
      const put = await store.putAgent({ row: agentRow(`agent-${n}`), entry: undefined, terms: [] })
      if (put.outcome === 'stored') boxes.push(put.number)
    }
  })
  afterAll(async () => {
    await store.close()
    await standby.stop()
    await server.stop()
  })
  const waitingIn = async (of: Store, mailbox: number): Promise<number> =>
    (await of.poll({ mailbox, afterId: 0, limit: 1000, bytesMax: 1e9, nowMs: NOW_MS })).envelopes.length
  const sendAll = (n: number, to: readonly number[]) =>
    Promise.all(to.map(box => store.enqueue(item(box, n)).catch((error: unknown) => error)))

  test('changes are refused in time, what reads goes on, and the server is not filled with those that wait', async () => {
    standby.receive(false)
    for (let round = 0; round < ROUNDS; round++) {
      const startedMs = performance.now()
      for (const outcome of await sendAll(1, boxes.slice(round * EACH, (round + 1) * EACH)))
        expect(outcome instanceof StoreAway || outcome instanceof StoreLocked, String(outcome)).toBe(true)
      expect(performance.now() - startedMs).toBeLessThan(2 * BOUNDS.answerMs + BOUNDS.lockMs + 1000)
      expect(await waitingIn(store, boxes[0] ?? 0)).toBe(0)
    }
    expect(await store.health()).toMatchObject({ away: true, broken: false })
    expect(Number(server.ask(WAITING))).toBeLessThanOrEqual(2)
    await expect(store.enqueue(item(boxes[0] ?? 0, 1))).rejects.toThrow('its standby does not confirm')
  })

  test('a transaction that may take long waits no longer for the answer to its commit, and says why', async () => {
    standby.receive(false)
    const patient = connectTo(server.url, { bounds: { ...BOUNDS, patientCommitMs: 1000 } })
    const asked = patient.transaction(
      db => db.run("INSERT INTO setting (name, value) VALUES ('patient', '1')"),
      { patient: true },
    )
    await expect(asked).rejects.toThrow(
      'where a standby has to confirm it, look whether it does: svc-hub doctor',
    )
    await patient.close()
  })

  test('once it confirms, each is taken once, and the primary is lost without any of them', async () => {
    standby.receive(true)
    while ((await store.health()).away) await new Promise(resolve => setTimeout(resolve, 50))
    for (const outcome of await sendAll(1, boxes))
      expect(outcome).toMatchObject({ outcome: expect.stringMatching(/^(queued|duplicate)$/) })
    expect(server.ask(WAITING)).toBe('0')
    await server.halt('SIGQUIT')
    standby.promote()
    const promoted = await openForTest(connectTo(standby.url))
    for (const box of boxes) expect(await waitingIn(promoted, box)).toBeGreaterThanOrEqual(1)
    await promoted.close()
  })
})
