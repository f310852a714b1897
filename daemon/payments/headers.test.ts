/** A payment header is signed for the terms that a payee made, and no longer than they may last. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { AUTHORIZATION_LIFE_MAX_MS, Authorization } from '../../protocol/proof/payment.ts'
import { readHeader } from '../a2a/x402.ts'
import { PaidWorld, type PayingNode } from '../testing/paying.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

function signed(more: { seconds?: number; extra?: Record<string, unknown> } = {}) {
  const { seconds, extra } = more
  const asked = { payTo: bob.node.aid, amount: 3, network: world.network }
  const text = alice.wallet.header({ ...asked, interaction: undefined, seconds, extra })
  const { accepted, payload } = readHeader(text) as never as {
    accepted: Record<string, unknown>
    payload: { authorization: string }
  }
  return { accepted, body: Authorization.decode(fromBase64url(payload.authorization)).body }
}

test('it says who pays whom how much, for an hour at most', () => {
  const { accepted, body } = signed({ seconds: 86_400 })
  expect(accepted).toMatchObject({ payTo: bob.node.aid, amount: '3', network: world.network })
  expect(body).toMatchObject({ payer: alice.node.aid, payTo: bob.node.aid, amount: 3 })
  expect(body.notAfter - body.notBefore).toBe(AUTHORIZATION_LIFE_MAX_MS)
  expect(signed({ seconds: 60 }).body.notAfter - body.notBefore).toBeLessThan(AUTHORIZATION_LIFE_MAX_MS)
  expect(body.holdUntil).toBeUndefined()
})

test.each([
  [undefined, 360_000],
  [60, 120_000],
])('it is good for a minute more than the payee asks for: %s s', (seconds, ms) => {
  const { notBefore, notAfter } = signed(seconds === undefined ? {} : { seconds }).body
  expect(notAfter - notBefore).toBe(ms)
})

test('a hold is signed for the seconds that the payee asks for', () => {
  const longest = 30 * 86_400
  for (const seconds of [1, longest]) {
    const { holdUntil = 0, notAfter } = signed({ extra: { hold_s: seconds } }).body
    expect(holdUntil - notAfter).toBe(seconds * 1000)
  }
  for (const seconds of [0, 0.5, -1, longest + 1, '60', null])
    expect(() => signed({ extra: { hold_s: seconds } })).toThrow(
      /^expected hold_s in whole seconds, from 1 to /,
    )
})

test('what was signed stands in the chain', () => {
  signed()
  const [record] = alice.node.ctx.chain.read({ eventType: 'svc.payment.authorized' })
  expect(record?.['payload']).toMatchObject({ pay_to: bob.node.aid, amount: 3, network: world.network })
})
