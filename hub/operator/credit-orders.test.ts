/** What an operator learns of the credits that the hub owes: what it has to pay out, to whom, and what it owes in all. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deactivate } from '../../protocol/identity/kel.ts'
import { callRoute, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { ask, grant, payment, redemption } from '../testing/payments.ts'

let hub: TestHub
let alice: TestAgent
beforeAll(async () => {
  hub = await startTestHub({ limits: { trialCredits: 0 } })
  alice = await registeredAgent(hub)
  await grant(hub, alice.aid, 100)
})
afterAll(() => hub.close())

const order = (given: Parameters<TestHub['running']['order']>[0]) => hub.running.order(given)

test('each redemption with who made it, when, how much, and the reference to pay out against', async () => {
  const made = []
  let since = 0
  for (const [amount, reference] of [
    [7, 'IBAN 1'],
    [5, 'IBAN 2'],
  ] as const) {
    since = hub.clock.now()
    const { request, transaction } = redemption(alice, amount, reference)
    expect((await ask(hub, 'x402Redeem', request)).json['success']).toBe(true)
    made.unshift({
      at: expect.stringMatching(/^20.*Z$/),
      aid: alice.aid,
      amount,
      reference,
      transaction,
    })
    hub.clock.advance(1000)
  }
  expect(await order({ command: 'redemptions' })).toEqual({ redemptions: made })
  const first = await order({ command: 'redemptions', limit: 1 })
  expect(first['redemptions']).toEqual(made.slice(0, 1))
  const rest = await order({ command: 'redemptions', before: first['next'] as number })
  expect(rest).toEqual({ redemptions: made.slice(1) })
  expect((await order({ command: 'redemptions', since }))['redemptions']).toEqual(made.slice(0, 1))
})

test('what one agent has, and what all are owed', async () => {
  const bob = await registeredAgent(hub)
  await ask(hub, 'x402Settle', payment(alice, bob, 20, { holdSeconds: 600 }).request)
  expect((await order({ command: 'agent', aid: alice.aid }))['credits']).toEqual({ balance: 68, held: 20 })
  expect((await order({ command: 'stats' }))['credits']).toEqual({
    owed: 88,
    held: 20,
    issued: 100,
    redeemed: 12,
  })
})

test('a clock that is behind says so, and by how much', async () => {
  expect(await order({ command: 'clock' })).toMatchObject({ behind_ms: 0 })
  const other = await startTestHub()
  other.clock.advance(-3_600_000)
  const shown = await other.running.order({ command: 'clock' })
  expect(shown['behind_ms']).toBeGreaterThan(3_590_000)
  expect(shown['note']).toMatch(/^the clock is behind the latest time that the hub knew/)
  await other.close()
})

test('a grant beyond all that there can be is refused with how many are left', async () => {
  const given = { command: 'grant', aid: alice.aid, reason: 'too many', id: 'ab'.repeat(16) } as const
  await expect(order({ ...given, amount: Number.MAX_SAFE_INTEGER })).rejects.toThrow(
    `and 100 were issued already; give ${Number.MAX_SAFE_INTEGER - 100} or fewer`,
  )
})

test('an identity that has ended is given nothing', async () => {
  const erin = await registeredAgent(hub)
  erin.log = deactivate(erin.log, { seed: erin.nextSeed, ts: hub.clock.now() })
  expect((await callRoute(hub, 'pushKel', { aid: erin.aid, kel: erin.kel })).status).toBe(200)
  await expect(grant(hub, erin.aid, 5)).rejects.toThrow(`${erin.aid} has ended for good`)
})

test('of one that is blocked the credits stay its own, and the order says so', async () => {
  const carol = await registeredAgent(hub)
  await grant(hub, carol.aid, 10)
  const blocked = await order({ command: 'block', aid: carol.aid })
  expect(blocked['note']).toMatch(/its credits stay its own/)
  const taken = redemption(carol, 4, 'mine')
  expect((await ask(hub, 'x402Redeem', taken.request)).json['success']).toBe(true)
  expect((await ask(hub, 'x402Settle', payment(carol, alice, 1).request)).json['success']).toBe(true)
  const toCarol = await ask(hub, 'x402Settle', payment(alice, carol, 1).request)
  expect(toCarol.json).toMatchObject({ success: false, errorReason: 'invalid_payload' })
})
