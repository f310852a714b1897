/** How each entry that a hub shows is held against what was signed here, at its edges. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { READ_LIMIT_MAX } from '../chain/chain.ts'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import { lastComparison } from '../store/hub-accounts.ts'
import { DAY_MS, HOUR_MS, type TestNode } from '../testing/node.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { accountFault, keepCheckpoint } from './account.ts'
import { paymentParts } from './parts.ts'
import { auditOf } from './x402.ts'

const MINUTE_MS = 60_000
const MANY = 100_000
const OTHER = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const hubAid = () => world.post.log.aid
const signal = () => AbortSignal.timeout(1000)
type Shown = (honest: AccountEntry[]) => AccountEntry[]
/** What a node finds where its hub shows these entries in the place of the true ones. */
async function compared({ ctx, hub }: TestNode, shown: Shown = honest => honest) {
  const entries = shown(await hub.credits.entriesAfter(0, signal()))
  const balance = entries.reduce((sum, { delta }) => sum + delta, 0)
  const credits = Object.assign(Object.create(hub.credits) as HubClient['credits'], {
    entriesAfter: async () => entries,
    account: async () => ({ ...(await hub.credits.account(1, signal())), entries, balance }),
  })
  const liar = Object.assign(Object.create(hub) as HubClient, { credits })
  return await paymentParts(ctx).comparison.compare(liar, signal())
}
const changed =
  (which: (entry: AccountEntry) => boolean, more: Partial<AccountEntry>): Shown =>
  honest =>
    honest.map(entry => (which(entry) ? { ...entry, ...more } : entry))
/** One more entry, the newest. */
const added =
  (...more: Partial<AccountEntry>[]): Shown =>
  honest => {
    const [newest] = honest as [AccountEntry]
    return [
      ...more.map((each, n) => ({ ...newest, seq: newest.seq + 1 + n, atMs: world.clock.ms, ...each })),
      ...honest,
    ]
  }
const isGain = ({ delta }: AccountEntry) => delta > 0
const isUnnamed = { transaction: undefined, counterparty: undefined }

/** A task that bob was paid for. */
async function taken(): Promise<string> {
  const id = await world.answered(alice, bob)
  await world.turns(2)
  expect(bob.payment(id)).toMatchObject({ state: 'ended' })
  return id
}

describe('what was given to this agent', () => {
  test('is there by a single credit', async () => {
    bob.node.ctx.settings.change({ prices: { task: 1 } })
    await taken()
    expect(await compared(bob.node)).toMatchObject({ again: false, missing: [] })
  })

  test('is ordered again where its entry moves nothing', async () => {
    await taken()
    expect((await compared(bob.node, changed(isGain, { delta: 0 }))).again).toBe(true)
  })

  test.each([
    [MANY - 1, true],
    [MANY, false],
  ])('is ordered again where it is not among %i entries: %s', async (count, again) => {
    const id = await taken()
    const flood: Shown = honest => {
      const [newest] = honest as [AccountEntry]
      const last = newest.seq + count
      const plain = { ...newest, ...isUnnamed, delta: 1 }
      return Array.from({ length: count }, (_, n) => ({ ...plain, seq: last - n }))
    }
    const view = await compared(bob.node, flood)
    expect([view.again, bob.payment(id)?.state]).toEqual([again, again ? 'ending' : 'ended'])
  })
})

describe('where only the newest entries are shown', () => {
  /** So many that older ones may be missing; the oldest stands at this place and time. */
  const flood =
    (seq: number, atMs: number): Shown =>
    ([newest]) => {
      const plain = { ...(newest as AccountEntry), ...isUnnamed, delta: 1, atMs }
      return Array.from({ length: MANY }, (_, n) => ({ ...plain, seq: seq + MANY - 1 - n }))
    }

  test('what was signed up to the time of the oldest is not missed, and later things are', async () => {
    await taken()
    const { records } = paymentParts(alice.node.ctx)
    const [paid] = records.signedSince(hubAid(), 0)
    const atMs = paid?.atMs ?? 0
    expect((await compared(alice.node, flood(100, atMs))).missing).toEqual([])
    const { missing } = await compared(alice.node, flood(100, atMs - 1))
    expect(missing.map(({ transaction }) => transaction)).toEqual([paid?.transaction])
  })

  test('the last comparison is among them where it ended with the oldest', async () => {
    const { store } = alice.node.ctx
    const before = await compared(alice.node)
    keepCheckpoint(store, hubAid(), before)
    const { seq } = before.checkpoint
    const cut = async (from: number) => (await compared(alice.node, flood(from, world.clock.ms))).isCut
    expect([await cut(seq), await cut(seq + 1)]).toEqual([false, true])
    // what was compared long ago is missed by nobody
    world.pass(13 * DAY_MS + 1)
    expect(await cut(seq + 1)).toBe(false)
  })
})

describe('a debit', () => {
  test('that takes nothing accuses nobody', async () => {
    expect((await compared(alice.node, added({ delta: 0, transaction: OTHER }))).unsigned).toEqual([])
  })

  test('is known by what was signed in the fourteen days before, or stands beside that', async () => {
    await taken()
    world.pass(1000)
    const { chain } = alice.node.ctx
    const foreign = { interaction_id: '', authorization_id: OTHER, pay_to: bob.node.aid, amount: 1 }
    alice.node.within(() => {
      for (let n = 0; n < READ_LIMIT_MAX; n++)
        chain.append('svc.payment.authorized', { ...foreign, network: world.network })
    })
    world.pass(14 * DAY_MS)
    expect((await compared(alice.node)).unsigned).toEqual([])
    world.pass(1)
    expect((await compared(alice.node)).unsigned).toMatchObject([{ delta: -PRICE }])
  })
})

describe('a hub that came back with its supply chain shows redemptions without their ids', () => {
  const redeem = (amount: number, reference: string) =>
    alice.wallet.redeem(alice.node.hub, amount, reference, signal())
  const isRedemption = ({ reason }: AccountEntry) => reason === 'redemption'
  const unsigned = async (shown: Shown) => {
    const view = await compared(alice.node, shown)
    return [view.unsigned.map(({ delta }) => delta), view.missing.length]
  }

  test('each is one that was signed, of its amount', async () => {
    await redeem(7, 'bill 1')
    await redeem(7, 'bill 2')
    await redeem(3, 'bill 3')
    expect(await unsigned(changed(isRedemption, isUnnamed))).toEqual([[], 0])
    expect(await unsigned(changed(isRedemption, { ...isUnnamed, delta: -7 }))).toEqual([[-7], 1])
  })

  test('one more than were signed is not', async () => {
    await redeem(7, 'bill 1')
    const extra = added({ ...isUnnamed, delta: -7, reason: 'redemption' })
    expect(await unsigned(extra)).toEqual([[-7], 0])
    expect(await unsigned(honest => extra(changed(isRedemption, isUnnamed)(honest)))).toEqual([[-7], 0])
  })

  test('one by an id that nobody signed is not, nor is a debit of another reason', async () => {
    await redeem(7, 'bill 1')
    expect(await unsigned(changed(isRedemption, { transaction: OTHER }))).toEqual([[-7], 1])
    expect(await unsigned(changed(isRedemption, { ...isUnnamed, reason: 'paid' }))).toEqual([[-7], 1])
  })

  test('a payment to somebody else is none', async () => {
    await world.held(alice, bob)
    const shown = changed(({ delta }) => delta === -PRICE, { ...isUnnamed, reason: 'redemption' })
    expect((await unsigned(shown))[0]).toEqual([-PRICE])
  })
})

describe('the first comparison after a person went on with a hub', () => {
  const sum = async () => (await compared(alice.node)).checkpoint.sum
  const told = async () => {
    const { ctx, hub } = alice.node
    return (await paymentParts(ctx).comparison.compare(hub, signal())).checkpoint.sum
  }

  test('counts no hold that may have lapsed without its entry', async () => {
    bob.node.ctx.settings.change({ prices: { task: 1 } })
    await alice.wallet.redeem(alice.node.hub, 3, 'bill 1', signal())
    const id = await world.held(alice, bob)
    const until = alice.payment(id)?.holdUntil ?? 0
    auditOf(alice.node.ctx).accept(hubAid())
    world.clock.ms = until - 5 * MINUTE_MS
    expect(await told()).toBe(GRANTED - 3 - 1)
    world.pass(1)
    expect(await told()).toBe(GRANTED - 3 - 1 - 1)
    // its entry is there
    world.clock.ms = until + 1
    expect(await told()).toBe(GRANTED - 3)
  })

  test('comes to nothing where the balance is less than what may have lapsed', async () => {
    await alice.wallet.redeem(alice.node.hub, GRANTED - PRICE, 'bill 1', signal())
    const id = await world.held(alice, bob)
    auditOf(alice.node.ctx).accept(hubAid())
    expect(await told()).toBe(0)
    world.clock.ms = (alice.payment(id)?.holdUntil ?? 0) - 1
    expect(await told()).toBe(0)
  })

  test('goes on from the balance, and not where there was a comparison since', async () => {
    auditOf(alice.node.ctx).accept(hubAid())
    const view = await compared(alice.node, added({ delta: 9, transaction: OTHER }))
    expect(view.checkpoint).toMatchObject({ sum: GRANTED + 9, acceptedSeq: view.checkpoint.seq })
    keepCheckpoint(alice.node.ctx.store, hubAid(), view)
    expect(lastComparison(alice.node.ctx.store, hubAid())?.sum).toBe(GRANTED + 9)
    expect(await sum()).toBe(GRANTED + 9)
  })
})

test('of what a restored node finds, a person accepts what nobody can show an order for', async () => {
  const [archive, madeAtMs] = [world.archive(alice.node), world.clock.ms]
  await world.held(alice, bob)
  await alice.wallet.redeem(alice.node.hub, 3, 'bill 1', signal())
  world.pass(HOUR_MS / 2)
  const node = await world.restore(alice.node, archive, madeAtMs)
  const found = async () => {
    const view = await compared(node)
    return [view.afterBackup.map(({ state }) => state), accountFault(view) === undefined]
  }
  world.post.ledger.keepsAuthorizations = false
  expect(await found()).toEqual([['unproven', 'unproven'], false])
  auditOf(node.ctx).accept(hubAid())
  expect(await found()).toEqual([[], true])
  world.post.ledger.keepsAuthorizations = true
  expect(await found()).toEqual([['signed', 'signed'], true])
})
