/** Room for a full disk: new mail gets nothing of it, and processes fill it again. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ackOf, agentRow, item, NOW_MS } from '../../testing/contract/world.ts'
import { EmbeddedPostgres } from '../../testing/pglite.ts'
import { emptyAll, openForTest } from '../../testing/postgres-contract.ts'
import { type Store, StoreFull } from '../port.ts'
import type { Connections } from './connections.ts'
import { Reserve } from './reserve.ts'

const WHOLE = 32 * 1024 * 1024
let server: EmbeddedPostgres
let db: Connections
let store: Store
let reserve: Reserve
let box = 0
beforeAll(async () => {
  server = await EmbeddedPostgres.start()
  db = server.connect()
}, 60_000)
afterAll(() => server.stop())
beforeEach(async () => {
  store = await openForTest(db)
  reserve = new Reserve(db)
  const put = await store.putAgent({ row: agentRow('agent-one'), entry: undefined, terms: [] })
  if (put.outcome === 'stored') box = put.number
})
afterEach(() => emptyAll(db))

const size = async () => (await db.one<{ n: number }>("SELECT pg_relation_size('reserve') AS n"))?.n
/** As if it had been given up long ago. */
const later = () => db.run('UPDATE reserve_given_up SET at_ms = 1 WHERE at_ms > 0')

test('it is filled once, however often it is looked after', async () => {
  await reserve.keep()
  const filled = await size()
  expect(filled).toBeGreaterThanOrEqual(WHOLE)
  await reserve.keep()
  expect(await size()).toBe(filled)
})

test('once it is given up, mail is refused and confirmed, until it is filled again after a while', async () => {
  expect(await store.enqueue(item(box, 1))).toMatchObject({ outcome: 'queued' })
  await reserve.keep()
  await reserve.giveUp()
  expect(await size()).toBe(0)
  await expect(store.enqueue(item(box, 2))).rejects.toBeInstanceOf(StoreFull)
  expect(await store.ack({ mailbox: box, items: [ackOf(1)], keepUntilMs: NOW_MS })).toMatchObject({
    acked: 1,
  })
  await reserve.keep()
  expect(await size()).toBe(0)
  await expect(store.enqueue(item(box, 2))).rejects.toBeInstanceOf(StoreFull)
  await later()
  await reserve.keep()
  expect(await size()).toBeGreaterThanOrEqual(WHOLE)
  expect(await store.enqueue(item(box, 2))).toMatchObject({ outcome: 'queued' })
})
