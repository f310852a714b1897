/** What a hub shows as ordered by a lost copy is believed where this identity signed that very debit, in the lost time. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import {
  Authorization,
  networkOf,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import type { AccountEntry } from '../hubs/hub.ts'
import { lostOrderRow } from '../store/lost-orders.ts'
import { noteSettled } from '../store/restores.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { HUB_SEED } from '../testing/scripted-hub.ts'
import { LostEnds, lostHoldSaid, openHolds, ShownOrders } from './lost-orders.ts'
import { paymentParts } from './parts.ts'

const AMOUNT = 4
const LIFE_MS = 1000

let world: TestWorld
let node: TestNode
let madeAtMs: number
let settledMs: number

beforeEach(async () => {
  world = new TestWorld()
  node = await world.node('nora')
  madeAtMs = world.clock.ms
  settledMs = madeAtMs + HOUR_MS
  node.within(() => noteSettled(node.ctx.store, madeAtMs, settledMs))
})
afterEach(() => world[Symbol.asyncDispose]())

const hub = () => node.hub.identity.aid
const signal = () => AbortSignal.timeout(1000)
type Body = Authorization['body']

function signed(wrong: Partial<Body> = {}, seed = node.ctx.identity.seed) {
  const { identity } = node.ctx
  const notBefore = wrong.notBefore ?? madeAtMs + 60_000
  const authorization = Authorization.sign(seed, {
    v: 1,
    payer: identity.aid,
    payerKelSeq: identity.log.seq,
    payTo: hub(),
    amount: AMOUNT,
    network: networkOf(hub()),
    nonce: new Uint8Array(16).fill(9),
    notBefore,
    notAfter: notBefore + LIFE_MS,
    ...wrong,
  })
  return { authorization, transaction: cidText(transactionOf(authorization)) }
}

/** Whether the order is kept that a hub shows for an entry. */
async function isKept(
  { authorization, transaction }: ReturnType<typeof signed>,
  more: Partial<AccountEntry> = {},
): Promise<boolean> {
  const entry: AccountEntry = {
    seq: 3,
    transaction,
    delta: -AMOUNT,
    atMs: authorization.body.notBefore,
    reason: 'held',
    counterparty: undefined,
    ...more,
  }
  const shown = new Map([[entry.transaction ?? '', Authorization.encode(authorization)]])
  const credits = { ...node.hub.credits, authorizationsSince: async () => shown }
  const asked = { credits, identity: node.hub.identity } as never
  await new ShownOrders(node.ctx).learn(asked, [entry], { sinceMs: 0, signal: signal() })
  return lostOrderRow(node.ctx.store, entry.transaction ?? '') !== undefined
}

describe('an order that a hub shows', () => {
  test('is kept where it is signed for that debit in the time that was lost', async () => {
    expect(await isKept(signed())).toBe(true)
    expect(node.heard.some(({ type }) => type === 'hub')).toBe(true)
  })

  test('is not kept where it is of another amount, or for another debit', async () => {
    expect(await isKept(signed(), { delta: -AMOUNT - 1 })).toBe(false)
    expect(await isKept(signed({ amount: AMOUNT + 1 }))).toBe(false)
    const { transaction } = signed({ nonce: new Uint8Array(16).fill(8) })
    expect(await isKept(signed(), { transaction })).toBe(false)
  })

  test('is not kept where it is of another agent, in other credits, or by another key', async () => {
    expect(await isKept(signed({ payer: hub() }))).toBe(false)
    expect(await isKept(signed({ network: networkOf(node.aid) }))).toBe(false)
    expect(await isKept(signed({ payerKelSeq: node.ctx.identity.log.seq + 1 }))).toBe(false)
    expect(await isKept(signed({}, new Uint8Array(32).fill(5)))).toBe(false)
  })

  test.each<[string, boolean, () => number]>([
    ['an hour before the backup', false, () => madeAtMs - HOUR_MS],
    ['later than that', true, () => madeAtMs - HOUR_MS + 1],
    ['within an hour after the restore', true, () => settledMs + HOUR_MS - 1],
    ['an hour after the restore', false, () => settledMs + HOUR_MS],
  ])('that was signed %s is kept: %s', async (_, kept, notBefore) => {
    expect(await isKept(signed({ notBefore: notBefore() }))).toBe(kept)
  })

  test('that was moved later than ten minutes after its time is not kept', async () => {
    const order = signed()
    const { notAfter } = order.authorization.body
    expect(await isKept(order, { atMs: notAfter + 10 * 60_000 + 1 })).toBe(false)
    expect(await isKept(order, { atMs: notAfter + 10 * 60_000 })).toBe(true)
  })
})

describe('the end of a hold that a lost copy ordered', () => {
  const held = () => signed({ holdUntil: madeAtMs + 60_000 + LIFE_MS + HOUR_MS })
  const receipt = (kind: 'captured' | 'returned', amount: number, seed = HUB_SEED) => {
    const { authorization } = held()
    const { payer, payTo: payee, network } = authorization.body
    return SettlementReceipt.encode(
      SettlementReceipt.sign(seed, {
        v: 1,
        transaction: transactionOf(authorization),
        kind: settlementKinds[kind],
        payer,
        payee,
        amount,
        network,
        settledAt: madeAtMs + 60_000,
        hub: hub(),
        hubKelSeq: 0,
        supplyHead: [0, transactionOf(authorization)],
      }),
    )
  }
  async function learnt(...said: object[]) {
    const { ctx } = node
    const order = held()
    await isKept(order)
    const log = { error: () => {} } as never
    const ends = new LostEnds({ ...ctx, receipts: paymentParts(ctx).receipts }, log)
    let asked = 0
    for (const one of said) {
      const endOf = async () => {
        asked++
        return one as never
      }
      await ends.learn({ ...node.hub, identity: node.hub.identity, credits: { endOf } } as never, signal())
    }
    return { asked, said: lostHoldSaid(ctx.store, order.transaction) }
  }

  test('is what the hub has signed, and is asked for no more then', async () => {
    const end = receipt('captured', 3)
    expect(await learnt({ end }, { end })).toEqual({ asked: 1, said: { payment: 'taken', paid: 3 } })
    expect(openHolds(node.ctx.store, networkOf(hub()))).toEqual([])
  })

  test('is that a single credit was taken', async () => {
    const end = receipt('captured', 1)
    expect((await learnt({ end })).said).toEqual({ payment: 'taken', paid: 1 })
  })

  test('is that it came back, whatever the receipt names as its amount', async () => {
    expect((await learnt({ end: receipt('returned', AMOUNT) })).said).toEqual({ payment: 'returned' })
  })

  test('is open where the hub refuses, says nothing, or signs it with another key', async () => {
    const said = [{ refused: 'x', says: 'no' }, { end: undefined }]
    const forged = { end: receipt('captured', 3, new Uint8Array(32).fill(5)) }
    expect(await learnt(...said, forged)).toEqual({ asked: 3, said: { payment: 'held' } })
    expect(openHolds(node.ctx.store, networkOf(hub()))).toHaveLength(1)
    expect(openHolds(node.ctx.store, networkOf(node.aid))).toEqual([])
  })

  test('is said of holds alone', async () => {
    expect(lostHoldSaid(node.ctx.store, 'b1')).toBeUndefined()
    const order = held()
    await isKept(order, { reason: 'paid' })
    expect(lostHoldSaid(node.ctx.store, order.transaction)).toBeUndefined()
  })
})
