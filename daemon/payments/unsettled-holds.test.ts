/** How a payer learns the end of a hold: by the hub's receipt, and by nothing else. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Authorization } from '../../protocol/proof/payment.ts'
import { taskReading } from '../control/parts.ts'
import { paymentWarnings } from '../control/payment-warnings.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { mayLapse } from './unsettled-holds.ts'

const { signal } = new AbortController()

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const settled = () =>
  alice.node.ctx.chain
    .read({ eventType: 'svc.payment.settled' })
    .map(({ payload }) => payload as Record<string, unknown>)
const shown = (id: string) => taskReading(alice.node.ctx).payments.of(alice.node.thread(id))
const reconciled = () => alice.wallet.askForReceipts(alice.node.hub, signal)
const look = async (times = 3) => {
  for (let n = 0; n < times; n++) {
    world.pass(600_000)
    await alice.payer.look()
  }
}

/** Bob's node gets the hub's word, and no message of his leaves. */
async function endsUntold(id: string, end: 'taken' | 'returned'): Promise<void> {
  if (end === 'taken') bob.node.say(id, 'roses are red')
  else {
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
    await world.settle()
  }
  await bob.payee.look()
  if (end === 'taken') alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
}

const ends = [
  ['taken', PRICE],
  ['returned', 0],
] as const

test('a hold may have lapsed without an entry from five minutes before its end to two hours after it', () => {
  const [end, minute] = [1_000_000_000, 60_000]
  const at = (ms: number) => mayLapse(end, end + ms)
  expect([at(-5 * minute), at(-5 * minute + 1), at(0), at(120 * minute - 1), at(120 * minute)]).toEqual([
    false,
    true,
    true,
    true,
    false,
  ])
  expect(mayLapse(null, end)).toBe(true)
})

test('the account is read once where the hub has signed every end, and again where it has not', async () => {
  const { ctx, hub } = alice.node
  const id = await world.held(alice, bob)
  await endsUntold(id, 'taken')
  const reads = async () => {
    world.post.ledger.asked.length = 0
    await paymentParts(ctx).unsettled.ask(hub, signal)
    return world.post.ledger.asked.filter(({ operation }) => operation === 'account').length
  }
  world.post.ledger.isOlder = true
  expect(await reads()).toBe(2)
  world.post.ledger.isOlder = false
  expect(await reads()).toBe(1)
})

test('the reason why a hold is open is said once', async () => {
  world.post.ledger.isOlder = true
  const id = await world.held(alice, bob)
  await endsUntold(id, 'taken')
  await look()
  const said = () =>
    alice.node.heard.filter(({ type, data }) => type === 'message' && data['interaction_id'] === id).length
  const before = said()
  await look()
  expect(shown(id)).toMatchObject({ problem: 'unproven' })
  expect(said()).toBe(before)
})

describe('a hold that its hub has not ended', () => {
  const cancel = (id: string) => alice.node.tasks.leaving.cancel(alice.node.thread(id), '')
  const withdrawn = async () => {
    const id = await world.held(alice, bob)
    alice.node.within(() => cancel(id))
    return id
  }
  const asks = (hub: object = alice.node.hub) =>
    paymentParts(alice.node.ctx).unsettled.ask(hub as typeof alice.node.hub, signal)
  const asked = (wanted: string) =>
    world.post.ledger.asked.filter(({ operation }) => operation === wanted).length

  test('is held still, is named in no list of ends, and is not asked about where nothing is open', async () => {
    const id = await world.held(alice, bob)
    world.post.ledger.asked.length = 0
    expect(await asks()).toEqual({ returned: [], taken: [] })
    expect(world.post.ledger.asked).toEqual([])
    alice.node.within(() => cancel(id))
    expect(await asks()).toEqual({ returned: [], taken: [] })
    expect(alice.payment(id)).toMatchObject({ state: 'held', problem: 'still_held', moved: null })
    expect(alice.payment(id)?.heldReceipt).not.toBeNull()
  })

  test.each([
    ['back is unproven', 'returned', 'unproven'],
    ['taken may be held still', 'taken', 'still_held'],
  ] as const)('beside another one that is held: what its ledger shows as %s', async (_, end, problem) => {
    world.post.ledger.isOlder = true
    await world.held(alice, bob)
    const id = await world.held(alice, bob)
    await endsUntold(id, end)
    await asks()
    expect(alice.payment(id)?.problem).toBe(problem)
  })

  test('is lost where the hub says that it does not hold what it signed, and open where it signed nothing', async () => {
    const id = await withdrawn()
    world.post.ledger.always('endOf', { kind: 'refuse', reason: 'invalid_payload' })
    expect(await asks()).toEqual({ returned: [], taken: [] })
    expect(alice.payment(id)).toMatchObject({ problem: null, heldReceipt: null })
    world.post.ledger.heal()
    await asks()
    world.post.ledger.always('endOf', { kind: 'refuse', reason: 'invalid_payload' })
    await asks()
    expect(alice.payment(id)).toMatchObject({ state: 'held', problem: 'hold_lost' })
    world.post.ledger.heal()
    await asks()
    expect(alice.payment(id)).toMatchObject({ state: 'held', problem: 'still_held' })
  })

  test('is not held by a receipt that is none of it', async () => {
    const other = alice.payment(await world.held(alice, bob))?.payment
    const id = await withdrawn()
    const { hub } = alice.node
    const foreign = world.post.ledger.receiptOf(other as Uint8Array)
    const endOf = async () => ({ receipt: foreign, end: undefined })
    await asks({
      ...hub,
      identity: hub.identity,
      credits: { ...hub.credits, endOf },
      refresh: async () => {},
    })
    expect(alice.payment(id)).toMatchObject({
      state: 'authorized',
      problem: 'bad_receipt',
      heldReceipt: null,
    })
  })

  test('and that no hub has used is asked about four minutes after its time, and no sooner', async () => {
    const id = await world.authorized(alice, bob)
    alice.node.within(() => cancel(id))
    const { authorization = new Uint8Array() } = alice.payment(id) ?? {}
    world.clock.ms = Authorization.decode(authorization).body.notAfter + 4 * 60_000
    await asks()
    expect(asked('endOf')).toBe(0)
    world.pass(1)
    await asks()
    expect(asked('endOf')).toBe(1)
  })
})

describe('a hold whose provider says nothing', () => {
  test.each(ends)('that was %s ends with the receipt that the hub gives its payer', async (end, moved) => {
    const id = await world.held(alice, bob)
    await endsUntold(id, end)
    await look()
    expect(alice.payment(id)).toMatchObject({ state: 'ended', moved, problem: null })
    expect(alice.payment(id)?.endReceipt).not.toBeNull()
    expect(settled().at(-1)).toMatchObject({ amount: moved, verified: true })
    expect(settled().at(-1)?.['receipt']).toBeDefined()
  })

  test.each(ends)('that was %s stays open at a hub that signs nothing, and says so', async (end, moved) => {
    world.post.ledger.isOlder = true
    const id = await world.held(alice, bob)
    await endsUntold(id, end)
    await look()
    expect(alice.payment(id)).toMatchObject({ state: 'held', moved: null, endReceipt: null })
    expect(shown(id)).toMatchObject({ state: 'held', problem: 'unproven' })
    expect(settled().filter(({ verified }) => verified === false)).toEqual([])
    expect(paymentWarnings(alice.node.ctx.store, alice.node.ctx.now)).toEqual([
      `${PRICE} credits of a payment wait: its hub shows that the hold has ended, and has not signed that; svc reconcile asks again`,
    ])
    expect(await reconciled()).toMatchObject({ open: [{ interaction_id: id, problem: 'unproven' }] })
    world.post.ledger.isOlder = false
    expect(await reconciled()).toMatchObject({ open: [], [moved === 0 ? 'returned' : 'settled']: [id] })
    expect(paymentWarnings(alice.node.ctx.store, alice.node.ctx.now)).toEqual([])
  })

  test('is not made by the question, while its authorization is good and nobody has used it', async () => {
    const id = await world.authorized(alice, bob)
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
    await alice.payer.look()
    await reconciled()
    expect(world.post.ledger.balanceOf(alice.node.aid)).toEqual({ balance: GRANTED, held: 0 })
    expect(alice.payment(id)).toMatchObject({ state: 'authorized' })
  })

  test.each(['signature', 'payment', 'amount', 'network'] as const)(
    'does not end by a receipt that is wrong in its %s',
    async wrong => {
      const id = await world.held(alice, bob)
      await endsUntold(id, 'taken')
      world.post.ledger.always('endOf', { kind: 'forge', in: wrong })
      await look(1)
      expect(alice.payment(id)).toMatchObject({ state: 'held', problem: 'bad_receipt', endReceipt: null })
      world.post.ledger.heal()
      await look(4)
      expect(alice.payment(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
    },
  )
})
