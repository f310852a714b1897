/** The check of the matrix, tried on worlds in which one thing is wrong. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { keepRefundTold, paymentOf } from '../../daemon/store/payments.ts'
import { DAY_MS, HOUR_MS } from '../../daemon/testing/node.ts'
import { faults, stuck } from './check.ts'
import type { Row, Waiting } from './row.ts'
import { across } from './rows/across.ts'
import { mail } from './rows/mail.ts'
import { money } from './rows/money.ts'
import { proofs } from './rows/proofs.ts'
import { agents, clients } from './rows/work.ts'
import { MatrixWorld } from './world.ts'

const rows = [...across, ...mail, ...money, ...proofs, ...agents, ...clients]
const rowOf = (name: string): Row => {
  const row = rows.find(one => one.name === name)
  if (row === undefined) throw new Error(`no row is called: ${name}`)
  return row
}

/** What is found in a world that went well, and then in the same one after a change. */
async function found(row: string, change: (waiting: Waiting) => void | Promise<void>) {
  await using world = new MatrixWorld()
  const waiting = await rowOf(row).begin(world)
  await world.calm()
  world.pass(HOUR_MS)
  await world.turns(3)
  const before = faults(world)
  await change(waiting)
  return { before, after: [...faults(world), ...stuck(world)].join('\n') }
}

const cases: [is: string, row: string, change: (waiting: Waiting) => void | Promise<void>, says: RegExp][] = [
  [
    'credits from nowhere',
    'a hold',
    ({ world }) => world.post.ledger.grant(world.bob.aid, 3),
    /bob has \d+ credits and \d+ held at .*, and by receipts/,
  ],
  [
    'a receipt that the hub did not sign',
    'a hold',
    ({ world }) => {
      const [receipt] = world.post.ledger.receipts()
      if (receipt === undefined) throw new Error('no receipt')
      receipt[receipt.length - 1] = (receipt.at(-1) ?? 0) ^ 1
    },
    /is not signed by the hub/,
  ],
  [
    'a payment that another amount than the hub says moved for',
    'an order whose answer was lost',
    ({ here, id }) =>
      void here.ctx.store.run(
        'UPDATE payments SET moved = 1 WHERE interaction = ?',
        here.node.thread(id).key,
      ),
    /says ended 1, and the hub moved 5/,
  ],
  [
    'a debt of which two hubs say something else',
    'an order between two hubs whose answer was lost',
    ({ world }) => world.post.ledger.grant(world.other.log.aid, 2),
    /http:..other.test has 7 credits and 0 held at http:..hub.test, and by receipts 5 and 0\n(.*\n)?.*owes 7, and the other one is owed 5/,
  ],
  [
    'a payment between two hubs that is not booked for ever',
    'an order between two hubs whose answer was lost',
    ({ world }) => {
      for (const row of world.other.ledger.rows().values()) row.state = 'held'
    },
    /a payment of 5 between two hubs is held for ever/,
  ],
  [
    'a refund that no hub made',
    'a refund on its way to the requester',
    ({ here, id }) => {
      const { key } = here.node.thread(id)
      here.ctx.store.run('UPDATE payments SET refunded = 3 WHERE interaction = ?', key)
    },
    /bob says that it gave back 3, and the hub moved 5/,
  ],
  [
    'a refund that waits for ever',
    'a refund that the hub of the requester has yet to make',
    ({ here, there, id }) => {
      const refund = paymentOf(there.ctx.store, there.node.thread(id).key)?.refund ?? null
      keepRefundTold(here.ctx.store, here.node.thread(id).key, refund)
    },
    /alice: a refund waits for ever/,
  ],
  [
    'a file with other bytes',
    'a task with half of its attachment sent',
    ({ there }) => writeFileSync(join(there.ctx.attachments.folder, cidIn(there)), 'other'),
    /bob has other bytes under/,
  ],
  [
    'a file that is gone',
    'a task with half of its attachment sent',
    ({ there }) => rmSync(join(there.ctx.attachments.folder, cidIn(there))),
    /with a file that is not there/,
  ],
  [
    'a rating that the hub never got',
    'a rating that the hub has not taken',
    ({ world }) => void world.post.ratings.splice(0),
    /calls uploaded what the hub has not/,
  ],
  [
    'a rating that is kept for ever',
    'a rating that the hub has not taken',
    ({ here, world }) => {
      here.ctx.store.run("UPDATE reviews SET state = 'kept', next_at = ?", world.clock.ms + 30 * DAY_MS)
    },
    /a rating waits and does not say for what\n.*a rating is kept for ever/s,
  ],
  [
    'an event that nobody was told',
    'a push of A2A that nobody takes',
    ({ world }) => void world.outside?.told.pop(),
    /calls an event told that nobody took/,
  ],
  [
    'events that were told out of order',
    'a push of A2A that nobody takes',
    ({ world }) => void world.outside?.told.reverse(),
    /told events out of order/,
  ],
  [
    'a push that waits for ever',
    'a push of A2A that nobody takes',
    ({ here, world }) => {
      here.ctx.store.run('UPDATE a2a_pushes SET told = told - 1, next_at = ?', world.clock.ms + 30 * DAY_MS)
    },
    /a push waits for ever\n.*a push is untold for ever/s,
  ],
  [
    'a payment that does not say why it waits',
    'an order whose answer was lost',
    ({ here }) => void here.ctx.store.run("UPDATE payments SET state = 'ending', tries = 3, problem = NULL"),
    /a payment is ending after 3 tries, and does not say why/,
  ],
  [
    'a message that a restored sender calls delivered and that never came',
    'a message at the hub',
    async ({ here, there, world, id }) => {
      await (await here.backUp())()
      await world.calm()
      there.ctx.store.run(
        'DELETE FROM messages WHERE interaction = ? AND text = ?',
        there.node.thread(id).key,
        'one more thing',
      )
      here.ctx.store.run("UPDATE messages SET delivery = 'delivered' WHERE text = ?", 'one more thing')
    },
    /alice calls delivered what bob has not: one more thing/,
  ],
  [
    'a message that was said before the backup and is gone',
    'a message at the hub',
    async ({ here, id }) => {
      await (await here.backUp())()
      here.ctx.store.run('DELETE FROM outbox')
      here.ctx.store.run(
        'DELETE FROM messages WHERE interaction = ? AND text = ?',
        here.node.thread(id).key,
        'one more thing',
      )
    },
    /alice has lost what it said: one more thing/,
  ],
]

const cidIn = ({ ctx }: Waiting['here']): string =>
  ctx.store.get<{ cid: string }>('SELECT cid FROM message_attachments')?.cid ?? ''

describe('a world that went well has no fault, and one with', () => {
  test.each(cases)('%s is found out', async (_, row, change, says) => {
    const { before, after } = await found(row, change)
    expect(before).toEqual([])
    expect(after).toMatch(says)
  })
})
