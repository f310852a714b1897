/** No question about money takes longer for a longer history: each is answered through an index. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EmbeddedPostgres } from '../../testing/pglite.ts'
import { clearingQueries } from './clearing.ts'
import type { Connections } from './connections.ts'
import { ledgerQueries } from './ledger.ts'
import { migrate } from './migrate.ts'
import { peerPaymentQueries } from './peer-payments.ts'
import { postingQueries } from './posting.ts'
import { supplyQueries } from './supply-rows.ts'
import { voucherQueries } from './vouchers.ts'
import { watchedQueries } from './watched-chains.ts'
import { witnessQueries } from './witnesses.ts'

const questions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ledgerQueries,
  postingQueries,
  supplyQueries,
  peerPaymentQueries,
  clearingQueries,
  voucherQueries,
  witnessQueries,
  watchedQueries,
}
/** Tables that are read whole, and why each stays small. */
const SMALL: Readonly<Record<string, string>> = {
  ledger_totals: 'one row',
  supply_epoch: 'a row for each day',
  witness: 'what the operator or a witness added, at most some dozens',
  witness_statement: 'a row a day of each witness',
}
/** A recount of the books, and the leaves of the proof of a day. */
const WHOLE = new Set(['ledgerQueries.unequal', 'ledgerQueries.recount', 'ledgerQueries.owed'])
/** The end of an index. */
const LAST = new Set(['ledgerQueries.last', 'supplyQueries.head'])

let server: EmbeddedPostgres
let connections: Connections
beforeAll(async () => {
  server = await EmbeddedPostgres.start()
  connections = server.connect()
  await migrate(connections, 'test')
}, 60_000)
afterAll(() => server.stop())

/** Tables that its plan reads whole although it may use any index. */
async function scannedBy(sql: string): Promise<string[]> {
  const count = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)))
  const given = count === 0 ? '' : `(${Array.from({ length: count }, () => 'NULL').join(', ')})`
  const lines = await connections.transaction(async db => {
    for (const setting of ['enable_seqscan = off', 'plan_cache_mode = force_generic_plan'])
      await db.run(`SET LOCAL ${setting}`)
    await db.run(`PREPARE asked AS ${sql}`)
    const plan = await db.all<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE asked${given}`)
    await db.run('DEALLOCATE asked')
    return plan.map(line => line['QUERY PLAN'])
  })
  return lines.flatMap((line, at) => {
    const [, table] = /(?:Seq|Index|Index Only|Bitmap Heap) Scan.* on (\w+)/.exec(line) ?? []
    const after = lines.slice(at + 1)
    // the condition of a bitmap stands with the index that made it, which is deeper
    const end = after.findIndex(one => depthOf(one) <= depthOf(line))
    const below = (end < 0 ? after : after.slice(0, end)).join('\n')
    return table === undefined || /^\s*Index Cond/m.test(below) ? [] : [table]
  })
}

const depthOf = (line: string): number => line.search(/[^ ]/)

const all = Object.entries(questions).flatMap(([of, queries]) =>
  Object.entries(queries).map(([name, sql]) => [`${of}.${name}`, sql] as const),
)

test.each(all.filter(([name]) => !WHOLE.has(name) && !LAST.has(name)))('%s', async (_, sql) => {
  expect((await scannedBy(sql)).filter(table => SMALL[table] === undefined)).toEqual([])
})
