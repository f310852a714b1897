import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { renderEffect } from '../../protocol/proof/effect.ts'
import {
  networkOf,
  paidMark,
  type SettlementKind,
  SettlementReceipt,
  settlementKinds,
} from '../../protocol/proof/payment.ts'
import { paymentRequired, type Quote, TASK } from '../../protocol/proof/quote.ts'
import { quoteEffect } from '../payments/price-check.ts'
import { addPayment, paymentOf } from '../store/payments.ts'
import { quoteOf } from '../store/quotes.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { HUB_SEED } from '../testing/scripted-hub.ts'
import { textMessage } from './messages.ts'
import { paidMarkOf } from './quotes.ts'

const PAYMENT = contentId(utf8('a payment'))
const SALT = new Uint8Array(32).fill(7)

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

/** A task of alice's that shall be paid for. */
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'count', pay: true, max_credits: 9 })
})
afterEach(() => world[Symbol.asyncDispose]())

const of = () => alice.thread(id)
const noted = () => quoteOf(alice.ctx.store, of().key)
const paid = () => paymentOf(alice.ctx.store, of().key)
const quote = (changes: Partial<Quote> = {}): Quote => ({
  provider: bob.aid,
  what: TASK,
  amount: 5,
  network: networkOf(alice.hub.identity.aid),
  holdSeconds: 7200,
  settleSeconds: 3600,
  ...changes,
})
const rendered = (asked: Quote, why?: string) =>
  utf8(renderEffect(quoteEffect(asked, why), paymentRequired(asked)))
const takes = (document: Uint8Array) => alice.within(() => alice.tasks.told.takeQuote(of(), document))
const pays = (side: 'payer' | 'payee' = 'payer') =>
  alice.within(() =>
    addPayment(alice.ctx.store, {
      interaction: of().key,
      side,
      payment: PAYMENT,
      amount: 5,
      network: networkOf(alice.hub.identity.aid),
      authorization: new Uint8Array([1]),
      salt: SALT,
      at: world.clock.ms,
      holdUntil: null,
      orderedBy: 'person',
    }),
  )

describe('a price', () => {
  test('is kept beside the order to pay it', () => {
    takes(rendered(quote()))
    expect(noted()).toMatchObject({
      state: 'open',
      orderedBy: 'person',
      creditsMax: 9,
      amount: 5,
      network: networkOf(alice.hub.identity.aid),
      holdSeconds: 7200,
      settleSeconds: 3600,
      reason: null,
    })
  })

  test.each([
    ['to somebody else', () => rendered(quote({ provider: alice.aid })), /payment to somebody else/],
    ['for something else', () => rendered(quote({ what: 'words.count' })), /for something else/],
    ['that no answer names', () => documentBytes({ text: 'pay me', attachments: [] }), /expected members/],
  ])('%s is paid by nobody, for good and with the reason', (_, document, reason) => {
    takes(document())
    expect(noted()).toMatchObject({ state: 'refused', amount: null, reason: expect.stringMatching(reason) })
  })

  test('of a call is for that capability', () => {
    alice.within(() => alice.ctx.store.run('UPDATE interactions SET capability = ?', 'words.count'))
    takes(rendered(quote({ what: 'words.count' })))
    expect(noted()).toMatchObject({ state: 'open', amount: 5 })
  })

  test('that cannot be kept is a fault of this node, not of the price', () => {
    const nowhere = { ...of(), key: 9999 }
    expect(() => alice.within(() => alice.tasks.told.takeQuote(nowhere, rendered(quote())))).toThrow(
      /FOREIGN KEY/,
    )
  })

  test('wakes what pays', async () => {
    const asleep = alice.ctx.wakers.spending.sleep(60_000)
    takes(rendered(quote()))
    await asleep
  })
})

describe('a payment that came back as a price', () => {
  test('was refused, the other side says, and only a person pays again', () => {
    takes(rendered(quote()))
    pays()
    takes(rendered(quote(), 'the payment\n is of somebody else'))
    expect(paid()?.reason).toBe('the other side says that it was refused: the payment is of somebody else')
    expect(noted()).toMatchObject({
      state: 'open',
      reason:
        'a payment for it is out already, which the other side says was refused: the payment is of somebody else',
    })
  })

  test('is none where nothing was paid', () => {
    takes(rendered(quote(), 'the payment is of somebody else'))
    expect(noted()?.reason).toBeNull()
  })
})

describe('the receipts of a hub that come with an answer', () => {
  const receipt = (kind: SettlementKind) =>
    SettlementReceipt.encode(
      SettlementReceipt.sign(HUB_SEED, {
        v: 1,
        transaction: PAYMENT,
        kind,
        payer: alice.aid,
        payee: bob.aid,
        amount: 5,
        network: networkOf(alice.hub.identity.aid),
        settledAt: world.clock.ms,
        hub: alice.hub.identity.aid,
        hubKelSeq: 0,
        supplyHead: [0, contentId(utf8('head'))],
      }),
    )
  const { held, paid: moved, captured, returned, redeemed } = settlementKinds
  const kept = (...settlements: Uint8Array[]) => {
    alice.within(() => alice.tasks.told.takeSettlements(of(), settlements))
    return [paid()?.heldReceipt, paid()?.endReceipt]
  }

  test.each([
    ['a hold and what was taken of it', [held, captured], [held, captured]],
    ['a hold that went back, in whatever order', [returned, held], [held, returned]],
    ['a payment at once', [moved], [moved, null]],
    ['a hold alone', [held], [held, null]],
    ['an end alone', [captured], [null, captured]],
    ['nothing of another kind', [redeemed], [null, null]],
  ] as const)('are kept: %s', (_, came, stay) => {
    pays()
    expect(kept(...came.map(receipt))).toEqual(stay.map(kind => (kind === null ? null : receipt(kind))))
  })

  test('that cannot be read are passed over', () => {
    pays()
    expect(kept(new Uint8Array([9]), receipt(held))).toEqual([receipt(held), null])
  })

  test('are the payer’s alone, and of a payment that was made', () => {
    expect(kept(receipt(held))).toEqual([undefined, undefined])
    pays('payee')
    expect(kept(receipt(held))).toEqual([null, null])
  })

  test('wake what judges them, where there is a payment', async () => {
    let woken = false
    const asleep = alice.ctx.wakers.spending.sleep(60_000).then(() => {
      woken = true
    })
    kept(receipt(held))
    await Promise.resolve()
    expect(woken).toBe(false)
    pays()
    kept(receipt(held))
    await asleep
  })

  test('put the mark of the payment into the receipt of the task, and nothing does without them', () => {
    const document = documentBytes({ text: 'three', attachments: [] })
    const words = textMessage('three', [])
    const told = {
      ...words,
      payload: encodePayload(kinds.message, { document, settlements: [receipt(held)] }),
    }
    const [said] = alice.messages(id)
    const marked = (...answers: { kind: number; payload: Uint8Array }[]) =>
      paidMarkOf(
        alice.ctx.store,
        of(),
        answers.map(answer => ({ ...said, ...answer }) as never),
      )
    expect(marked(words, told)).toBeUndefined()
    pays()
    expect(marked(words)).toBeUndefined()
    expect(marked()).toBeUndefined()
    expect(marked(words, told)).toBe(toBase64url(paidMark(SALT, PAYMENT)))
  })
})
