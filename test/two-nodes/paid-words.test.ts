/** Tasks in words for a price, over a hub: quote, payment, hold, an answer by whoever answers, and what takes the credits. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { paymentOf } from '../../daemon/store/payments.ts'
import { inboxIds, type Lab, never, openPair, stateOf, texts, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await bob.handlers.priceSet({ capability: 'task', amount: 9 }, never)
})
afterAll(() => lab.close())

const balances = async () => {
  const [mine, theirs] = await Promise.all([alice, bob].map(node => node.handlers.balance({}, never)))
  return [mine?.balance, mine?.held, theirs?.balance, theirs?.held]
}
const ask = (task: string, more: object = {}) => alice.handlers.delegate({ to: 'bob', task, ...more }, never)
const payment = (node: Node, id: string) => paymentOf(node.ctx.store, node.ctx.threads.findById(id)?.key ?? 0)
/** The task that goes on with a payment, once bob may answer it. */
async function paidTask(task: string, pay_as: 'person' | 'agent' = 'person'): Promise<string> {
  const before = new Set(await inboxIds(bob))
  await ask(task, { pay: true, pay_as })
  const paid = async () =>
    (await inboxIds(bob)).filter(id => !before.has(id) && payment(bob, id)?.state === 'held')
  await until('the payment is held', async () => (await paid()).length === 1)
  return (await paid())[0] as string
}
const signed = (id: string) =>
  until('both signed', async () => {
    const sides = await Promise.all([alice, bob].map(node => thread(node, id)))
    return sides.every(side => side.receipt?.verified === true)
  })
const settled = async (node: Node, interaction_id: string) =>
  (await node.handlers.evidence({ event_type: 'svc.payment.settled', interaction_id }, never)).records.map(
    ({ payload }) => payload,
  )

const spent = async () => (await alice.handlers.spend(undefined, never)).spent_today
const stateFor = async (node: Node, id: string) => (await thread(node, id)).payment?.state

describe('a task in words with a price', () => {
  test('stands in the list of prices, and only a price that stands there is taken off', async () => {
    expect(await bob.handlers.prices(undefined, never)).toMatchObject({
      prices: [{ capability: 'task', amount: 9 }],
    })
    await expect(alice.handlers.priceSet({ capability: 'task', amount: 0 }, never)).rejects.toThrow(
      'task has no price',
    )
  })

  test('is answered with what it costs, which both sides sign', async () => {
    const { interaction_id: id } = await ask('what is it worth?', { wait_s: 20 })
    await signed(id)
    const { receipt } = await thread(alice, id)
    expect(receipt?.status).toBe('PAYMENT_REQUIRED')
    expect((await texts(alice, id)).join()).toContain(`task costs 9 credits on hub:${lab.hub.aid}`)
    expect(await stateOf(bob, id)).toBe('ended')
  })

  test('is held before it may be answered; the first answer takes the credits and brings both receipts', async () => {
    const [mine = 0, , theirs = 0] = await balances()
    const id = await paidTask('a poem, please')
    expect(await balances()).toEqual([mine - 9, 9, theirs, 0])
    expect(bob.ctx.threads.findById(id)?.autoReply).toBe(1)
    await bob.handlers.message({ interaction_id: id, text: 'roses are red' }, never)
    await until('the answer is here', async () => (await texts(alice, id)).includes('roses are red'))
    expect(await balances()).toEqual([mine - 9, 0, theirs + 9, 0])
    await until('the payer has judged both receipts', async () => (await settled(alice, id)).length === 2)
    for (const record of await settled(alice, id)) expect(record).toMatchObject({ amount: 9, verified: true })
    await bob.handlers.message({ interaction_id: id, text: 'violets are blue' }, never)
    await until('a second word', async () => (await texts(alice, id)).includes('violets are blue'))
    await alice.handlers.end({ interaction_id: id }, never)
    await until('bob hears of the end', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await signed(id)
    expect(await balances()).toEqual([mine - 9, 0, theirs + 9, 0])
  })

  test('that is declined gives everything back', async () => {
    const before = await balances()
    const id = await paidTask('another poem')
    await bob.handlers.decline({ interaction_id: id, reason: 'no time' }, never)
    await until('it is given back', async () => payment(bob, id)?.state === 'ended')
    expect(await balances()).toEqual(before)
    await until('alice hears of it', async () => (await stateOf(alice, id)) === 'declined')
    alice.ctx.wakers.spending.wake()
    await until('its payer knows', async () => (await stateFor(alice, id)) === 'returned')
  })

  test('that is withdrawn gives everything back', async () => {
    const before = await balances()
    const id = await paidTask('a third poem')
    await alice.handlers.cancel({ interaction_id: id }, never)
    await until('it is given back', async () => payment(bob, id)?.state === 'ended')
    expect(await balances()).toEqual(before)
    await alice.handlers.reconcile({}, never)
    expect(await stateFor(alice, id)).toBe('returned')
  })

  test('that an agent paid and a person withdrew takes nothing from what may be spent that day', async () => {
    await alice.handlers.spendSet({ agent_max: 9, day_max: 90, payee_day_max: 90 }, never)
    const before = await spent()
    const id = await paidTask('a fourth poem', 'agent')
    expect(await spent()).toBe(before + 9)
    await alice.handlers.cancel({ interaction_id: id }, never)
    await until('it is given back', async () => payment(bob, id)?.state === 'ended')
    alice.ctx.wakers.spending.wake()
    await until('its payer knows', async () => (await stateFor(alice, id)) === 'returned')
    expect(await spent()).toBe(before)
  })

  test('whose answer came without the word of the hub is known to be paid once its ledger says so', async () => {
    const credits = bob.ctx.hub.home?.credits
    if (credits === undefined) throw new Error('no hub')
    const honest = credits.endHold.bind(credits)
    credits.endHold = async (...given) => {
      await honest(...given)
      return { refused: 'hold_ended', says: 'the hold has ended already' }
    }
    const endOf = credits.endOf.bind(credits)
    credits.endOf = async () => ({ refused: 'hold_ended', says: 'the hold has ended already' })
    const id = await paidTask('a fifth poem')
    await bob.handlers.message({ interaction_id: id, text: 'the fifth' }, never)
    await until('the answer is here', async () => (await texts(alice, id)).includes('the fifth'))
    credits.endHold = honest
    credits.endOf = endOf
    expect(await stateFor(alice, id)).not.toBe('taken')
    await alice.handlers.end({ interaction_id: id }, never)
    await until('bob hears of the end', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await signed(id)
    await alice.handlers.reconcile({}, never)
    expect(await stateFor(alice, id)).toBe('taken')
  })

  test('costs nothing once its price is gone', async () => {
    await bob.handlers.priceSet({ capability: 'task', amount: 0 }, never)
    expect(await bob.handlers.prices(undefined, never)).toEqual({ prices: [] })
  })
})
