/** What keeps a restored node from paying a price by itself: what its hub shows, what its payee says, and what is not known. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { Authorization, networkOf } from '../../protocol/proof/payment.ts'
import { keepLostAsked } from '../store/hub-accounts.ts'
import { noteLost } from '../store/lost.ts'
import { keepLostOrder, noteLostOrderEnd } from '../store/lost-orders.ts'
import { addPayment } from '../store/payments.ts'
import { noteAnswered, noteSettled } from '../store/restores.ts'
import type { Interaction } from '../store/threads.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { sayDoubt, sayPaid } from './lost-payments.ts'
import { paymentParts } from './parts.ts'

const AMOUNT = 5
const ID = contentId(Uint8Array.of(1))

let world: TestWorld
let alice: TestNode
let bob: TestNode
let task: Interaction
let settledMs: number

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  task = alice.delegate(bob)
  world.pass(1000)
  restored()
})
afterEach(() => world[Symbol.asyncDispose]())

const store = () => alice.ctx.store
const hub = () => alice.hub.identity.aid
const network = () => networkOf(hub())
function restored(): void {
  settledMs = world.clock.ms
  alice.within(() => noteSettled(store(), settledMs - 1000, settledMs))
}
type Unproven = { transaction: string; counterparty?: string; reason?: string }
/** The hub was asked, and showed no order for these debits. */
function asked(...unproven: Unproven[]): void {
  const debits = unproven.map(({ transaction: id, counterparty = bob.aid, reason = 'held' }, n) => {
    return { seq: n + 1, id, amount: AMOUNT, at: settledMs, counterparty, reason }
  })
  alice.within(() => keepLostAsked(store(), hub(), { settledMs, atMs: settledMs, unproven: debits }))
}
const answered = (atMs = settledMs) => alice.within(() => noteAnswered(store(), bob.aid, atMs))
/** The hub has shown an order of a lost copy. */
function ordered(id: string, { counterparty = bob.aid, reason = 'held' } = {}): void {
  const { signer } = paymentParts(alice.ctx)
  const terms = { payTo: bob.aid, amount: AMOUNT, network: network(), holdSeconds: 60 }
  const authorization = Authorization.encode(signer.sign(terms))
  const order = { id, seq: 1, at: settledMs, reason, counterparty, authorization }
  alice.within(() => keepLostOrder(store(), order))
}
/** Bob says that he holds a task of alice's which she has lost, and what she paid for it. */
const says = (id: string, payment: Uint8Array | null, peer = bob.aid) =>
  alice.within(() => noteLost(store(), { id, peer, at: 1, side: 'sent', delegatedAt: 1, payment }))
const lost = () => paymentParts(alice.ctx).lost
const doubt = (of: Interaction = task, at: string | null = network()) =>
  lost().doubtOf({ interaction: of.key, network: at })
const payments = () => {
  const found = doubt()
  return found?.state === 'paid' ? found.payments : found?.state
}

describe('a price', () => {
  test('waits for the hub, then for the other side, and then for nobody', () => {
    expect(doubt()).toEqual({ state: 'hub' })
    asked()
    expect(doubt()).toEqual({ state: 'peer' })
    answered(settledMs - 1)
    expect(doubt()).toEqual({ state: 'peer' })
    answered()
    expect(doubt()).toBeUndefined()
  })

  test('waits for the other side while it is not known what was said to it', () => {
    asked()
    answered()
    store().run("UPDATE interactions SET numbering = 'asking'")
    expect(doubt()).toEqual({ state: 'peer' })
  })

  test('in the credits of no hub waits for nobody', () => {
    expect([doubt(task, null), doubt(task, 'x402:other')]).toEqual([undefined, undefined])
  })

  test('waits for the hub again after another restore', () => {
    asked()
    world.pass(1)
    restored()
    expect(doubt()).toEqual({ state: 'hub' })
  })

  test('of a task that came after the backup waits for the hub alone', () => {
    const later = alice.delegate(bob)
    expect(doubt(later)).toEqual({ state: 'hub' })
    asked()
    expect(doubt(later)).toBeUndefined()
    expect(doubt()).toEqual({ state: 'peer' })
  })

  test('of a task that an earlier release restored is that of then up to the time of that', () => {
    asked()
    store().run('UPDATE restores SET last_task = NULL')
    const started = (startedAt: number) => {
      store().run('UPDATE interactions SET started_at = ?', startedAt)
      return doubt()?.state
    }
    expect([started(settledMs), started(settledMs + 1)]).toEqual(['peer', undefined])
  })
})

describe('what a lost copy paid to an agent', () => {
  beforeEach(() => answered())

  test('is named as the hub shows it, by its id where it is signed', () => {
    ordered('b1')
    asked({ transaction: 'b2' })
    expect(payments()).toEqual([
      { state: 'signed', transaction: 'b1', amount: AMOUNT, atMs: settledMs },
      { state: 'unproven', amount: AMOUNT, atMs: settledMs },
    ])
  })

  test('is named once where its order was shown later', () => {
    asked({ transaction: 'b1' })
    ordered('b1')
    expect(payments()).toMatchObject([{ state: 'signed' }])
    expect(lost().spent(0, undefined)).toBe(AMOUNT)
  })

  test('is nothing of what went to others, or is no payment', () => {
    ordered('b1', { counterparty: hub() })
    ordered('b2', { reason: 'refund' })
    ordered('b3', { reason: 'redemption' })
    asked({ transaction: 'b4', counterparty: hub() }, { transaction: 'b5', reason: 'refund' })
    expect(payments()).toBeUndefined()
  })

  test('is named by the word of that agent, with the task that it was for', () => {
    asked()
    says('task-1', ID)
    says('task-2', null)
    says('task-3', contentId(Uint8Array.of(3)), hub())
    expect(payments()).toEqual([{ state: 'said', transaction: cidText(ID), lostTask: 'task-1' }])
  })

  test('is named once by both, with the task', () => {
    ordered(cidText(ID))
    asked()
    says('task-1', ID)
    expect(payments()).toMatchObject([{ state: 'signed', transaction: cidText(ID), lostTask: 'task-1' }])
  })

  test('is not named again where this node has the payment', () => {
    asked()
    says('task-1', ID)
    alice.within(() =>
      addPayment(store(), {
        ...{ interaction: task.key, side: 'payer', payment: ID, amount: AMOUNT, network: network() },
        ...{ authorization: ID, salt: ID, at: 1, holdUntil: null, orderedBy: 'person' },
      }),
    )
    expect(payments()).toBeUndefined()
  })

  test('is not what came back, whatever that agent says, and is what was taken of it', () => {
    ordered(cidText(ID))
    asked()
    says('task-1', ID)
    const ended = (moved: number) => {
      alice.within(() => noteLostOrderEnd(store(), cidText(ID), moved))
      return payments()
    }
    expect(ended(1)).toMatchObject([{ state: 'signed' }])
    expect(lost().spent(0, bob.aid)).toBe(1)
    expect(ended(0)).toBeUndefined()
  })

  test('is paid once more by a person who says so, also without a hold', () => {
    asked()
    const requires = (holdSeconds: number | null) => () =>
      lost().requireUnpaid({ interaction: task.key, network: network(), holdSeconds }, task)
    expect(requires(60)).not.toThrow()
    ordered('b1')
    const again = `svc approve ${task.id} --again`
    expect(requires(60)).toThrow(expect.objectContaining({ code: 'wrong_state', next: again }))
    expect(requires(null)).toThrow(expect.objectContaining({ next: `${again} --unheld` }))
  })
})

test('a node that was never restored waits for nobody', async () => {
  const nora = await world.node('nora')
  const { lost: of } = paymentParts(nora.ctx)
  expect(of.doubtOf({ interaction: nora.delegate(bob).key, network: network() })).toBeUndefined()
  expect(of.spent(0, undefined)).toBe(0)
})

test('a doubt is said in words, of each payment with what is known of it', () => {
  const [hubs, peers] = [sayDoubt({ state: 'hub' }), sayDoubt({ state: 'peer' })]
  expect([hubs, peers]).toEqual([expect.stringMatching(/once its hub/), expect.stringMatching(/other side/)])
  const payments = [{ state: 'signed' as const, amount: 2, atMs: HOUR_MS, lostTask: 'abc' }]
  expect(sayDoubt({ state: 'paid', payments })).toBe(sayPaid(payments))
  expect(sayPaid(payments)).toContain(
    ' paid 2 credits to this agent at 1970-01-01T01:00:00.000Z for abc (as its hub shows), maybe for this task;',
  )
})
