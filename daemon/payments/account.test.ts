/** What a comparison of an account reads, what it comes to, and what is said of one that cannot be all. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import { keepComparison } from '../store/hub-accounts.ts'
import { DAY_MS } from '../testing/node.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { type AccountView, accountFault, owedBefore, paymentSaid } from './account.ts'
import { paymentParts } from './parts.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const signal = () => AbortSignal.timeout(1000)
/** What is found at the hub of alice, whose answers are changed in this. */
function compared(changed: Partial<HubClient['credits']> = {}): Promise<AccountView> {
  const { ctx, hub } = alice.node
  const credits = Object.assign(Object.create(hub.credits) as HubClient['credits'], changed)
  const shown = Object.assign(Object.create(hub) as HubClient, { credits })
  return paymentParts(ctx).comparison.compare(shown, signal())
}
const entries = () => alice.node.hub.credits.entriesAfter(0, signal())

describe('a comparison', () => {
  test('comes to what the entries are up to each of them, and goes on from the newest', async () => {
    world.post.ledger.grant(alice.node.aid, 7)
    const [newest, first] = (await entries()) as [AccountEntry, AccountEntry]
    const view = await compared()
    const sums = [first.seq - 1, first.seq, newest.seq - 1, newest.seq].map(view.sumAt)
    expect(sums).toEqual([0, GRANTED, GRANTED, GRANTED + 7])
    expect(view.checkpoint).toEqual({ seq: newest.seq, sum: GRANTED + 7, atMs: world.clock.ms })
    expect(view).toMatchObject({ unsigned: [], missing: [], lost: [], again: false, isCut: false })
  })

  test('goes on from the last one for thirteen days, whatever the hub shows of the time before', async () => {
    const hub = world.post.log.aid
    expect(owedBefore(alice.node.ctx.store, hub)).toBe(0)
    const { checkpoint } = await compared()
    alice.node.within(() => keepComparison(alice.node.ctx.store, hub, { ...checkpoint, sum: GRANTED + 9 }))
    expect(owedBefore(alice.node.ctx.store, hub)).toBe(GRANTED + 9)
    world.pass(13 * DAY_MS)
    expect((await compared()).short).toEqual({ sum: GRANTED + 9, balance: GRANTED })
    world.pass(1)
    expect((await compared()).short).toBeUndefined()
  })

  test('is short where the balance is less than the entries by one, and not where it is as much', async () => {
    const less = (by: number) =>
      compared({
        account: async () => {
          const told = await alice.node.hub.credits.account(1, signal())
          return { ...told, balance: told.balance - by }
        },
      })
    expect((await less(1)).short).toEqual({ sum: GRANTED, balance: GRANTED - 1 })
    expect([(await less(0)).short, (await less(-1)).short]).toEqual([undefined, undefined])
  })

  test.each([
    [1, GRANTED + 1],
    [2, GRANTED + 2],
    [3, undefined],
  ])('reads again where entries came in between, three times at most: %i', async (moving, balance) => {
    let reads = 0
    const account = async () => {
      reads++
      if (reads <= moving) world.post.ledger.grant(alice.node.aid, 1)
      const told = await alice.node.hub.credits.account(1, signal())
      return { ...told, balance: 0 }
    }
    const { short } = await compared({ account })
    expect(reads).toBe(Math.min(3, moving + 1))
    expect(short).toEqual(balance && { sum: balance, balance: 0 })
  })

  test('knows the payment of a task that a hub names, and nothing by other words', async () => {
    const id = await world.held(alice, bob)
    const [held] = (await entries()).filter(({ reason }) => reason === 'held')
    const said = paymentSaid(alice.node.ctx.store, held?.transaction ?? '')
    expect(said).toMatchObject({ amount: PRICE, interaction: alice.node.thread(id).key })
    expect(paymentSaid(alice.node.ctx.store, 'no id')).toBeUndefined()
  })
})

describe('what is said of an account', () => {
  const clean: AccountView = {
    entries: [],
    unsigned: [],
    afterBackup: [],
    missing: [],
    lost: [],
    again: false,
    isCut: false,
    short: undefined,
    sumAt: () => 0,
    checkpoint: { seq: 0, sum: 0, atMs: 0, acceptedSeq: undefined },
  }
  const debit = {
    seq: 1,
    atMs: 0,
    delta: -4,
    reason: 'paid',
    transaction: undefined,
    counterparty: undefined,
  }
  const order = { seq: 1, transaction: '', amount: 4, atMs: 0, counterparty: undefined, reason: 'paid' }
  const signed = { transaction: 'b1', atMs: 0, amount: 4 }

  test.each<[string, Partial<AccountView>, RegExp]>([
    [
      'a debit without an id',
      { unsigned: [debit] },
      /^it took 4 credits by an entry without an id, which this/,
    ],
    ['a debit', { unsigned: [{ ...debit, transaction: 'b7' }] }, /^it took 4 credits by b7, which this node/],
    [
      'a debit for which no order is shown',
      { afterBackup: [{ ...order, state: 'unproven' }] },
      /^it took 4 credits by an entry without an id at 1970-01-01T00:00:00.000Z, after the backup/,
    ],
    [
      'one to somebody',
      { afterBackup: [{ ...order, state: 'unproven', counterparty: 'Abob' }] },
      /00Z for Abob, after the backup/,
    ],
    [
      'what was paid',
      { missing: [{ ...signed, kind: 'paid' }] },
      /^it signed that b1 was paid by this agent/,
    ],
    ['what was redeemed', { missing: [{ ...signed, kind: 'redeemed' }] }, /b1 was redeemed by this agent/],
    ['what came back', { missing: [{ ...signed, kind: 'returned' }] }, /b1 came back to this agent/],
    ['too many entries', { isCut: true }, /^it shows more than 100000 entries since the last comparison/],
    ['a balance', { short: { sum: 2, balance: 1 } }, /^its ledger comes to 2 credits .* balance says 1$/],
  ])('names %s', (_, more, why) => {
    expect(accountFault({ ...clean, ...more })).toMatch(why)
  })

  test('is nothing where it can be all, or a lost copy is shown to have ordered it', () => {
    expect(accountFault(clean)).toBeUndefined()
    expect(accountFault({ ...clean, afterBackup: [{ ...order, state: 'signed' }] })).toBeUndefined()
  })
})
