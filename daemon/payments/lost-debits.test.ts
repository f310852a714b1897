/** Debits of a restored node: which of them a lost copy may have ordered, and which questions that takes. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  networkOf,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import type { AccountEntry } from '../hubs/hub.ts'
import { keepLostOrder, lostOrderRows } from '../store/lost-orders.ts'
import { noteSettled } from '../store/restores.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { paymentParts } from './parts.ts'

const AMOUNT = 4

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

const signal = () => AbortSignal.timeout(1000)
const entry = (more: Partial<AccountEntry> = {}): AccountEntry => ({
  ...{ seq: 1, delta: -AMOUNT, atMs: madeAtMs + 60_000, reason: 'held' },
  ...{ transaction: 'b1', counterparty: undefined },
  ...more,
})
/** What is found among these, the newest first. */
const found = async (...entries: AccountEntry[]) => {
  const orders = await paymentParts(node.ctx).lostOrders.at(node.hub, entries, signal())
  return orders.map(({ state, seq, amount }) => [state, seq, amount])
}
const asked = (operation: string) => world.post.ledger.asked.filter(one => one.operation === operation).length

/** What a lost copy signed in the time that was lost. */
function signed({ amount = AMOUNT, n = 0 } = {}) {
  const { signer } = paymentParts(node.ctx)
  const network = networkOf(node.hub.identity.aid)
  const { body } = signer.sign({ payTo: node.hub.identity.aid, amount, network, holdSeconds: 7200 + n })
  const authorization = Authorization.sign(node.ctx.identity.seed, body)
  return {
    transaction: cidText(transactionOf(authorization)),
    encoded: Authorization.encode(authorization),
  }
}

describe('a debit', () => {
  test('of a single credit may be that of a lost copy; what takes nothing, or gives, is none', async () => {
    expect(await found(entry({ delta: -1 }))).toEqual([['unproven', 1, 1]])
    expect(await found(entry({ delta: 0 }), entry({ delta: 1 }))).toEqual([])
  })

  test('that this node has signed itself is none', async () => {
    const { transaction, encoded } = signed()
    const { records } = paymentParts(node.ctx)
    node.within(() => records.authorized('', Authorization.decode(encoded)))
    expect(await found(entry({ transaction }))).toEqual([])
    expect(asked('authorizations')).toBe(0)
  })

  test.each<[string, () => number, number, number]>([
    ['an hour before the backup', () => madeAtMs - HOUR_MS, 0, 0],
    ['later than that', () => madeAtMs - HOUR_MS + 1, 1, 1],
    [
      'while what was signed until an hour after the restore is good',
      () => settledMs + HOUR_MS + AUTHORIZATION_LIFE_MAX_MS - 1,
      1,
      1,
    ],
    ['after that', () => settledMs + HOUR_MS + AUTHORIZATION_LIFE_MAX_MS, 0, 1],
  ])('of %s is found, or asked about', async (_, atMs, count, questions) => {
    expect(await found(entry({ atMs: atMs() }))).toHaveLength(count)
    expect(asked('authorizations')).toBe(questions)
  })

  test('whose order the hub has shown is asked about once', async () => {
    const { transaction, encoded } = signed()
    node.hub.credits.authorizationsSince = async () => {
      questions += 1
      return new Map([[transaction, encoded]])
    }
    let questions = 0
    for (let n = 0; n < 2; n++) expect(await found(entry({ transaction }))).toEqual([['signed', 1, AMOUNT]])
    expect(questions).toBe(1)
  })

  test('is signed for once: the oldest, of its amount', async () => {
    const { transaction, encoded: authorization } = signed()
    const order = { id: transaction, seq: 1, at: madeAtMs, reason: 'held', counterparty: null, authorization }
    node.within(() => keepLostOrder(node.ctx.store, order))
    const debit = (seq: number, delta: number) => entry({ seq, delta, transaction })
    expect(await found(debit(3, -AMOUNT), debit(2, -AMOUNT), debit(1, -AMOUNT - 1))).toEqual([
      ['unproven', 3, AMOUNT],
      ['signed', 2, AMOUNT],
      ['unproven', 1, AMOUNT + 1],
    ])
  })
})

test('64 holds of lost copies are asked about at once', async () => {
  node.within(() => {
    for (let n = 0; n < 65; n++) {
      const { transaction: id, encoded: authorization } = signed({ n })
      const order = { id, seq: n, at: madeAtMs, reason: 'held', counterparty: null, authorization }
      keepLostOrder(node.ctx.store, order)
    }
  })
  expect(lostOrderRows(node.ctx.store)).toHaveLength(65)
  await found()
  expect(asked('endOf')).toBe(64)
})
