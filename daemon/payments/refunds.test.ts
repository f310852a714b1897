/** A refund of which nothing was heard is asked for until the hub says what became of it, before another one is signed. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Authorization, networkOf } from '../../protocol/proof/payment.ts'
import { HubUnreachable } from '../hubs/hub.ts'
import { givenBack } from '../store/payments.ts'
import { HOUR_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import type { Accounts } from './accounts.ts'
import { paymentParts } from './parts.ts'
import { RefundCalls } from './refund-calls.ts'
import { countBack, pendingRefunds, TakenRefunds, takenNetworks, takeRefund } from './refunds.ts'

const PART = 2

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let id: string

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  id = await world.answered(alice, bob)
  await world.turns(3)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
})
afterEach(() => world[Symbol.asyncDispose]())

/** As `svc refund` does. */
async function refund(amount: number) {
  const { node } = bob
  const task = node.thread(id)
  const prepare = (isRenewed = false) =>
    node.within(() => paymentParts(node.ctx).ownRefunds.prepare(task, amount, isRenewed))
  const given = { prepared: prepare(), renew: () => prepare(true), signal: AbortSignal.timeout(1000) }
  return await paymentParts(node.ctx).ownRefunds.settle(node.hub, task, given)
}
const back = () => givenBack(bob.node.ctx.store, bob.payment(id)?.payment ?? new Uint8Array())
const refunds = async () => {
  const entries = await bob.node.hub.credits.entriesAfter(0, AbortSignal.timeout(1000))
  return entries.flatMap(({ reason, delta }) => (reason === 'refund' ? [delta] : []))
}

test('one that was carried out and whose answer was lost is not given twice, also after its hour', async () => {
  world.post.ledger.next('settle', { kind: 'lost_after' })
  await expect(refund(PART)).rejects.toThrow()
  world.pass(2 * HOUR_MS)
  expect(await refund(PART)).toMatchObject({ amount: PART, verified: true })
  expect([await refunds(), back()]).toEqual([[-PART], PART])
})

test('another amount after its hour is refused where the first was carried out after all', async () => {
  world.post.ledger.next('settle', { kind: 'lost_after' })
  await expect(refund(PART)).rejects.toThrow()
  world.pass(2 * HOUR_MS)
  await expect(refund(1)).rejects.toMatchObject({
    code: 'wrong_state',
    message: `${PART} credits of this task were given back already`,
  })
  expect([await refunds(), back()]).toEqual([[-PART], PART])
})

test('one that never came is given after its hour, in any amount', async () => {
  world.post.ledger.next('settle', { kind: 'lost_before' })
  await expect(refund(PART)).rejects.toThrow()
  await expect(refund(1)).rejects.toMatchObject({ code: 'wrong_state' })
  world.pass(2 * HOUR_MS)
  expect(await refund(1)).toMatchObject({ amount: 1, verified: true })
  expect([await refunds(), back()]).toEqual([[-1], 1])
})

test('more than was taken is not given back, nor twice, nor where nothing was taken', async () => {
  await expect(refund(PRICE + 1)).rejects.toMatchObject({ code: 'bad_request' })
  expect(await refund(PRICE)).toMatchObject({ amount: PRICE, verified: true })
  await expect(refund(1)).rejects.toMatchObject({ message: 'credits of this task were given back already' })
  id = await world.held(alice, bob)
  await expect(refund(1)).rejects.toMatchObject({ message: 'no credits were taken for this task' })
})

test('a single credit is given back, of a single one as well', async () => {
  bob.node.ctx.settings.change({ prices: { task: 1 } })
  id = await world.answered(alice, bob)
  await world.turns(3)
  expect(await refund(1)).toMatchObject({ amount: 1, verified: true })
  expect([await refunds(), back()]).toEqual([[-1], 1])
})

test('one that the hub has not moved is pending until it has', async () => {
  world.post.ledger.next('settle', { kind: 'lost_before' })
  await expect(refund(PART)).rejects.toThrow()
  expect(pendingRefunds(bob.node.ctx.store)).toHaveLength(1)
  await refund(PART)
  expect(pendingRefunds(bob.node.ctx.store)).toEqual([])
})

describe('the authorization of a refund', () => {
  const signed = (amount = PART, isRenewed = false) =>
    bob.node.within(() =>
      paymentParts(bob.node.ctx).ownRefunds.prepare(bob.node.thread(id), amount, isRenewed),
    )

  test('is signed once: a repeat gets the same, and one that is renewed is another', () => {
    const first = signed()
    expect(first).toMatchObject({ isNew: true, amount: PART })
    expect(signed()).toMatchObject({ isNew: false, encoded: first.encoded })
    const renewed = signed(PART, true)
    expect(renewed.isNew).toBe(true)
    expect(renewed.encoded).not.toEqual(first.encoded)
  })

  test('is for all that was taken where no amount is named', () => {
    const { ownRefunds } = paymentParts(bob.node.ctx)
    expect(bob.node.within(() => ownRefunds.prepare(bob.node.thread(id), undefined)).amount).toBe(PRICE)
  })

  test('binds to its amount until four minutes after its time', () => {
    const { notAfter } = Authorization.decode(signed().encoded).body
    world.clock.ms = notAfter + 4 * 60_000 - 1
    expect(() => signed(1)).toThrow(/giving back 2 credits is under way/)
    world.pass(1)
    expect(signed(1)).toMatchObject({ amount: 1 })
  })

  test('is none of the requester, who took nothing for the task', () => {
    expect(alice.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    const { ownRefunds } = paymentParts(alice.node.ctx)
    expect(() => alice.node.within(() => ownRefunds.prepare(alice.node.thread(id), PART))).toThrow(
      'no credits were taken for this task',
    )
  })

  test('that the hub refuses under the newest key and in its time is not signed anew', async () => {
    world.post.ledger.always('settle', { kind: 'refuse', reason: 'expired' })
    world.post.ledger.asked.length = 0
    await expect(refund(PART)).rejects.toMatchObject({
      code: 'hub_refused',
      message: 'the hub gave nothing back: expired',
    })
    expect(world.post.ledger.asked).toHaveLength(1)
    expect(back()).toBe(0)
  })

  test.each([
    [300, 'x'.repeat(300)],
    [301, `${'x'.repeat(299)}…`],
  ])('that the hub refuses in %i letters is told in 300', async (length, says) => {
    world.post.ledger.always('settle', { kind: 'refuse', reason: 'expired', says: 'x'.repeat(length) })
    await expect(refund(PART)).rejects.toMatchObject({ message: `the hub gave nothing back: ${says}` })
  })

  test('is asked for in terms of five minutes, and under a key that the hub did not know once more', async () => {
    const { credits } = bob.node.hub
    const asked: unknown[] = []
    const settle = credits.settle.bind(credits)
    credits.settle = (...given) => {
      asked.push(given[1])
      return settle(...given)
    }
    world.post.ledger.next('settle', { kind: 'refuse', reason: 'invalid_signature' })
    expect(await refund(PART)).toMatchObject({ amount: PART, verified: true })
    const terms = { provider: alice.node.aid, amount: PART, network: world.network, settleSeconds: 300 }
    expect(asked).toMatchObject([terms, terms])
  })

  test('that is settled twice is counted once', async () => {
    const { ctx, hub } = bob.node
    const given = { prepared: signed(), renew: () => signed(PART, true), signal: AbortSignal.timeout(1000) }
    const settle = () => paymentParts(ctx).ownRefunds.settle(hub, bob.node.thread(id), given)
    const moved = await Promise.all([settle(), settle()])
    expect(moved.map(({ amount, verified }) => [amount, verified])).toEqual([
      [PART, true],
      [PART, true],
    ])
    expect(back()).toBe(PART)
  })
})

describe('a refund that came from the provider of a task', () => {
  /** What bob signed to give back; `wrong` is how it differs from one for the task. */
  function given(wrong: Partial<Authorization['body']> = {}): Uint8Array {
    const { ctx } = bob.node
    const { body } = Authorization.decode(
      bob.node.within(() => paymentParts(ctx).ownRefunds.prepare(bob.node.thread(id), PART)).encoded,
    )
    return Authorization.encode(Authorization.sign(ctx.identity.seed, { ...body, ...wrong }))
  }
  const take = (encoded: Uint8Array) =>
    alice.node.within(() =>
      takeRefund(
        { ...alice.node.ctx, spending: alice.node.ctx.wakers.spending },
        alice.node.thread(id),
        encoded,
      ),
    )
  const settle = () =>
    paymentParts(alice.node.ctx).takenRefunds.settle(alice.node.hub, AbortSignal.timeout(1000))
  const got = () => givenBack(alice.node.ctx.store, alice.payment(id)?.payment ?? new Uint8Array())
  const settled = () => alice.node.ctx.chain.read({ eventType: 'svc.payment.settled' }).at(-1)?.['payload']

  test('is moved by the hub, counted once, and stands in the chain with its receipt', async () => {
    const encoded = given()
    take(encoded)
    expect(takenNetworks(alice.node.ctx.store)).toEqual([world.network])
    await settle()
    expect([got(), takenNetworks(alice.node.ctx.store)]).toEqual([PART, []])
    expect(settled()).toMatchObject({ amount: PART, verified: true, receipt: expect.anything() })
    take(encoded)
    expect(takenNetworks(alice.node.ctx.store)).toEqual([])
  })

  test('is asked for by nobody who has stopped', async () => {
    take(given())
    const before = world.post.ledger.asked.length
    await paymentParts(alice.node.ctx).takenRefunds.settle(alice.node.hub, AbortSignal.abort())
    expect([world.post.ledger.asked.length, takenNetworks(alice.node.ctx.store)]).toEqual([
      before,
      [world.network],
    ])
  })

  test('is asked for at the hub in whose credits it is, and at no other', async () => {
    take(given())
    const other = world.move(alice)
    const { home } = alice.node.ctx.hub
    if (home === undefined) throw new Error('there is no home')
    const settleAt = (hub: typeof home) =>
      paymentParts(alice.node.ctx).takenRefunds.settle(hub, AbortSignal.timeout(1000))
    await settleAt(home)
    expect([other.ledger.asked, takenNetworks(alice.node.ctx.store)]).toEqual([[], [world.network]])
    await settleAt(alice.node.hub)
    expect([got(), takenNetworks(alice.node.ctx.store)]).toEqual([PART, []])
  })

  test('that the hub of the provider moved to an account there by itself is counted by what that hub signed', async () => {
    const other = world.move(alice)
    const { home } = alice.node.ctx.hub
    if (home === undefined) throw new Error('there is no home')
    const { store } = alice.node.ctx
    take(given())
    // the account of the payment is at the home of now, and that of the provider at the hub that was left
    store.run('UPDATE payments SET network = ?', networkOf(home.identity.aid))
    const settleAt = async (accountOf: Accounts['accountOf']) => {
      other.ledger.next('settle', { kind: 'refuse', reason: 'duplicate_settlement' })
      await paymentParts(alice.node.ctx).takenRefunds.settle(home, AbortSignal.timeout(1000), { accountOf })
      return [got(), takenNetworks(store).length]
    }
    expect(await settleAt(async () => undefined)).toEqual([0, 1])
    expect(await settleAt(() => Promise.reject(new HubUnreachable('http://hub.test')))).toEqual([0, 1])
    expect(await settleAt(async () => alice.node.hub)).toEqual([PART, 0])
    expect(settled()).toMatchObject({ amount: PART, verified: true, network: world.network })
  })

  test('that the hub refuses is told to the log, and no other', async () => {
    const { ctx, hub } = alice.node
    const said: unknown[] = []
    const log = { warn: (given: object, words: string) => void said.push(given, words) } as never
    const calls = new RefundCalls({ ...ctx, ...paymentParts(ctx) }, log)
    const refunds = new TakenRefunds({ ...ctx, calls }, ctx.hubNow, log)
    take(given())
    world.post.ledger.next('settle', { kind: 'refuse', reason: 'expired' })
    await refunds.settle(hub, AbortSignal.timeout(1000))
    expect(said).toEqual([{ says: 'expired' }, 'the hub refused a refund'])
    await refunds.settle(hub, AbortSignal.timeout(1000))
    expect([got(), said.length]).toEqual([PART, 2])
  })

  test('names the payment that it gives back, or is none', () => {
    const { authorization } = alice.payment(id) ?? {}
    if (authorization === undefined) throw new Error('there is no payment')
    expect(() => alice.node.within(() => countBack(alice.node.ctx.store, authorization, 1))).toThrow(
      'this authorization gives nothing back',
    )
  })

  test('is asked for once, whatever key its hub does not know', async () => {
    take(given())
    const before = world.post.ledger.asked.length
    world.post.ledger.next('settle', { kind: 'refuse', reason: 'invalid_signature' })
    await settle()
    expect([world.post.ledger.asked.length - before, got()]).toEqual([1, 0])
  })

  test('is not counted by a receipt that does not hold', async () => {
    take(given())
    world.post.ledger.next('settle', { kind: 'forge', in: 'signature' })
    await settle()
    expect([got(), settled()]).toMatchObject([0, { verified: false }])
    expect(settled()).not.toHaveProperty('receipt')
  })

  test('that the hub refuses is asked for until four minutes after its time', async () => {
    const encoded = given()
    const { notAfter } = Authorization.decode(encoded).body
    take(encoded)
    world.post.ledger.always('settle', { kind: 'refuse', reason: 'expired' })
    world.clock.ms = notAfter + 4 * 60_000
    await settle()
    expect(takenNetworks(alice.node.ctx.store)).toHaveLength(1)
    world.pass(1)
    await settle()
    expect([got(), takenNetworks(alice.node.ctx.store)]).toEqual([0, []])
  })

  test('is none where it names no payment, or is to be held', () => {
    const { ctx } = bob.node
    const { refundOf, ...plain } = Authorization.decode(given()).body
    const held = { ...plain, refundOf, holdUntil: plain.notAfter + HOUR_MS }
    for (const body of [plain, held as Authorization['body']]) {
      take(Authorization.encode(Authorization.sign(ctx.identity.seed, body)))
      expect(takenNetworks(alice.node.ctx.store)).toEqual([])
    }
  })

  test('is none on the side that was paid', () => {
    const { ctx } = alice.node
    const { network, payment: refundOf } = alice.payment(id) ?? {}
    const terms = { payTo: bob.node.aid, amount: PART, network: network ?? '', refundOf }
    const encoded = Authorization.encode(paymentParts(ctx).signer.sign(terms as never))
    const { ctx: own } = bob.node
    bob.node.within(() => takeRefund({ ...own, spending: own.wakers.spending }, bob.node.thread(id), encoded))
    expect(takenNetworks(own.store)).toEqual([])
  })

  test('of the whole price is taken; anything that is not for this task is passed over', () => {
    const other = new Uint8Array(alice.payment(id)?.payment ?? []).with(-1, 1)
    for (const wrong of [
      { payer: alice.node.aid },
      { payTo: bob.node.aid },
      { network: world.network.slice(0, -1) + (world.network.endsWith('a') ? 'b' : 'a') },
      { amount: PRICE + 1 },
      { refundOf: other },
    ]) {
      let encoded: Uint8Array
      try {
        encoded = given(wrong)
      } catch {
        // no authorization can say so
        continue
      }
      take(encoded)
      expect(takenNetworks(alice.node.ctx.store)).toEqual([])
    }
    take(new Uint8Array([1, 2]))
    expect(takenNetworks(alice.node.ctx.store)).toEqual([])
    take(given({ amount: PRICE }))
    expect(takenNetworks(alice.node.ctx.store)).toHaveLength(1)
  })
})
