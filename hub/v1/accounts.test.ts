/** Accounts over wire 1 (the earlier line, §4.6): of agents with open mail alone, whole, and read by anybody. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { networkOf } from '../../protocol/proof/payment.ts'
import { DAY_MS } from '../core/limits.ts'
import { startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { grant, payment, redemption } from '../testing/payments.ts'
import { expectReply, inBase64, OpenAgent, Wire1Client } from '../testing/wire1.ts'

let hub: TestHub
let client: Wire1Client
let alice: OpenAgent
let bob: OpenAgent
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
  alice = await client.registered({ name: 'alice' })
  bob = await client.registered({ name: 'bob' })
})
afterAll(() => hub.close())

const paths = ['balance', 'ledger', 'redemptions'] as const
const of = (aid: string, what: (typeof paths)[number], query = '') =>
  client.get(`/agents/${aid}/${what}${query}`)
const pay = (from: OpenAgent, to: OpenAgent, amount: number) =>
  client.post('/x402/settle', inBase64(payment(from, to, amount)))

describe('an account', () => {
  test('has a balance, on the network of its hub', async () => {
    const reply = await of(alice.aid, 'balance')
    expectReply('balance', reply)
    expect(reply.json).toEqual({
      ...{ aid: alice.aid, network: networkOf(hub.aid), balance: 100, held: 0 },
    })
  })

  test('has entries with their times as text, the newest first, with total and sum of all', async () => {
    const [payer, payee] = [await client.registered(), await client.registered()]
    await pay(payer, payee, 30)
    await pay(payee, payer, 5)
    const at = expect.stringMatching(/^20\d\d-.*Z$/)
    const reply = await of(payer.aid, 'ledger')
    expectReply('ledger', reply)
    expect(reply.json).toEqual({
      aid: payer.aid,
      entries: [
        { delta: 5, reason: 'received', at },
        { delta: -30, reason: 'paid', at },
        { delta: 100, reason: 'trial', at },
      ],
      ...{ returned: 3, total: 3, sum: 75, truncated: false, note: expect.any(String) },
    })
  })

  test('shows as many entries as are asked for up to 500, and 100 where that is out of range', async () => {
    const busy = await client.registered()
    for (let n = 0; n < 505; n++) await grant(hub, busy.aid, 1)
    const asked = async (query: string) => {
      const { json } = await of(busy.aid, 'ledger', query)
      const { returned, total, sum, truncated, entries } = json as Record<string, unknown[]>
      expect([total, sum, truncated, entries?.length]).toEqual([506, 605, true, returned])
      return returned
    }
    expect(await asked('?limit=2')).toBe(2)
    expect(await asked('?limit=500')).toBe(500)
    for (const query of ['', '?limit=0', '?limit=-1', '?limit=501', '?limit=x', '?limit=1.5', '?limit='])
      expect(await asked(query), query).toBe(100)
  })

  test('shows what is older than 14 days as well', async () => {
    const old = await client.registered()
    await client.post('/x402/redeem', inBase64(redemption(old, 1, 'long ago')))
    hub.clock.advance(15 * DAY_MS)
    expect((await of(old.aid, 'ledger')).json).toMatchObject({ returned: 2, total: 2, sum: 99 })
    expect((await of(old.aid, 'redemptions')).json['redemptions']).toMatchObject([{ reference: 'long ago' }])
  })

  test('shows its newest 100 redemptions', async () => {
    const redeeming = await client.registered()
    await grant(hub, redeeming.aid, 100)
    for (let n = 0; n < 103; n++)
      await client.post('/x402/redeem', inBase64(redemption(redeeming, 1, `invoice ${n}`)))
    const { redemptions } = (await of(redeeming.aid, 'redemptions')).json as Record<
      string,
      { reference: string }[]
    >
    expect(redemptions).toHaveLength(100)
    expect([redemptions?.[0]?.reference, redemptions?.[99]?.reference]).toEqual(['invoice 102', 'invoice 3'])
  })

  test('outlives the registration of its agent, which still pays', async () => {
    const leaving = await client.registered()
    await client.post(`/agents/${leaving.aid}/deregister`, leaving.sign('profile'))
    expect((await pay(leaving, bob, 10)).json['success']).toBe(true)
    expect((await of(leaving.aid, 'balance')).json['balance']).toBe(90)
    expect((await of(leaving.aid, 'ledger')).json['total']).toBe(2)
  })

  test.each(paths)('of nobody, of the hub, or of an agent with sealed mail has no %s here', async what => {
    const both = await startTestHub({ wires: [1, 3] })
    const sealed = new TestAgent(both)
    await both.running.order({ command: 'admit', aid: sealed.aid })
    await sealed.register()
    const other = new Wire1Client(both)
    for (const aid of [sealed.aid, new OpenAgent(client).aid, both.aid])
      expect((await other.get(`/agents/${aid}/${what}`)).status, aid).toBe(404)
    await both.close()
  })
})
