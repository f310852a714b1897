/** Credits that an agent takes along, while the hub that it left does not answer (credits: between hubs). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { Authorization, transactionOf } from '../../protocol/proof/payment.ts'
import { moveFrom } from '../store/credit-moves.ts'
import { PaidWorld, type PayingNode } from '../testing/paying.ts'

const AMOUNT = 7
let world: PaidWorld
let alice: PayingNode
beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice } = await world.paid())
  world.move(alice)
})
afterEach(() => world[Symbol.asyncDispose]())

const never = new AbortController().signal

/** Asks the new home, which refuses with a code; what it was asked for. */
async function refusedWith(code: string, says = ''): Promise<string[]> {
  const { home } = alice.node.ctx.hub
  if (home === undefined) throw new Error('alice has no home')
  const asked: string[] = []
  const settle = async (authorization: Uint8Array) => {
    asked.push(cidText(transactionOf(Authorization.decode(authorization))))
    return { refused: code, says: 'so it says' }
  }
  Object.assign(home.credits, { settle })
  const moved = alice.wallet.move(home, { network: world.network, amount: AMOUNT }, never)
  await expect(moved).rejects.toThrow(says)
  return asked
}
const keptMove = () => {
  const kept = moveFrom(alice.node.ctx.store, world.network)
  return kept && cidText(transactionOf(Authorization.decode(kept.authorization)))
}

test('a move that waits for the other hub stays the same one, also under a new key and after its time', async () => {
  const [first] = await refusedWith('settlement_pending')
  expect(keptMove()).toBe(first)
  const { identity, hub } = alice.node.ctx
  identity.rotate(hub.home?.identity.aid ?? '', world.clock.ms)
  expect(await refusedWith('settlement_pending')).toEqual([first])
  world.pass(3 * 3_600_000)
  expect(await refusedWith('settlement_pending')).toEqual([first])
  expect(keptMove()).toBe(first)
})

test('a move under an old key that was refused is signed anew', async () => {
  const [first] = await refusedWith('settlement_pending')
  const { identity, hub } = alice.node.ctx
  identity.rotate(hub.home?.identity.aid ?? '', world.clock.ms)
  const asked = await refusedWith('invalid_payload')
  expect(asked[0]).toBe(first)
  expect(asked).toHaveLength(2)
  expect(keptMove()).toBeUndefined()
})

test('a move that an earlier home has booked says so, and is over', async () => {
  const [first] = await refusedWith('settlement_pending')
  expect(await refusedWith('duplicate_settlement', 'went to an earlier home of this agent')).toEqual([first])
  expect(keptMove()).toBeUndefined()
})
