/** How an open hold is asked about again, at which hub, and under which key. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { networkOf } from '../../protocol/proof/payment.ts'
import type { Settled } from '../hubs/hub.ts'
import type { PaymentRow } from '../store/payments.ts'
import { PaidWorld, type PayingNode } from '../testing/paying.ts'
import { homeOnly, withNewestKey } from './accounts.ts'
import { HoldCalls } from './hold-calls.ts'
import { HoldProblems } from './hold-problems.ts'
import { paymentParts } from './parts.ts'

let world: PaidWorld
let bob: PayingNode
let id: string

beforeEach(async () => {
  world = new PaidWorld()
  const { alice, ...others } = await world.paid()
  bob = others.bob
  id = await world.held(alice, bob)
})
afterEach(() => world[Symbol.asyncDispose]())

const row = () => bob.payment(id) as PaymentRow
const problems = (paymentPauseMs = 1000) => {
  const { ctx } = bob.node
  return new HoldProblems({ ...ctx, ...paymentParts(ctx) }, { ...ctx.timings, paymentPauseMs }, ctx.hubNow)
}

describe('a hold that is open', () => {
  test('is asked about after a pause, then after twice as long, up to ten minutes', () => {
    const pauses = Array.from({ length: 40 }, () => {
      bob.node.within(() => problems().askLater(row(), 'unanswered'))
      return row().nextAt - world.clock.ms
    })
    expect(pauses.slice(0, 4)).toEqual([1000, 2000, 4000, 8000])
    expect(pauses[9]).toBe(512_000)
    expect(pauses.slice(10)).toEqual(Array(30).fill(600_000))
  })

  test('is asked about at once where nothing is wrong any more', () => {
    problems().open(row(), 'refused')
    expect(row()).toMatchObject({ problem: 'refused', tries: 1 })
    problems().clear(row())
    expect(row()).toMatchObject({ problem: null, nextAt: world.clock.ms })
  })

  test('says a problem once', () => {
    const said = () => bob.node.heard.length
    const before = said()
    problems().open(row(), 'refused')
    const after = said()
    problems().open(row(), 'refused')
    expect([after > before, said()]).toEqual([true, after])
  })
})

describe('the hub of a hold', () => {
  const log = { info: () => {}, warn: () => {} } as never
  const calls = (accountOf: () => Promise<never>) =>
    new HoldCalls({ hub: bob.node.ctx.hub, accounts: { accountOf }, problems: problems() }, log)

  test('that is not reached, or has no account, is asked later, and the reason is kept', async () => {
    expect(await calls(async () => bob.node.hub as never).hubOf(row())).toBe(bob.node.hub)
    expect(row().problem).toBeNull()
    expect(await calls(() => Promise.reject(new Error('no answer'))).hubOf(row())).toBeUndefined()
    expect(row().problem).toBe('unanswered')
    expect(await calls(async () => undefined as never).hubOf(row())).toBeUndefined()
    expect(row().problem).toBe('no_account')
  })

  test('may have this payee again where it is the home, or there is none', () => {
    const may = (network: string) =>
      calls(async () => undefined as never).mayBeRegistered({ ...row(), network })
    expect([may(world.network), may(networkOf(bob.node.aid))]).toEqual([true, false])
    bob.node.ctx.hub.leave()
    expect(may(networkOf(bob.node.aid))).toBe(true)
  })

  test('is the home where nothing else is known, for its own credits alone', async () => {
    const { hub } = bob.node.ctx
    const { accountOf } = homeOnly(hub)
    expect(await accountOf(world.network)).toBe(bob.node.hub)
    expect(await accountOf(networkOf(bob.node.aid))).toBeUndefined()
    hub.leave()
    expect(await accountOf(world.network)).toBeUndefined()
  })
})

test('a hub is told the newest key and asked once more where it did not know it, and for no other reason', async () => {
  async function asked(...answers: Settled[]) {
    let told = 0
    const hub = { pushLog: async () => void told++ } as never
    const left = [...answers]
    const last = await withNewestKey(bob.node.ctx.identity, hub, async () => left.shift() as Settled)
    return [last, answers.length - left.length, told]
  }
  const unknown = { refused: 'invalid_signature', says: 'no' }
  const receipt = { receipt: Uint8Array.of(1) }
  expect(await asked(receipt, unknown)).toEqual([receipt, 1, 0])
  expect(await asked(unknown, receipt)).toEqual([receipt, 2, 1])
  expect(await asked(unknown, unknown, receipt)).toEqual([unknown, 2, 1])
  const refused = { refused: 'expired', says: 'no' }
  expect(await asked(refused, receipt)).toEqual([refused, 1, 0])
})
