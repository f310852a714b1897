/** Credits that a provider gives back after it took them (objects: payment): once, to whom they came from, through the hub. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { takeRefund } from '../../daemon/payments/refunds.ts'
import { toldRefunds } from '../../daemon/store/open-payments.ts'
import { paymentOf } from '../../daemon/store/payments.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { Authorization, transactionOf } from '../../protocol/proof/payment.ts'
import { inboxIds, type Lab, never, openPair, texts, thread, until } from './world.ts'

const PRICE = 9
let lab: Lab
let alice: Node
let bob: Node
beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair({ inTheMorning: true }))
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await bob.handlers.priceSet({ capability: 'task', amount: PRICE }, never)
})
afterAll(() => lab.close())

const balances = async () => {
  const [mine, theirs] = await Promise.all([alice, bob].map(node => node.handlers.balance({}, never)))
  return [mine?.balance, theirs?.balance]
}
const payment = (node: Node, id: string) => paymentOf(node.ctx.store, node.ctx.threads.findById(id)?.key ?? 0)
const refund = (id: string, amount?: number) =>
  bob.handlers.refund({ interaction_id: id, ...(amount !== undefined && { amount }) }, never)
const settled = async (node: Node, interaction_id: string) =>
  (await node.handlers.evidence({ event_type: 'svc.payment.settled', interaction_id }, never)).records.map(
    ({ payload }) => payload as { transaction: string; amount: number; verified?: boolean },
  )

/** A task in words that was paid for and answered. */
async function answered(task: string): Promise<string> {
  const before = new Set(await inboxIds(bob))
  await alice.handlers.delegate({ to: 'bob', task, pay: true, max_credits: PRICE }, never)
  const paid = async () =>
    (await inboxIds(bob)).find(id => !before.has(id) && payment(bob, id)?.state === 'held')
  await until('the payment is held', async () => (await paid()) !== undefined)
  const id = (await paid()) as string
  await bob.handlers.message({ interaction_id: id, text: `an answer to ${task}` }, never)
  await until('both receipts are judged', async () => (await settled(alice, id)).length === 2)
  await until('it is taken', () => payment(bob, id)?.state === 'ended')
  return id
}

describe('a provider gives back', () => {
  test('all that it took, and both sides record what the hub moved', async () => {
    const [mine = 0, theirs = 0] = await balances()
    const id = await answered('a poem')
    expect(await balances()).toEqual([mine - PRICE, theirs + PRICE])
    const given = await refund(id)
    expect(given).toMatchObject({ interaction_id: id, amount: PRICE, verified: true })
    expect(await balances()).toEqual([mine, theirs])
    await until('the requester reads of it', async () =>
      (await texts(alice, id)).includes(`${PRICE} credits are given back`),
    )
    await until('the requester has the receipt', async () => (await settled(alice, id)).length === 3)
    const own = (await settled(alice, id)).at(-1)
    expect(own).toMatchObject({ transaction: given.transaction, amount: PRICE, verified: true })
    expect((await settled(bob, id)).at(-1)).toMatchObject({ transaction: given.transaction, verified: true })
    expect(await balances()).toEqual([mine, theirs])
    for (const node of [alice, bob])
      expect((await thread(node, id)).payment).toMatchObject({
        amount: PRICE,
        state: 'returned',
        given_back: PRICE,
      })
  })

  test('a part of it, and that once', async () => {
    const id = await answered('another poem')
    const [mine = 0, theirs = 0] = await balances()
    await expect(refund(id, PRICE + 1)).rejects.toThrow(`only ${PRICE} credits were taken`)
    expect(await refund(id, 4)).toMatchObject({ amount: 4, verified: true })
    expect(await balances()).toEqual([mine + 4, theirs - 4])
    for (const node of [bob, alice])
      await until('both say so', async () => (await thread(node, id)).payment?.given_back === 4)
    expect((await thread(alice, id)).payment).toMatchObject({ amount: PRICE, state: 'taken' })
    await expect(refund(id)).rejects.toThrow('were given back already')
    expect(await balances()).toEqual([mine + 4, theirs - 4])
  })

  test('after a hub that did not answer, the same once it does', async () => {
    const id = await answered('a third poem')
    const [mine = 0, theirs = 0] = await balances()
    const credits = bob.ctx.hub.home?.credits
    if (credits === undefined) throw new Error('no hub')
    const settle = credits.settle.bind(credits)
    credits.settle = async (...given) => {
      await settle(...given)
      throw new Error('the answer was lost')
    }
    await expect(refund(id)).rejects.toThrow()
    credits.settle = settle
    await expect(refund(id, 1)).rejects.toThrow(`giving back ${PRICE} credits is under way`)
    expect(await refund(id)).toMatchObject({ amount: PRICE, verified: true })
    expect(await balances()).toEqual([mine + PRICE, theirs - PRICE])
  })

  test('and the requester takes nothing else for it, and it once', async () => {
    const id = await answered('a fourth poem')
    const given = await refund(id)
    await until('the requester has the receipt', async () => (await settled(alice, id)).length === 3)
    const interaction = alice.ctx.threads.findById(id)
    const row = payment(alice, id)
    if (interaction === undefined || row === undefined) throw new Error('no payment')
    const waiting = () => toldRefunds(alice.ctx.store)
    const body = {
      v: 1 as const,
      payer: bob.aid,
      payerKelSeq: 0,
      payTo: alice.aid,
      amount: PRICE,
      network: row.network,
      nonce: new Uint8Array(16),
      notBefore: 1,
      notAfter: 2,
      refundOf: row.payment,
    }
    const signed = (change: Partial<typeof body>) =>
      Authorization.encode(Authorization.sign(bob.ctx.identity.seed, { ...body, ...change }))
    const wrong = [
      signed({ payer: alice.aid }),
      signed({ payTo: bob.aid }),
      signed({ amount: PRICE + 1 }),
      signed({ refundOf: Uint8Array.from(row.payment, (byte, at) => (at === 35 ? byte ^ 1 : byte)) }),
      signed({ network: `hub:${alice.aid}` }),
      Uint8Array.of(1, 2, 3),
    ]
    for (const encoded of wrong)
      takeRefund({ ...alice.ctx, spending: alice.ctx.wakers.spending }, interaction, encoded)
    expect(waiting()).toEqual([])
    const again = payment(bob, id)?.refund as Uint8Array
    expect(cidText(transactionOf(Authorization.decode(again)))).toBe(given.transaction)
    takeRefund({ ...alice.ctx, spending: alice.ctx.wakers.spending }, interaction, again)
    expect(waiting()).toEqual([])
  })

  test('nothing for a task that cost nothing, or that it delegated itself', async () => {
    const id = await answered('a last poem')
    await expect(alice.handlers.refund({ interaction_id: id }, never)).rejects.toThrow(
      'no credits were taken for this task',
    )
    await bob.handlers.priceSet({ capability: 'task', amount: 0 }, never)
    const { interaction_id: free } = await alice.handlers.delegate({ to: 'bob', task: 'for nothing' }, never)
    await until('it is there', async () => (await inboxIds(bob)).includes(free))
    await expect(refund(free)).rejects.toThrow('no credits were taken for this task')
    await expect(refund('AAAAAAAAAAAAAAAAAAAAAA')).rejects.toThrow('there is no interaction')
  })
})
