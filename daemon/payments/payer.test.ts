/** The turns of a payer: what fails at a hub, what fails on this machine, and how much is done at once. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { Authorization, networkOf, PAY_SALT_BYTES, purposeOf } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import { addPayment, keepReceipts, type PaymentRow, paymentOf } from '../store/payments.ts'
import { noteQuote } from '../store/quotes.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { JudgedPrices } from './judged-prices.ts'
import { JudgedReceipts } from './judged-receipts.ts'
import { paymentParts } from './parts.ts'
import { Payer } from './payer.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let said: [level: string, words: string, given: object][]

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  said = []
})
afterEach(() => world[Symbol.asyncDispose]())

const note = (level: string) => (given: object, words: string) => void said.push([level, words, given])
const log = { error: note('error'), warn: note('warn'), info: note('info') } as never
const words = () => said.map(([level, text]) => [level, text])

describe('the turn of a payer', () => {
  const deadlines: number[] = []
  function payer(parts: { judge?: (row: number) => Promise<void>; ask?: () => Promise<void> }) {
    const ctx: Context = alice.ctx
    const deadline = (ms: number) => {
      deadlines.push(ms)
      return new AbortController().signal
    }
    const machine = { ...ctx, log, timers: { ...ctx.timers, deadline } }
    const rows = new Map(parts.judge ? [['hub:x', [1, 2] as never[]]] : [])
    return new Payer(
      {
        ordered: undefined as never,
        prices: { judgeFresh: () => {} } as never,
        receipts: { waiting: () => rows, judge: parts.judge } as never,
        hubs: {
          reopen: () => {},
          networks: () => (parts.ask ? ['hub:x'] : []),
          ask: parts.ask,
          nextInMs: () => 1,
        } as never,
        home: { due: () => ({ home: undefined, nextInMs: 1 }) } as never,
        maySign: () => true,
      },
      { machine, timings: ctx.timings, hubNow: ctx.hubNow, waker: ctx.wakers.spending },
    )
  }
  const judging = (error: Error, judged: number[]) =>
    payer({
      judge: async row => {
        judged.push(row)
        if (row === 1) throw error
      },
    }).look()

  test('goes on with the next receipt where a hub gave no answer', async () => {
    const judged: number[] = []
    await judging(new Error('no answer'), judged)
    expect(judged).toEqual([1, 2])
    expect(words()).toEqual([['warn', 'the hub was not asked about payments']])
  })

  test('has failed where this machine did, and is tried again', async () => {
    const judged: number[] = []
    const full = Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR' })
    await judging(full, judged)
    expect(judged).toEqual([1])
    expect(words()).toEqual([['error', 'a turn failed; it is tried again']])
  })

  test('gives a hub a minute for its answer', async () => {
    let asked = 0
    deadlines.length = 0
    const hub = payer({
      ask: async () => {
        asked += 1
      },
    })
    await hub.look()
    expect([asked, deadlines]).toEqual([1, [60_000]])
  })
})

describe('receipts that came with answers', () => {
  const receipt = Uint8Array.of(1)
  const FAULT = 'its signature does not verify'

  /** A payment of alice's, with a receipt that nobody has judged. */
  function paid(n: number): number {
    const { store, hubNow } = alice.ctx
    const { key } = alice.delegate(bob)
    const [network, salt] = [networkOf(alice.hub.identity.aid), new Uint8Array(PAY_SALT_BYTES)]
    const purpose = purposeOf(salt, salt.subarray(0, 16), contentId(salt))
    const { signer } = paymentParts(alice.ctx)
    const given = { payTo: bob.aid, amount: 5, network, purpose, holdSeconds: 7200 }
    alice.within(() => {
      addPayment(store, {
        interaction: key,
        side: 'payer',
        payment: contentId(Uint8Array.of(n)),
        amount: 5,
        network,
        authorization: Authorization.encode(signer.sign(given)),
        salt,
        at: hubNow(),
        holdUntil: null,
        orderedBy: 'person',
        starts: null,
      })
      keepReceipts(store, key, { held: receipt, end: null })
    })
    return key
  }
  const receipts = (hub: object | undefined) =>
    new JudgedReceipts(
      {
        store: alice.ctx.store,
        accounts: { accountOf: async () => hub as never },
        receipts: { faultOf: async () => FAULT } as never,
        proven: undefined as never,
        news: { changed: () => {} } as never,
      },
      log,
    )

  test('are judged 64 at once', () => {
    for (let n = 0; n < 65; n++) paid(n)
    expect([...receipts({}).waiting().values()].map(({ length }) => length)).toEqual([64])
  })

  test('are kept where their hub is not reached, and nothing is said against them', async () => {
    const key = paid(1)
    await receipts(undefined).judge(paymentOf(alice.ctx.store, key) as PaymentRow)
    expect(paymentOf(alice.ctx.store, key)?.heldReceipt).toEqual(receipt)
    expect(said).toEqual([])
  })

  test('and do not hold are dropped, and the log says why', async () => {
    const key = paid(1)
    await receipts({}).judge(paymentOf(alice.ctx.store, key) as PaymentRow)
    expect(paymentOf(alice.ctx.store, key)?.heldReceipt).toBeNull()
    const text = 'what the provider sent as a receipt of the payment does not hold'
    expect(said).toEqual([['error', text, { fault: FAULT }]])
  })
})

test('prices are judged 64 at once, and none that waits for the word of others is in front of one that does not', () => {
  const { store, threads } = alice.ctx
  const price = { amount: 5, network: 'hub:x', holdSeconds: 7200, settleSeconds: 3600 }
  const keys = Array.from({ length: 66 }, () => alice.delegate(bob).key)
  alice.within(() => keys.map(key => noteQuote(store, key, price)))
  const judged: number[] = []
  const rules = {
    isWaiting: ({ interaction }: { interaction: number }) => interaction === keys[0],
    whyNot: ({ interaction }: { interaction: number }) => {
      judged.push(interaction)
      return 'a person decides'
    },
  }
  const parts = { store, threads, rules: rules as never, payments: undefined as never }
  const prices = new JudgedPrices({ ...parts, news: { priced: () => {} } as never })
  prices.judgeFresh()
  expect(judged).toEqual(keys.slice(1, 65))
  prices.judgeFresh()
  expect(judged).toEqual(keys.slice(1))
})
