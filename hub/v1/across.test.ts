/** Payments over wire 1 in the credits of a peer, at a hub that speaks wire 3 as well. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fromBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { registeredAgent, startTestHub, type TestHub } from '../testing/hub.ts'
import { balanceOf, grant, payment } from '../testing/payments.ts'
import { inBase64, Wire1Client } from '../testing/wire1.ts'

let payers: TestHub
let payees: TestHub
let client: Wire1Client
beforeAll(async () => {
  payers = await startTestHub({ limits: { trialCredits: 0 } })
  payees = await startTestHub({ wires: [1, 3], limits: { trialCredits: 0 } })
  client = new Wire1Client(payees)
  for (const [at, other] of [
    [payers, payees],
    [payees, payers],
  ] as const) {
    const kel = toBase64url(encodeKel(other.running.hub.context.identity.kel.events))
    await at.running.order({ command: 'peers', add: { url: other.url, kel } })
    await at.running.order({ command: 'peers', limit: { aid: other.aid, credits: 50 } })
  }
})
afterAll(async () => {
  await payers.close()
  await payees.close()
})

test('a hub of both lines names the networks of its peers, and settles in their credits', async () => {
  const kinds = (await client.get('/x402/supported')).json['kinds']
  expect(kinds).toMatchObject([payees, payers].map(({ aid }) => ({ network: networkOf(aid) })))
  const alice = await registeredAgent(payers)
  const bob = await client.registered()
  await grant(payers, alice.aid, 100)
  const paid = payment(alice, bob, 30)
  const checked = await client.post('/x402/verify', inBase64(paid))
  expect(checked.json).toEqual({ isValid: true, payer: alice.aid })
  const { status, json } = await client.post('/x402/settle', inBase64(paid))
  expect([status, json]).toMatchObject([200, { success: true, network: networkOf(payers.aid) }])
  const extensions = json['extensions'] as Record<string, string>
  const [own, other] = ['svc.settlement.receipt', 'svc.peer.receipt'].map(
    name => SettlementReceipt.decode(fromBase64(extensions[name] ?? '')).body,
  )
  expect([own?.hub, own?.peer, other?.hub, other?.peer]).toEqual([
    ...[payees.aid, payers.aid],
    ...[payers.aid, payees.aid],
  ])
  expect((await balanceOf(alice)).balance).toBe(70)
  expect((await client.get(`/agents/${bob.aid}/balance`)).json['balance']).toBe(30)
})

test('a peer that would owe too much is another network to this line', async () => {
  const alice = await registeredAgent(payers)
  const bob = await client.registered()
  await grant(payers, alice.aid, 100)
  const { status, json } = await client.post('/x402/settle', inBase64(payment(alice, bob, 51)))
  expect([status, json['errorReason']]).toEqual([200, 'network_mismatch'])
})
