/** What the account of a payer says of a hold whose end its hub has not signed. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import { addPayment, type PaymentRow } from '../store/payments.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'

const { signal } = new AbortController()
const MINUTE_MS = 60_000

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let id: string

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  id = await world.held(alice, bob)
  alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
})
afterEach(() => world[Symbol.asyncDispose]())

const row = () => alice.payment(id) as PaymentRow
const unsettled = () => paymentParts(alice.node.ctx).unsettled
const taken = (more: Partial<AccountEntry> = {}): AccountEntry => ({
  ...{ seq: 2, atMs: world.clock.ms, delta: -PRICE, reason: 'held', counterparty: bob.node.aid },
  ...{ transaction: cidText(row().payment) },
  ...more,
})
/** Asks a hub that has signed that it holds this, and no end, and shows this account; how much of it was asked for. */
async function asks(
  entries: AccountEntry[],
  { held = PRICE, network = world.network }: { held?: number; network?: string } = {},
) {
  const wanted: number[] = []
  const { hub } = alice.node
  const receipt = bob.payment(id)?.heldReceipt as Uint8Array
  const said: [string, unknown][] = [
    [
      'account',
      async (max: number) => {
        wanted.push(max)
        return { network, balance: 0, held, entries }
      },
    ],
    ['endOf', async () => ({ receipt, end: undefined })],
  ]
  const credits = Object.assign(Object.create(hub.credits), Object.fromEntries(said))
  const shown = Object.assign(Object.create(hub) as HubClient, { credits })
  expect(await unsettled().ask(shown, signal)).toEqual({ returned: [], taken: [] })
  return { problem: row().problem, wanted }
}

describe('a hold whose end is not signed', () => {
  test.each([
    ['is held still while the hub holds something', PRICE, 'still_held'],
    ['is held still while the hub holds a single credit', 1, 'still_held'],
    ['is unproven once it holds nothing', 0, 'unproven'],
  ] as const)('%s', async (_, held, problem) => {
    expect(await asks([taken()], { held })).toEqual({ problem, wanted: [500, 500] })
  })

  test('may have lapsed where its time is over and the hub holds nothing', async () => {
    world.clock.ms = (row().holdUntil ?? 0) - 5 * MINUTE_MS
    expect((await asks([taken()], { held: 0 })).problem).toBe('unproven')
  })

  test('is held still where it may have lapsed without an entry', async () => {
    world.clock.ms = (row().holdUntil ?? 0) - 5 * MINUTE_MS + 1
    expect((await asks([taken()], { held: 0 })).problem).toBe('still_held')
  })

  test.each([
    ['a single credit back', { delta: 1 }, 'unproven'],
    ['nothing back', { delta: 0 }, 'still_held'],
    ['credits of another one back', { delta: PRICE, transaction: 'b1' }, 'still_held'],
  ] as const)('where the account shows %s is %s', async (_, more, problem) => {
    expect((await asks([taken(more), taken()])).problem).toBe(problem)
  })

  test.each([
    [null, 'still_held'],
    ['hold_lost', 'still_held'],
    ['said_refused', 'said_refused'],
    ['bad_receipt', 'bad_receipt'],
  ])('keeps the reason %s as %s', async (before, after) => {
    await asks([taken()])
    alice.node.ctx.store.run('UPDATE payments SET problem = ?', before)
    expect((await asks([taken()])).problem).toBe(after)
  })

  test('is not asked about where the account shows nothing of it, or is another one', async () => {
    expect(await asks([])).toEqual({ problem: null, wanted: [500] })
    expect(await asks([taken()], { network: 'hub:x' })).toEqual({ problem: null, wanted: [500] })
  })

  test('says a reason once', async () => {
    await asks([taken()])
    const { tries } = row()
    const heard = alice.node.heard.length
    await asks([taken()])
    expect([row().tries, alice.node.heard.length]).toEqual([tries, heard])
  })
})

test('256 holds are asked about at once', () => {
  const { store } = alice.node.ctx
  const { authorization, salt, holdUntil } = row()
  alice.node.within(() => {
    for (let n = 0; n < 256; n++)
      addPayment(store, {
        ...{ interaction: alice.node.delegate(bob.node).key, payment: contentId(Uint8Array.of(n, 1)) },
        ...{ side: 'payer', amount: PRICE, network: world.network, authorization, salt },
        ...{ at: n, holdUntil, orderedBy: 'person' },
      })
  })
  world.clock.ms = (holdUntil ?? 0) + 1
  expect(unsettled().count()).toBe(256)
})
