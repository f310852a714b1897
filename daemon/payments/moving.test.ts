/** Credits that are taken along from a hub that was left: signed once, asked for until the home proves that they arrived. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import {
  Authorization,
  networkOf,
  type SettlementBody,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { HubUnreachable, type Settled } from '../hubs/hub.ts'
import { openMoves } from '../store/credit-moves.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { Moving } from './moving.ts'
import { paymentParts } from './parts.ts'

const LEFT = `AQ${'A'.repeat(42)}`
const network = networkOf(LEFT)
const HOUR_MS = 3_600_000
let world: TestWorld
let nora: TestNode
/** What the home was asked for, and what it answers next. */
let asked: Uint8Array[]
let answer: (encoded: Uint8Array) => Settled | Promise<Settled>
let moving: Moving

beforeEach(async () => {
  world = new TestWorld()
  nora = await world.node('nora')
  asked = []
  answer = booked()
  const { identity, store, hubNow, log } = nora.ctx
  const { signer, records, receipts } = paymentParts(nora.ctx)
  const accounts = { accountOf: () => Promise.reject(new HubUnreachable('http://left.test')) }
  moving = new Moving({ identity, store, signer, records, receipts, accounts }, hubNow, log)
})
afterEach(() => world[Symbol.asyncDispose]())

/** The receipt of the home for what it is asked, which names the hub that owes it; members may be others. */
const booked =
  (more: Partial<SettlementBody> = {}) =>
  (encoded: Uint8Array): Settled => {
    const authorization = Authorization.decode(encoded)
    const { payer, payTo: payee, amount, network } = authorization.body
    const receipt = SettlementReceipt.sign(world.post.seed, {
      v: 1,
      transaction: transactionOf(authorization),
      kind: settlementKinds.paid,
      ...{ payer, payee, amount, network, settledAt: world.clock.ms },
      hub: world.post.log.aid,
      hubKelSeq: world.post.log.seq,
      supplyHead: [0, contentId(new Uint8Array())],
      peer: LEFT,
      ...more,
    })
    return { receipt: SettlementReceipt.encode(receipt) }
  }

function move(amount: number) {
  const { identity } = nora.hub
  const credits = {
    settle: async (encoded: Uint8Array) => {
      asked.push(encoded)
      return await answer(encoded)
    },
  }
  const home = { identity, credits, refresh: async () => {}, pushLog: async () => {} }
  return moving.move(home as never, { network, amount }, AbortSignal.timeout(5000))
}
const open = () => openMoves(nora.ctx.store).map(({ amount }) => amount)
const signed = () => new Set(asked.map(encoded => Buffer.from(encoded).toString('hex'))).size

describe('credits that are taken along', () => {
  test('are paid by this agent to itself in the credits of the hub that was left, and what the home signed is kept', async () => {
    const moved = await move(7)
    expect(moved).toMatchObject({ amount: 7, from: network, verified: true })
    const { body } = Authorization.decode(asked[0] as Uint8Array)
    expect([body.payer, body.payTo, body.amount, body.network]).toEqual([nora.aid, nora.aid, 7, network])
    expect(body.holdUntil).toBeUndefined()
    expect(open()).toEqual([])
    const { records } = paymentParts(nora.ctx)
    expect(records.signedSince(world.post.log.aid, 0)).toMatchObject([
      { transaction: moved.transaction, amount: 7, kind: 'received' },
    ])
    expect(records.authorizedSince(0)).toMatchObject([{ transaction: moved.transaction, amount: 7 }])
  })

  test('whose answer was lost are asked for again by what was signed, and no other amount beside', async () => {
    answer = () => Promise.reject(new HubUnreachable('http://hub.test'))
    await expect(move(7)).rejects.toThrow('hub unreachable')
    expect(open()).toEqual([7])
    await expect(move(8)).rejects.toThrow('moving 7 credits from there is under way; repeat that amount')
    answer = booked()
    await move(7)
    expect([signed(), asked.length, open()]).toEqual([1, 2, []])
  })

  test('that wait for the hub that has them stay open, and their person is told to ask again', async () => {
    answer = () => ({ refused: 'settlement_pending', says: 'ask again' })
    await expect(move(7)).rejects.toThrow('has not answered yet; ask again')
    expect(open()).toEqual([7])
    answer = booked()
    await move(7)
    expect([signed(), open()]).toEqual([1, []])
  })

  test('that the home refuses have not moved, and another amount may be asked for', async () => {
    answer = () => ({ refused: 'peer_limit', says: 'the hub of the payer would owe this hub too much' })
    await expect(move(7)).rejects.toThrow(
      'would owe this hub too much; move fewer, or ask its operator for a higher limit',
    )
    expect(open()).toEqual([])
    answer = booked()
    expect(await move(3)).toMatchObject({ amount: 3 })
  })

  test.each([
    ['another hub', { peer: `AQ${'B'.repeat(42)}` }],
    ['another amount', { amount: 8 }],
    ['another payee', { payee: LEFT }],
  ])('are open while the receipt of the home is of %s', async (_, more) => {
    answer = booked(more)
    await expect(move(7)).rejects.toThrow('a receipt that does not hold')
    expect(open()).toEqual([7])
    answer = booked()
    await move(7)
    expect([signed(), open()]).toEqual([1, []])
  })

  test.each([
    ['after a rotation of the key', () => nora.ctx.identity.rotate(nora.hub.identity.aid, world.clock.ms)],
    ['once their time is over', () => world.pass(2 * HOUR_MS)],
  ])('are signed anew %s, where the home has not booked what was signed before', async (_, change) => {
    answer = () => Promise.reject(new HubUnreachable('http://hub.test'))
    await move(7).catch(() => undefined)
    change()
    const first = asked[0] as Uint8Array
    const isFirst = (encoded: Uint8Array) => Buffer.compare(encoded, first) === 0
    answer = encoded =>
      isFirst(encoded) ? { refused: 'expired', says: 'its time is over' } : booked()(encoded)
    expect(await move(7)).toMatchObject({ verified: true })
    expect([signed(), asked.map(isFirst)]).toEqual([2, [true, true, false]])
  })

  test('are not signed anew after a rotation where the home has booked them', async () => {
    answer = () => Promise.reject(new HubUnreachable('http://hub.test'))
    await move(7).catch(() => undefined)
    nora.ctx.identity.rotate(nora.hub.identity.aid, world.clock.ms)
    answer = booked()
    await move(7)
    expect(signed()).toBe(1)
  })
})
