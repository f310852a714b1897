/** What a node pays of the prices that it is told: never more than somebody has agreed to. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { renderEffect } from '../../protocol/proof/effect.ts'
import {
  Authorization,
  networkOf,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { paymentRequired, priceSaid, type Quote, readQuote, TASK } from '../../protocol/proof/quote.ts'
import { taskReading } from '../control/parts.ts'
import { paymentOf } from '../store/payments.ts'
import { freshQuotes, markQuoteShown, quoteOf } from '../store/quotes.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { HUB_SEED } from '../testing/scripted-hub.ts'
import { paymentParts } from './parts.ts'
import type { Payer } from './payer.ts'
import { quoteEffect } from './price-check.ts'
import { whyNotPaid } from './rules.ts'
import { payerOf } from './x402.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let payer: Payer

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  payer = payerOf(alice.ctx, (task, pay) => alice.tasks.committed.commit(task, pay))
})
afterEach(async () => {
  await payer.stop()
  await world[Symbol.asyncDispose]()
})

const quote = (changes: Partial<Quote> = {}): Quote => ({
  provider: bob.aid,
  what: TASK,
  amount: 5,
  network: networkOf(alice.hub.identity.aid),
  holdSeconds: 7200,
  settleSeconds: 3600,
  ...changes,
})
/** A task of alice's that was asked for a price. */
function quoted(terms: Quote, given: object = {}, sentence?: string): string {
  const id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'count', ...given })
  const document = utf8(renderEffect(quoteEffect(terms, sentence), paymentRequired(terms)))
  alice.within(() => alice.tasks.told.takeQuote(alice.thread(id), document))
  return id
}
const rowOf = (id: string) => {
  const row = quoteOf(alice.ctx.store, alice.thread(id).key)
  if (row === undefined) throw new Error('no price')
  return row
}
const generous = { auto_max: 1000, agent_max: 1000, day_max: 9000, payee_day_max: 9000 }
const why = (id: string) =>
  whyNotPaid({ store: alice.ctx.store, lost: paymentParts(alice.ctx).lost }, rowOf(id), {
    spend: generous,
    nowMs: world.clock.ms,
    payee: bob.aid,
  })
const viewOf = (id: string) => taskReading(alice.ctx).payments.of(alice.thread(id))

describe('a price without a hold', () => {
  const unheld = () => quote({ holdSeconds: undefined })

  test.each([{}, { pay: true, max_credits: 9 }, { pay: true, pay_as: 'agent' as const, max_credits: 9 }])(
    'is paid by no rule, whoever ordered it: %j',
    given => {
      const id = quoted(unheld(), given)
      expect(why(id)).toBe('it costs 5 credits at once and without a hold, so nothing of it comes back')
      expect(viewOf(id)).toMatchObject({ state: 'open', amount: 5, unheld: true })
    },
  )

  test('is paid by a person who says by name that nothing comes back', () => {
    const id = quoted(unheld())
    expect(() => payer.pay(alice.thread(id))).toThrow(/nothing of it comes back/)
    expect(rowOf(id).state).toBe('open')
    const paying = payer.pay(alice.thread(id), { unheld: true })
    const { authorization = new Uint8Array() } = paymentOf(alice.ctx.store, paying.key) ?? {}
    expect(Authorization.decode(authorization).body.holdUntil).toBeUndefined()
    expect(viewOf(paying.id)).toMatchObject({ state: 'authorized', unheld: true })
  })

  test('is taken as soon as the hub says that it is paid, and was never held', async () => {
    const paying = payer.pay(alice.thread(quoted(unheld())), { unheld: true })
    const authorization = Authorization.decode(
      paymentOf(alice.ctx.store, paying.key)?.authorization ?? new Uint8Array(),
    )
    const { payer: from, payTo, amount, network } = authorization.body
    const receipt = SettlementReceipt.sign(HUB_SEED, {
      v: 1,
      transaction: transactionOf(authorization),
      kind: settlementKinds.paid,
      payer: from,
      payee: payTo,
      amount,
      network,
      settledAt: world.clock.ms,
      hub: alice.hub.identity.aid,
      hubKelSeq: 0,
      supplyHead: [0, transactionOf(authorization)],
    })
    alice.within(() => alice.tasks.told.takeSettlements(paying, [SettlementReceipt.encode(receipt)]))
    payer.start()
    await expect.poll(() => viewOf(paying.id)?.state).toBe('taken')
    expect(viewOf(paying.id)).not.toHaveProperty('unheld')
    expect(paymentOf(alice.ctx.store, paying.key)).toMatchObject({ state: 'ended', moved: 5 })
  })
})

describe('what a person pays without naming a most', () => {
  const known = () => why(quoted(quote({ amount: 400 }), { pay: true }))

  test('is not raised by what a program asked', () => {
    const first = quoted(quote({ amount: 10 }), { pay: true, max_credits: 10 })
    payer.pay(alice.thread(first))
    quoted(quote({ amount: 400 }), { pay_as: 'agent' })
    expect(known()).toBe('it costs 400 credits, more than the 10 that it cost before')
  })

  test('is not raised by a price that nobody looked at', () => {
    quoted(quote({ amount: 400 }))
    expect(known()).toBe('it costs 400 credits, and nothing says that so many may be paid for it')
  })

  test('is what they were shown when they only asked', () => {
    const asked = quoted(quote({ amount: 400 }))
    markQuoteShown(alice.ctx.store, alice.thread(asked).key)
    expect(known()).toBeUndefined()
  })

  test('is what they paid last, whatever they were shown since', () => {
    payer.pay(alice.thread(quoted(quote({ amount: 10 }))))
    markQuoteShown(alice.ctx.store, alice.thread(quoted(quote({ amount: 400 }))).key)
    expect(known()).toBe('it costs 400 credits, more than the 10 that it cost before')
  })

  test('is not raised by what a rule paid', async () => {
    alice.ctx.settings.change({ spend: generous })
    quoted(quote({ amount: 300 }))
    payer.start()
    await expect.poll(() => freshQuotes(alice.ctx.store, 9)).toEqual([])
    await payer.stop()
    expect(known()).toBe('it costs 400 credits, and nothing says that so many may be paid for it')
  })
})

describe('the sentence of a price', () => {
  test('that names another price than the terms is shown with them, and waits for a person', () => {
    const id = quoted(quote({ amount: 400 }), { pay: true, max_credits: 1000 }, 'only 10 credits!')
    expect(why(id)).toBe('it costs 400 credits by its terms, and its words name 10: “only 10 credits!”')
    expect(viewOf(id)).toMatchObject({ amount: 400, says: 'only 10 credits!' })
  })

  test('that says what its terms say is not shown again', () => {
    expect(viewOf(quoted(quote()))).not.toHaveProperty('says')
  })

  test.each([
    ['it costs 1,000 credits', 1000, undefined],
    ['it costs 1.000 credits, or 7 days', 1000, undefined],
    ['1 credit', 1, undefined],
    ['a fee of 4 Credits, and 5 credits for the rest', 5, '4'],
    ['pay what you like', 5, undefined],
    [`${'9'.repeat(30)} credits`, 5, '9'.repeat(30)],
  ])('is read for prices: %s', (sentence, amount, other) => {
    expect(priceSaid(sentence, { amount })).toBe(other)
  })
})

describe('what a withdrawal costs', () => {
  test('is all of the price unless the terms say less, and is seen before and after paying', () => {
    expect(viewOf(quoted(quote()))).toMatchObject({ starts: 5 })
    const id = quoted(quote({ starts: 2 }))
    expect(viewOf(id)).toMatchObject({ starts: 2 })
    expect(viewOf(payer.pay(alice.thread(id)).id)).toMatchObject({ starts: 2 })
  })

  test('of more than the work is no price', () => {
    const id = quoted(quote({ starts: 6 }), { pay: true })
    expect(rowOf(id)).toMatchObject({
      state: 'refused',
      reason: 'the quote takes more for a withdrawal than for the work',
    })
  })

  test('stands in the terms only where it is less than all, for builds that read none', () => {
    const extraOf = (starts: number | undefined) =>
      (paymentRequired(quote({ starts })) as { accepts: { extra: object }[] }).accepts[0]?.extra
    expect([undefined, 5, 2, 0].map(extraOf)).toEqual([
      { hold_s: 7200 },
      { hold_s: 7200 },
      { hold_s: 7200, starts: 2 },
      { hold_s: 7200, starts: 0 },
    ])
    const asked = { provider: bob.aid, what: TASK }
    expect(readQuote(paymentRequired(quote({ starts: 0 })), asked).starts).toBe(0)
  })
})
