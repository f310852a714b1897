/** Payments across two hubs, as their nodes judge them (credits: between hubs). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  Authorization,
  networkOf,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { HubUnreachable } from '../hubs/hub.ts'
import { addPayment } from '../store/payments.ts'
import { noteQuote, type QuoteRow, quoteOf } from '../store/quotes.ts'
import type { TestNode } from '../testing/node.ts'
import { PaidWorld, type PayingNode } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { SpendingRules } from './rules.ts'
import { TakenNetworks } from './taken-networks.ts'

const OTHER_HUB = `AQ${'A'.repeat(42)}`
const ANOTHER = `AQ${'B'.repeat(42)}`
let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const own = () => world.post.log.aid
/** What alice signs to pay bob in the credits of a hub. */
const authorizationIn = (hub: string): Authorization =>
  paymentParts(alice.node.ctx).signer.sign({ payTo: bob.node.aid, amount: 5, network: networkOf(hub) })

/** Why a receipt of the hub of both, which names these two hubs, proves nothing to a node. */
async function faultFor(
  { ctx, hub }: TestNode,
  { credits, peer }: { credits: string; peer: string | undefined },
): Promise<string | undefined> {
  const authorization = authorizationIn(credits)
  const { payer, payTo: payee, amount, network } = authorization.body
  const receipt = SettlementReceipt.sign(world.post.seed, {
    v: 1,
    transaction: transactionOf(authorization),
    kind: settlementKinds.paid,
    ...{ payer, payee, amount, network },
    settledAt: world.clock.ms,
    hub: own(),
    hubKelSeq: world.post.log.seq,
    supplyHead: [0, contentId(new Uint8Array())],
    ...present({ peer }),
  })
  const kinds = [settlementKinds.paid]
  return await paymentParts(ctx).receipts.faultOf(hub, SettlementReceipt.encode(receipt), {
    authorization,
    kinds,
  })
}

describe('a receipt of a payment across two hubs', () => {
  test('proves it to the payee where it names the hub in whose credits it was made, and no other', async () => {
    const toBob = (peer: string | undefined) => faultFor(bob.node, { credits: OTHER_HUB, peer })
    expect(await toBob(OTHER_HUB)).toBeUndefined()
    expect(await toBob(ANOTHER)).toBe('hub')
    expect(await toBob(undefined)).toBe('hub')
  })

  test('in the credits of the own hub is none to the payee, whose credits would have gone elsewhere', async () => {
    expect(await faultFor(bob.node, { credits: own(), peer: undefined })).toBeUndefined()
    expect(await faultFor(bob.node, { credits: own(), peer: OTHER_HUB })).toBe('hub')
  })

  test('proves to the payer what its own hub paid, wherever that says the payee lives', async () => {
    for (const peer of [undefined, OTHER_HUB, ANOTHER])
      expect(await faultFor(alice.node, { credits: own(), peer })).toBeUndefined()
  })
})

describe('a price is asked in credits', () => {
  let says: () => Promise<string[]>
  let asked: number
  const taken = (home: string | undefined, now = () => 0) => {
    const identity = { aid: own() }
    const credits = { networks: () => says() }
    return new TakenNetworks(
      {
        hub: { home: { identity, credits } } as never,
        otherHub: { of: () => home } as never,
        machine: bob.node.ctx,
      },
      now,
    )
  }
  beforeEach(() => {
    asked = 0
    says = async () => {
      asked += 1
      return [networkOf(own()), networkOf(OTHER_HUB)]
    }
  })

  test('of the hub of the requester where the own one lets that hub owe it, and of the own one otherwise', async () => {
    expect(await taken(OTHER_HUB).forPayer('alice', undefined)).toBe(networkOf(OTHER_HUB))
    expect(await taken(ANOTHER).forPayer('alice', undefined)).toBe(networkOf(own()))
  })

  test('that came with the task, where they are taken', async () => {
    expect(await taken(ANOTHER).forPayer('alice', networkOf(OTHER_HUB))).toBe(networkOf(OTHER_HUB))
    expect(await taken(OTHER_HUB).forPayer('alice', networkOf(own()))).toBe(networkOf(own()))
    expect(await taken(OTHER_HUB).forPayer('alice', networkOf(ANOTHER))).toBe(networkOf(own()))
  })

  test('of the own hub without a question where both are at it', async () => {
    expect(await taken(undefined).forPayer('alice', undefined)).toBe(networkOf(own()))
    expect(asked).toBe(0)
  })

  test('of nobody knows which while the own hub does not say, and it is asked again', async () => {
    const networks = taken(OTHER_HUB)
    const answers = says
    says = () => Promise.reject(new HubUnreachable('http://hub.test'))
    expect(await networks.forPayer('alice', undefined)).toBeUndefined()
    says = answers
    expect(await networks.forPayer('alice', undefined)).toBe(networkOf(OTHER_HUB))
  })

  test('that the own hub named within the last minute', async () => {
    let ms = 0
    const networks = taken(OTHER_HUB, () => ms)
    for (const [at, times] of [
      [0, 1],
      [59_999, 1],
      [60_000, 2],
    ] as const) {
      ms = at
      await networks.forPayer('alice', undefined)
      expect(asked).toBe(times)
    }
  })
})

test('the first payment across two hubs waits for a person, whatever the rules allow, and no later one does', () => {
  const { ctx } = alice.node
  const { key } = alice.node.delegate(bob.node)
  const price = { amount: 1, network: world.network, holdSeconds: 7200, settleSeconds: 3600 }
  alice.node.within(() => noteQuote(ctx.store, key, price))
  const quote = quoteOf(ctx.store, key) as QuoteRow
  const whyNot = (other: string | undefined) =>
    new SpendingRules(
      {
        store: ctx.store,
        settings: {
          current: { spend: { auto_max: 9, agent_max: 9, day_max: 9, payee_day_max: 9 } },
        } as never,
        credits: { whyNotFor: () => undefined } as never,
        lost: { doubtOf: () => undefined, spent: () => 0 } as never,
        otherHub: { of: () => other } as never,
      },
      ctx.hubNow,
    ).whyNot(quote, bob.node.aid)
  expect(whyNot(undefined)).toBeUndefined()
  expect(whyNot(OTHER_HUB)).toMatch(
    new RegExp(
      `first payment to an agent of another hub.*${OTHER_HUB}, learn who pays whom, how much, and when`,
    ),
  )
  const authorization = Authorization.encode(authorizationIn(own()))
  const payment = transactionOf(Authorization.decode(authorization))
  const { key: paid } = alice.node.delegate(bob.node)
  alice.node.within(() =>
    addPayment(ctx.store, {
      ...{ interaction: paid, side: 'payer', payment, amount: 1, network: world.network, authorization },
      ...{ salt: new Uint8Array(16), at: 1, holdUntil: null, orderedBy: 'person', otherHub: OTHER_HUB },
    }),
  )
  expect(whyNot(OTHER_HUB)).toBeUndefined()
})
