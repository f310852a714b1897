/** No question takes longer for a longer history: each is answered through an index. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EmbeddedPostgres } from '../../testing/pglite.ts'
import { accountQueries } from './accounts.ts'
import { agentQueries } from './agents.ts'
import { boardQueries } from './board.ts'
import { clearingQueries } from './clearing.ts'
import type { Connections } from './connections.ts'
import { inviteQueries } from './invites.ts'
import { ledgerQueries } from './ledger.ts'
import { mailQueries } from './mail.ts'
import { migrate } from './migrate.ts'
import { moderationQueries } from './moderation.ts'
import { openCardQueries } from './open-cards.ts'
import { openQueries } from './open-mail.ts'
import { openPeerQueries } from './open-peers.ts'
import { openReviewQueries } from './open-reviews.ts'
import { cardQueries } from './peer-cards.ts'
import { peerPaymentQueries } from './peer-payments.ts'
import { postingQueries } from './posting.ts'
import { queueQueries } from './queueing.ts'
import { reviewQueries } from './reviews.ts'
import { signUpQueries } from './sign-ups.ts'
import { supplyQueries } from './supply-rows.ts'
import { toldQueries } from './told-reviews.ts'
import { voucherQueries } from './vouchers.ts'
import { watchedQueries } from './watched-chains.ts'
import { witnessQueries } from './witnesses.ts'

const questions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  mailQueries,
  queueQueries,
  accountQueries,
  agentQueries,
  signUpQueries,
  inviteQueries,
  boardQueries,
  moderationQueries,
  openQueries,
  openCardQueries,
  openPeerQueries,
  openReviewQueries,
  reviewQueries,
  toldQueries,
  cardQueries,
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
  board_card: 'a board has so many cards at most',
  invite: 'what the operator made, so many at most',
  ledger_totals: 'one row',
  official: 'whom the operator vouches for, so many at most',
  open_peer_read: 'a row for each peer',
  open_peer_read_pkey: 'a row for each peer',
  peer_cards_read: 'a row for each peer',
  peer_cards_read_pkey: 'a row for each peer',
  reserve_given_up: 'one row',
  refused_range: 'what the operator refuses',
  supply_epoch: 'a row for each day',
  witness: 'what the operator or a witness added, at most some dozens',
  witness_statement: 'a row a day of each witness',
}
/** A recount of the books, the leaves of the proof of a day, and sums that the operator asks for. */
const WHOLE = new Set([
  'ledgerQueries.unequal',
  'ledgerQueries.recount',
  'ledgerQueries.owed',
  'mailQueries.totals',
  'agentQueries.registered',
  'openQueries.agents',
  'moderationQueries.archivedCount',
  'moderationQueries.caps',
  'moderationQueries.waiting',
  'reviewQueries.totals',
])
/** The end of an index. */
const LAST = new Set(['ledgerQueries.last', 'supplyQueries.head'])

let server: EmbeddedPostgres
let connections: Connections
beforeAll(async () => {
  server = await EmbeddedPostgres.start()
  connections = server.connect()
  await migrate(connections, { release: 'test' })
}, 60_000)
afterAll(() => server.stop())

/** Tables that its plan reads whole although it may use any index. */
async function scannedBy(sql: string): Promise<string[]> {
  const count = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)))
  const given = count === 0 ? '' : `(${Array.from({ length: count }, () => 'NULL').join(', ')})`
  const lines = await connections.transaction(async db => {
    for (const setting of [
      // the planner joins an empty table whole
      ...['enable_seqscan = off', 'enable_hashjoin = off', 'enable_mergejoin = off', 'enable_material = off'],
      'plan_cache_mode = force_generic_plan',
    ])
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
