/** What processes share keeps the contracts over PostgreSQL in this process, all but the locks of a connection. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { clusterContract, forgetAll } from '../testing/cluster-contract.ts'
import { EmbeddedPostgres } from '../testing/pglite.ts'
import { openForTest } from '../testing/postgres-contract.ts'
import { beganMs, beginAnew } from './began.ts'

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

test('memory that was lost began no earlier than the newest time that a process stored, whatever the clock of the server that is there now', async () => {
  const db = server.connect()
  const lose = async () => {
    await db.run('TRUNCATE memory_began')
    await expect(beganMs(db)).rejects.toThrow('the database is away')
    await db.transaction(beginAnew)
  }
  await lose()
  const began = await beganMs(db)
  expect(Math.abs(began - Date.now())).toBeLessThan(5000)
  expect(await beganMs(db)).toBe(began)
  await db.run('INSERT INTO setting (name, value) VALUES ($1, $2)', CLOCK_SETTING, String(began + 60_000))
  await lose()
  expect(await beganMs(db)).toBe(began + 60_000)
  await forgetAll(db)
  await db.run('DELETE FROM setting WHERE name = $1', CLOCK_SETTING)
})
