/** A hub shows each account what it signed for its own debits: a node that lost its records reads there what it ordered. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseCid } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import { registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { ask, order, type Paid, payment, redemption } from '../testing/payments.ts'

let hub: TestHub
beforeAll(async () => {
  hub = await startTestHub({ limits: { trialCredits: 100 } })
})
afterAll(() => hub.close())

async function shown(agent: TestAgent, query = {}) {
  const { json } = await agent.call('authorizations', undefined, { params: { aid: agent.aid }, query })
  const entries = json['entries'] as Record<string, unknown>[]
  return { entries: entries.map(one => [one['transaction'], one['authorization']]), next: json['next'] }
}
const signed = ({ transaction, authorization }: Paid) => [
  transaction,
  toBase64url(Authorization.encode(authorization)),
]

test('what it signed for each of its debits, newest first, page by page, and nothing that others signed', async () => {
  const [carol, dave] = [await registeredAgent(hub), await registeredAgent(hub)]
  const paid = payment(carol, dave, 30)
  const held = payment(carol, dave, 20, { holdSeconds: 600 })
  const back = payment(dave, carol, 5, { refundOf: parseCid(paid.transaction) })
  for (const { request } of [paid, held, back]) await ask(hub, 'x402Settle', request)
  await ask(hub, 'x402Capture', order(dave, held, 15))
  const taken = redemption(carol, 1, 'x')
  await ask(hub, 'x402Redeem', taken.request)
  expect(await shown(carol)).toEqual({ entries: [taken, held, paid].map(signed), next: undefined })
  expect((await shown(dave)).entries).toEqual([signed(back)])
  const read: unknown[] = []
  for (let page = await shown(carol, { limit: '1' }); ; ) {
    read.push(...page.entries)
    if (page.next === undefined) break
    page = await shown(carol, { limit: '1', before: page.next })
  }
  expect(read).toEqual([taken, held, paid].map(signed))
})

test('nothing to anybody else', async () => {
  const [carol, dave] = [await registeredAgent(hub), await registeredAgent(hub)]
  const { json } = await dave.call('authorizations', undefined, { params: { aid: carol.aid } })
  expect(json['reason']).toBe('unauthorized')
})
