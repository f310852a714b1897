/** What is paid without a person: the bound of one payment, of a day, and of what one agent gets on it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noteQuote, type QuoteRow, quoteOf } from '../store/quotes.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { whyNotPaid } from './rules.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

const DAY = Date.UTC(2026, 10, 22)
const spend = { auto_max: 10, agent_max: 20, day_max: 100, payee_day_max: 30 }
/** Why so many credits are not paid at noon, where so many were spent this day, and went to this agent. */
function why(amount: number, spent: { all?: number; here?: number }, by: QuoteRow['orderedBy'] = null) {
  const { key } = alice.delegate(bob)
  const { store } = alice.ctx
  const price = { amount, network: 'hub:x', holdSeconds: 7200, settleSeconds: 3600 }
  alice.within(() => noteQuote(store, key, price))
  const lost = {
    doubtOf: () => undefined,
    spent: (since: number, to: string | undefined) => {
      if (since !== DAY) return 0
      return (to === undefined ? spent.all : to === bob.aid ? spent.here : undefined) ?? 0
    },
  }
  const quote = { ...(quoteOf(store, key) as QuoteRow), orderedBy: by }
  const rules = { spend, nowMs: DAY + 43_200_000, payee: bob.aid }
  return whyNotPaid({ store, lost: lost as never }, quote, rules)
}

describe('without a person is paid', () => {
  test('as much as may be spent at once, more where a program of the owner ordered it', () => {
    expect(why(10, {})).toBeUndefined()
    expect(why(11, {})).toBe('it costs 11 credits, and 10 may be spent at once without a person')
    expect(why(20, {}, 'agent')).toBeUndefined()
    expect(why(21, {}, 'agent')).toMatch(/ and 20 may be spent at once /)
  })

  test('as much as is left of what may be spent on this day', () => {
    expect(why(5, { all: 95 })).toBeUndefined()
    expect(why(6, { all: 95 })).toMatch(/, and 5 are left of what may be spent today without a person$/)
    expect(why(6, { all: 130 })).toMatch(/, and 0 are left of what may be spent today /)
  })

  test('as much as is left of what this agent may get on this day', () => {
    expect(why(5, { here: 25 })).toBeUndefined()
    expect(why(6, { here: 25 })).toMatch(
      /, and 5 are left of what this agent may get today without a person$/,
    )
    expect(why(6, { here: 29 })).toMatch(/, and 1 are left of what this agent may get today /)
    expect(why(6, { here: 45 })).toMatch(/, and 0 are left of what this agent may get today /)
  })
})
