// project: programs
/** Somebody else, as an operator at a console, holds rows in a transaction of their own: only what needs these waits for it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ackOf, agentRow, bytes, item, NOW_MS } from '../../testing/contract/world.ts'
import { emptyAll, openForTest } from '../../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../../testing/postgres-server.ts'
import type { AccountName, Posting } from '../ledger-port.ts'
import { type Store, StoreLocked } from '../port.ts'
import { type Connections, connectTo } from './connections.ts'

const LETTERS = 40
/** Less than what is locked waits before it is refused. */
const GOES_ON_MS = 6000
/** Longer than the server waits for one that says nothing. */
const HOLDING = { holds: true }

const agent = (name: string): AccountName => ({ kind: 'agent', name })
const issued = (n: number, to: string): Posting => ({
  ...{ id: bytes(32, n), reason: 'trial', amount: 9, atMs: NOW_MS },
  moves: [{ from: { kind: 'issue', name: '' }, to: agent(to), amount: 9 }],
})
const paid = (n: number, from: string, to: string): Posting => ({
  ...{ id: bytes(32, n), reason: 'payment', amount: 1, atMs: NOW_MS },
  moves: [{ from: agent(from), to: agent(to), amount: 1 }],
})

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'rows that somebody else holds', () => {
  let server: PostgresServer
  let aside: Connections
  let store: Store
  const boxes: number[] = []
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    aside = connectTo(server.url)
    store = await openForTest(connectTo(server.url))
    boxes.length = 0
    for (const aid of ['agent-one', 'agent-two']) {
      const put = await store.putAgent({ row: agentRow(aid), entry: undefined, terms: [] })
      if (put.outcome === 'stored') boxes.push(put.number)
    }
  })
  afterEach(async () => {
    await store.close()
    await emptyAll(aside)
    await aside.close()
  })
  const [heldBox, freeBox] = [() => boxes[0] as number, () => boxes[1] as number]

  /** Does both at once while somebody holds what `sql` finds: the free one goes on, and the other is done after that. */
  async function whileHeld(sql: string, needing: () => Promise<unknown>, free: () => Promise<unknown>) {
    const order: string[] = []
    let needed: Promise<unknown> | undefined
    const startedMs = performance.now()
    await aside.transaction(async db => {
      await db.run(sql)
      needed = needing().finally(() => order.push('needing'))
      needed.catch(() => undefined)
      await free()
      order.push('free')
    })
    expect(performance.now() - startedMs).toBeLessThan(GOES_ON_MS)
    await needed
    expect(order).toEqual(['free', 'needing'])
  }
  const HELD_AGENT = "SELECT FROM agent WHERE aid = 'agent-one' FOR UPDATE"

  test(
    'letters to others that arrive together with one to a held mailbox are queued',
    { timeout: 20_000 },
    () =>
      whileHeld(
        HELD_AGENT,
        () => store.enqueue(item(heldBox(), 1)),
        () => Promise.all(Array.from({ length: LETTERS }, (_, n) => store.enqueue(item(freeBox(), n)))),
      ),
  )

  test('letters to a held mailbox are refused in time, each by itself, and keep nobody', {
    timeout: 30_000,
  }, async () => {
    await aside.transaction(async db => {
      await db.run(HELD_AGENT)
      const held = [1, 2, 3].map(n => store.enqueue(item(heldBox(), n)))
      const all = Promise.allSettled(held)
      for (let n = 0; n < LETTERS; n++) {
        const startedMs = performance.now()
        expect(await store.enqueue(item(freeBox(), n))).toMatchObject({ outcome: 'queued' })
        if (n > 0) expect(performance.now() - startedMs).toBeLessThan(GOES_ON_MS / 2)
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      for (const one of await all) expect(one).toMatchObject({ reason: expect.any(StoreLocked) })
    }, HOLDING)
    expect(await store.enqueue(item(heldBox(), 1))).toMatchObject({ outcome: 'queued' })
  })

  test('letters to a held mailbox keep their order', { timeout: 20_000 }, async () => {
    let sent: Promise<unknown[]> | undefined
    await aside.transaction(async db => {
      await db.run(HELD_AGENT)
      const first = Array.from({ length: LETTERS }, (_, n) => store.enqueue(item(heldBox(), n)))
      await new Promise(resolve => setTimeout(resolve, 3000))
      const later = Array.from({ length: LETTERS }, (_, n) => store.enqueue(item(heldBox(), n + LETTERS)))
      sent = Promise.all([...first, ...later])
      await store.enqueue(item(freeBox(), 1))
    })
    const ids = ((await sent) as { rid: Uint8Array }[]).map(({ rid }) => rid)
    expect(new Set(ids.map(String)).size).toBe(2 * LETTERS)
    const found = await store.poll({
      mailbox: heldBox(),
      afterId: 0,
      limit: 100,
      bytesMax: 1e9,
      nowMs: NOW_MS,
    })
    const contents = await store.contents({ mailbox: heldBox(), ids: found.envelopes.map(({ id }) => id) })
    expect(found.envelopes.map(({ id }) => contents.get(id)?.[0])).toEqual(
      Array.from({ length: 2 * LETTERS }, (_, n) => n),
    )
  })

  test('confirmations of others go on', { timeout: 20_000 }, async () => {
    for (const box of boxes) await store.enqueue(item(box, 1))
    const ack = (mailbox: number) => store.ack({ mailbox, items: [ackOf(1)], keepUntilMs: NOW_MS })
    await whileHeld(
      HELD_AGENT,
      () => ack(heldBox()),
      () => ack(freeBox()),
    )
  })

  test('a letter that somebody else deletes holds up no confirmation but its own', {
    timeout: 20_000,
  }, async () => {
    for (const box of boxes) await store.enqueue(item(box, 1))
    const ack = (mailbox: number) => store.ack({ mailbox, items: [ackOf(1)], keepUntilMs: NOW_MS })
    await whileHeld(
      `SELECT FROM envelope WHERE mailbox = ${heldBox()} FOR UPDATE`,
      () => ack(heldBox()),
      () => ack(freeBox()),
    )
  })

  test('registrations of others go on', { timeout: 20_000 }, async () => {
    const put = async (aid: string) => {
      const row = (await store.findAgent(aid)) ?? agentRow(aid)
      expect(await store.putAgent({ row, entry: undefined, terms: [] })).toMatchObject({ outcome: 'stored' })
    }
    await whileHeld(
      HELD_AGENT,
      () => put('agent-one'),
      () => Promise.all([put('agent-two'), put('agent-three')]),
    )
  })

  test('orders about other accounts go on', { timeout: 20_000 }, async () => {
    for (const aid of ['agent-one', 'agent-two']) await store.admit(aid, true)
    await whileHeld(
      "SELECT FROM account WHERE aid = 'agent-one' FOR UPDATE",
      () => store.raiseFloor('agent-one', NOW_MS),
      () => store.raiseFloor('agent-two', NOW_MS),
    )
  })

  test('payments between others go on', { timeout: 20_000 }, async () => {
    for (const [n, name] of ['one', 'two', 'three'].entries())
      expect(await store.post(issued(n, name))).toMatchObject({ outcome: 'posted' })
    await whileHeld(
      "SELECT FROM ledger_account WHERE name = 'one' FOR UPDATE",
      async () => expect(await store.post(paid(10, 'one', 'two'))).toMatchObject({ outcome: 'posted' }),
      async () => expect(await store.post(paid(11, 'three', 'four'))).toMatchObject({ outcome: 'posted' }),
    )
    expect(await store.booksAgree()).toBe(true)
  })

  test('a table that somebody has locked as a whole is refused in time, and all goes on afterwards', {
    timeout: 30_000,
  }, async () => {
    await aside.transaction(async db => {
      await db.run('LOCK TABLE agent IN ACCESS EXCLUSIVE MODE')
      await expect(store.enqueue(item(heldBox(), 1))).rejects.toBeInstanceOf(StoreLocked)
    }, HOLDING)
    expect(await store.enqueue(item(heldBox(), 1))).toMatchObject({ outcome: 'queued' })
  })
})
