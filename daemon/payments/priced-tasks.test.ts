/** Words of a task that has a price: which of them take its credits, and with which receipts they leave. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodePayload, encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { HoldOrder } from '../../protocol/proof/payment.ts'
import { Waker } from '../platform/waker.ts'
import type { PaymentRow } from '../store/payments.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { openPrice } from './priced-tasks.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const row = (id: string) => bob.payment(id) as PaymentRow
const sent = (id: string) => bob.node.messages(id).filter(({ direction }) => direction === 'out')
/** The receipts that each message of bob brings; undefined where it can bring none. */
const brought = (id: string) =>
  sent(id).map(({ key }) => {
    const { kind, payload } = bob.node.ctx.threads.message(key)
    const decoded = decodePayload(kind, payload)
    return decoded.kind === kinds.message || decoded.kind === kinds.settlements
      ? decoded.payload.settlements
      : undefined
  })
const end = (by: PayingNode, id: string) =>
  by.node.within(() => by.node.tasks.endings.propose(by.node.thread(id)))
/** As the hub has signed the end of the payment of a task, in a task that stands so. */
function letGo(id: string, changes: Partial<PaymentRow> = {}): void {
  const held = row(id)
  const ended = { ...held, endReceipt: held.heldReceipt, ...changes }
  bob.node.within(() => paymentParts(bob.node.ctx).answers.letGo(ended))
}

describe('words of a provider', () => {
  test('are refused while the payment of the task is not held, and leave its price open', async () => {
    const id = await world.authorized(alice, bob)
    await world.settle()
    const refused = { code: 'wrong_state', next: `svc thread ${id}` }
    expect(() => bob.node.say(id, 'roses are red')).toThrow(expect.objectContaining(refused))
    expect([sent(id), openPrice(bob.node.ctx.store, bob.node.thread(id))]).toEqual([[], PRICE])
  })

  test('leave with the receipt of the hold, and wake what takes all of it', async () => {
    const id = await world.held(alice, bob)
    let woken = 0
    const { ctx } = bob.node
    const payments = Object.assign(new Waker(ctx.timers), { wake: () => void woken++ })
    const { answers } = paymentParts({ ...ctx, wakers: { ...ctx.wakers, payments } })
    const { payload, text } = ctx.threads.message(bob.node.say(await world.held(alice, bob), 'red').key)
    const outgoing = { kind: kinds.message, payload, text, numbered: true }
    bob.node.within(() => answers.queue(bob.node.thread(id), outgoing))
    expect(woken).toBe(1)
    expect(brought(id)).toEqual([[row(id).heldReceipt]])
    expect(row(id).state).toBe('ending')
    const order = HoldOrder.decode(row(id).endOrder ?? new Uint8Array())
    expect(order.body).toMatchObject({ amount: PRICE, madeAt: world.clock.ms })
  })

  test('that come second take nothing, and bring no receipt', async () => {
    const id = await world.held(alice, bob)
    bob.node.say(id, 'roses are red')
    const { endOrder } = row(id)
    bob.node.say(id, 'violets are blue')
    expect(brought(id)).toEqual([[row(id).heldReceipt], undefined])
    expect(row(id)).toMatchObject({ state: 'ending', endOrder })
    expect(bob.node.entry().nextAt).toBe(world.clock.ms)
  })

  test('of a task without a price leave at once', async () => {
    const { id } = alice.node.delegate(bob.node)
    bob.node.ctx.settings.change({ prices: {} })
    await world.settle()
    bob.node.say(id, 'roses are red')
    expect([brought(id), bob.node.entry().nextAt]).toEqual([[undefined], world.clock.ms])
  })
})

test('words of a requester take nothing of what it pays itself', async () => {
  const id = await world.held(alice, bob)
  const payload = encodePayload(kinds.settlements, { settlements: [row(id).heldReceipt as Uint8Array] })
  const outgoing = { kind: kinds.settlements, payload, text: '', numbered: false }
  bob.node.within(() => bob.node.ctx.threads.queue(bob.node.thread(id), outgoing))
  await world.settle()
  await alice.payer.look()
  expect(alice.payment(id)?.state).toBe('held')
  alice.node.say(id, 'with roses, please')
  expect(alice.payment(id)).toMatchObject({ state: 'held', endOrder: null })
})

describe('once the hub has signed the end of a payment', () => {
  test('an answer that waited for it leaves with both receipts, and nothing else is told', async () => {
    const id = await world.answered(alice, bob)
    await bob.payee.look()
    expect(brought(id)).toEqual([[row(id).heldReceipt, row(id).endReceipt]])
    expect(bob.node.entry().nextAt).toBe(world.clock.ms)
  })

  test.each([
    ['is', "receipt_state = 'made'"],
    ['was, and waits for its other signature,', "receipt = x'01'"],
  ])('an answer whose receipt %s made leaves as it was, and the end is told after it', async (_, column) => {
    const id = await world.answered(alice, bob)
    bob.node.ctx.store.run(`UPDATE interactions SET ${column} WHERE id = ?`, id)
    const { outbox } = bob.node.ctx.wakers
    outbox.forget()
    const slept = outbox.sleep(60_000)
    letGo(id)
    await slept
    const { heldReceipt } = row(id)
    expect(brought(id)).toEqual([[heldReceipt], [heldReceipt, heldReceipt]])
    expect(bob.node.entry(sent(id)[0]?.key).nextAt).toBe(world.clock.ms)
  })

  test('it is told apart where the answer has gone', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.always('endHold', { kind: 'refuse', reason: 'insufficient_funds' })
    await bob.payee.look()
    await world.settle()
    letGo(id)
    expect(sent(id).map(({ kind, number }) => [kind, number])).toEqual([
      [kinds.message, 1],
      [kinds.settlements, 0],
    ])
  })

  test.each([
    ['that goes on', () => undefined],
    ['whose end was proposed', (id: string) => end(alice, id)],
  ])('it is told with the answer of a call %s', async (_, step) => {
    const id = await world.held(alice, bob)
    step(id)
    await world.settle()
    letGo(id)
    expect(brought(id)).toEqual([])
  })

  test('it is told to nobody who asked over plain HTTP', async () => {
    const id = await world.held(alice, bob)
    bob.node.ctx.store.run("UPDATE interactions SET way = 'local', state = 'cancelled' WHERE id = ?", id)
    letGo(id)
    expect(sent(id)).toEqual([])
    bob.node.ctx.store.run("UPDATE interactions SET way = 'sealed' WHERE id = ?", id)
    letGo(id)
    expect(brought(id)).toEqual([[row(id).heldReceipt, row(id).heldReceipt]])
  })

  test('the words of a call that has an outcome are left as they are', async () => {
    const id = await world.answered(alice, bob)
    letGo(id, { outcome: new Uint8Array() })
    const { heldReceipt } = row(id)
    expect(brought(id)).toEqual([[heldReceipt], [heldReceipt, heldReceipt]])
    expect(bob.node.entry(sent(id)[0]?.key).nextAt).toBe(world.clock.ms + 60_000)
  })

  test('an answer by its price is left as it is', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.always('settle', { kind: 'lost_after' })
    await world.settle()
    await bob.calls.look()
    world.pass(2 * 3_600_000)
    await bob.calls.look()
    const [answer] = sent(id)
    expect(answer?.kind).toBe(kinds.quote)
    world.post.ledger.heal()
    world.pass(600_000)
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ended', moved: 0 })
    expect(brought(id)).toEqual([undefined, undefined, [row(id).heldReceipt, row(id).endReceipt]])
  })
})
