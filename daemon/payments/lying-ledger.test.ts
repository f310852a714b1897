/** A hub that shows an account otherwise than it was moved is found out, whatever else it shows. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { Authorization, networkOf, transactionOf } from '../../protocol/proof/payment.ts'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import { HOUR_MS, type TestNode } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { accountFault, keepCheckpoint } from './account.ts'
import { reopenLost } from './lost-holds.ts'
import { paymentParts } from './parts.ts'
import { auditOf } from './x402.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  await world.answered(alice, bob)
  await world.turns(3)
})
afterEach(() => world[Symbol.asyncDispose]())

const signal = () => AbortSignal.timeout(1000)
const hubAid = () => world.post.log.aid

/** The hub of a node, which shows other entries and another balance. */
function lying(
  { ctx, hub }: TestNode,
  tells: { entries?: (honest: AccountEntry[]) => AccountEntry[]; less?: number },
) {
  const { entries = honest => honest, less = 0 } = tells
  const shown = async () => entries(await hub.credits.entriesAfter(0, signal()))
  const credits = Object.assign(Object.create(hub.credits) as HubClient['credits'], {
    entriesAfter: shown,
    account: async () => {
      const told = await hub.credits.account(1, signal())
      return { ...told, entries: await shown(), balance: told.balance - less }
    },
  })
  const liar = Object.assign(Object.create(hub) as HubClient, { credits })
  return async () => {
    const view = await paymentParts(ctx).comparison.compare(liar, signal())
    const fault = accountFault(view)
    if (fault === undefined) keepCheckpoint(ctx.store, hubAid(), view)
    return fault
  }
}

const one = (entry: AccountEntry | undefined, more: Partial<AccountEntry>): AccountEntry => {
  if (entry === undefined) throw new Error('no entry')
  return { ...entry, ...more }
}

test('an honest one is none', async () => {
  for (const { node } of [alice, bob]) expect(await lying(node, {})()).toBeUndefined()
})

test('one that came back from a backup is none while what it had given is ordered again', async () => {
  const { ctx, hub } = bob.node
  const id = await world.held(alice, bob)
  const before = world.post.ledger.snapshot()
  bob.node.say(id, 'violets are blue')
  await world.turns(3)
  const compare = () => paymentParts(ctx).comparison.compare(hub, signal())
  keepCheckpoint(ctx.store, hubAid(), await compare())
  world.post.ledger.restore(before)
  world.post.ledger.always('endHold', { kind: 'lost_before' })
  const view = await compare()
  expect([view.again, accountFault(view)]).toEqual([true, undefined])
})

test('a second debit under a payment that was signed, of its amount or of another one', async () => {
  for (const delta of [-PRICE, -1, -50]) {
    const entries = (honest: AccountEntry[]) => {
      const own = honest.find(entry => entry.delta === -PRICE)
      return [one(own, { seq: (honest[0]?.seq ?? 0) + 1, delta }), ...honest]
    }
    expect(await lying(alice.node, { entries, less: -delta })()).toMatch(
      new RegExp(`^it took ${-delta} credits by b\\w+, which this node did not sign`),
    )
  }
})

test('a debit under a payment that was signed for less', async () => {
  const entries = (honest: AccountEntry[]) =>
    honest.map(entry => (entry.delta === -PRICE ? one(entry, { delta: -PRICE - 3 }) : entry))
  expect(await lying(alice.node, { entries, less: 3 })()).toMatch(/^it took 8 credits by b\w+, which/)
})

test('a credit that shrank since the hub signed it', async () => {
  const entries = (honest: AccountEntry[]) =>
    honest.map(entry => (entry.delta === PRICE ? one(entry, { delta: 1 }) : entry))
  expect(await lying(bob.node, { entries, less: PRICE - 1 })()).toMatch(
    /was paid to this agent, and its ledger has no such entry of 5 credits$/,
  )
})

test('so many entries that the last comparison is not among them', async () => {
  const less = (await alice.node.hub.credits.account(1, signal())).balance
  expect(await lying(alice.node, {})()).toBeUndefined()
  const entries = (honest: AccountEntry[]) => {
    const first = (honest[0]?.seq ?? 0) + 1
    const last = first + 100_000
    return Array.from({ length: 100_000 }, (_, n) => one(honest[0], { seq: last - n, delta: 1 }))
  }
  expect(await lying(alice.node, { entries, less: less - 100_000 })()).toMatch(
    /^it shows more than 100000 entries since the last comparison/,
  )
})

test('a debit that is dated before a person accepted what was shown', async () => {
  auditOf(alice.node.ctx).accept(hubAid())
  const compare = lying(alice.node, {})
  for (let n = 0; n < 2; n++) expect(await compare()).toBeUndefined()
  const entries = (honest: AccountEntry[]) => [
    one(honest[0], {
      seq: (honest[0]?.seq ?? 0) + 1,
      atMs: world.clock.ms - 10 * HOUR_MS,
      delta: -4,
      transaction: 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku',
    }),
    ...honest,
  ]
  expect(await lying(alice.node, { entries, less: 4 })()).toMatch(/^it took 4 credits by bafkreihd/)
})

test('a debit before the first comparison, unless it is dated before a person accepted what was shown', async () => {
  const { ctx } = alice.node
  auditOf(ctx).accept(hubAid())
  const acceptedMs = ctx.hubNow()
  world.pass(1000)
  const dated = (atMs: number) =>
    lying(alice.node, {
      entries: honest => [
        one(honest[0], {
          seq: (honest[0]?.seq ?? 0) + 1,
          atMs,
          delta: -4,
          transaction: 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku',
        }),
        ...honest,
      ],
      less: 4,
    })
  expect(await dated(acceptedMs + 1)()).toMatch(/^it took 4 credits by bafkreihd/)
  for (let n = 0; n < 2; n++) expect(await dated(acceptedMs)()).toBeUndefined()
})

test('nothing is ordered again, and nobody is woken, where a hub has lost nothing', () => {
  let woken = 0
  const payments = { wake: () => void woken++ }
  expect([reopenLost(bob.node.ctx.store, payments as never, []).size, woken]).toEqual([0, 0])
})

describe('after a restore, a signature by a key', () => {
  /** A payment that somebody signs, as of before the backup, and the hub shows as if it had been then. */
  async function forged(node: TestNode, { rotates, late }: { rotates: boolean; late: number }) {
    const { identity } = node.ctx
    const notBefore = world.clock.ms
    const body = {
      v: 1 as const,
      payer: identity.aid,
      payerKelSeq: identity.log.seq,
      payTo: bob.node.aid,
      amount: 4,
      network: networkOf(hubAid()),
      nonce: new Uint8Array(16).fill(9),
      notBefore,
      notAfter: notBefore + 1000,
    }
    const authorization = Authorization.sign(identity.seed, body)
    if (rotates) await node.rotate()
    world.pass(late)
    const transaction = cidText(transactionOf(authorization))
    const entries = (honest: AccountEntry[]) => [
      one(honest[0], { seq: (honest[0]?.seq ?? 0) + 1, atMs: world.clock.ms, delta: -4, transaction }),
      ...honest,
    ]
    const shown = async () => new Map([[transaction, Authorization.encode(authorization)]])
    Object.assign(node.hub.credits, { authorizationsSince: shown })
    return lying(node, { entries, less: 4 })
  }
  const restored = () => world.restore(alice.node, world.archive(alice.node), world.clock.ms)

  test('that it has is that of a lost copy', async () => {
    const compare = await forged(await restored(), { rotates: false, late: 0 })
    expect(await compare()).toBeUndefined()
  })

  test.each([
    ['ten minutes after it was over', 601_000, undefined],
    ['later than that', 601_001, /shows no order for it/],
  ])('that it has, moved %s', async (_, late, fault) => {
    const compare = await forged(await restored(), { rotates: false, late })
    expect(await compare()).toEqual(fault && expect.stringMatching(fault))
  })

  test('that was rotated away is believed of nothing that was not shown before', async () => {
    const compare = await forged(await restored(), { rotates: true, late: 0 })
    expect(await compare()).toMatch(/shows no order for it/)
  })
})
