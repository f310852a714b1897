import { describe, expect, test } from 'vitest'
import { fromHex } from '../encoding/bytes.ts'
import { decodeKel, rotate, verifyKel } from '../identity/kel.ts'
import { agent, fixture, NOW_MS } from '../testing/agents.ts'
import { Authorization, networkOf, SettlementReceipt, settlementKinds, transactionOf } from './payment.ts'
import { settlementFault } from './settlement.ts'

const hub = agent('hub')
const payer = agent('payer')
const payee = agent('payee')
const other = agent('other')
const authorization = Authorization.sign(payer.identitySeed, {
  v: 1,
  payer: payer.aid,
  payerKelSeq: 0,
  payTo: payee.aid,
  amount: 5,
  network: networkOf(hub.aid),
  nonce: new Uint8Array(16),
  notBefore: NOW_MS,
  notAfter: NOW_MS + 1000,
  holdUntil: NOW_MS + 2000,
})
const body = {
  v: 1 as const,
  transaction: transactionOf(authorization),
  kind: settlementKinds.held,
  payer: payer.aid,
  payee: payee.aid,
  amount: 5,
  network: networkOf(hub.aid),
  settledAt: NOW_MS,
  hub: hub.aid,
  hubKelSeq: 0,
  supplyHead: [0, transactionOf(authorization)] as [number, Uint8Array],
  holdUntil: NOW_MS + 2000,
}
const all = Object.values(settlementKinds)
const faultOf = (
  change: Partial<Parameters<typeof SettlementReceipt.sign>[1]>,
  kinds = all,
  seed = hub.identitySeed,
) =>
  settlementFault(SettlementReceipt.sign(seed, { ...body, ...change }), {
    authorization,
    hub: hub.log,
    kinds,
  })

const { refused } = fixture<{
  receipts: {
    refused: {
      kel: string
      authorization: string
      cases: { reason: string; fault: string | null; receipt: string }[]
    }
  }
}>('payment/settlements.json').receipts

describe("a hub's settlement receipt", () => {
  test.each(refused.cases)('as recorded, $reason: $fault', ({ receipt, fault }) => {
    const found = settlementFault(SettlementReceipt.decode(fromHex(receipt)), {
      authorization: Authorization.decode(fromHex(refused.authorization)),
      hub: verifyKel(decodeKel(fromHex(refused.kel))),
      kinds: [0, 1, 2, 3],
    })
    expect(found ?? null).toBe(fault)
  })

  test('proves its payment, a part of it captured, and a part given back', () => {
    expect(faultOf({})).toBeUndefined()
    expect(faultOf({ kind: settlementKinds.captured, amount: 3 })).toBeUndefined()
    expect(faultOf({ kind: settlementKinds.returned, amount: 5 })).toBeUndefined()
  })

  test('of a key that is retired since proves what was settled before and asked for in time', () => {
    const later = rotate(hub.log, { seed: hub.nextSeed, nextSeed: new Uint8Array(32).fill(9), ts: NOW_MS })
    const under = (settledAt: number, askedBefore?: (seq: number) => boolean) =>
      settlementFault(SettlementReceipt.sign(hub.identitySeed, { ...body, settledAt }), {
        authorization,
        hub: later,
        kinds: all,
        ...(askedBefore && { askedBefore }),
      })
    const grace = NOW_MS + 5 * 60_000
    expect(under(grace - 1, seq => seq === 1)).toBeUndefined()
    expect(under(grace, () => true)).toBe('key_state')
    expect(under(NOW_MS, () => false)).toBe('key_state')
    expect(under(NOW_MS)).toBe('key_state')
  })

  test.each([
    ['of another hub', 'hub', { hub: other.aid }],
    ['that another hub owes', 'hub', { peer: other.aid }],
    ['under a key state that the hub does not have', 'key_state', { hubKelSeq: 1 }],
    ['of another payment', 'payment', { transaction: transactionOf({ bodyBytes: new Uint8Array(3) }) }],
    ['of another payer', 'parties', { payer: other.aid }],
    ['of another payee', 'parties', { payee: other.aid }],
    ['in other credits', 'network', { network: networkOf(other.aid) }],
    ['of another amount', 'amount', { amount: 4 }],
    ['that captures more than was held', 'amount', { kind: settlementKinds.captured, amount: 6 }],
    ['of another hold', 'hold', { holdUntil: NOW_MS + 1000 }],
    ['of a redemption', 'kind', { kind: settlementKinds.redeemed }],
  ] as const)('%s is told apart: %s', (_, fault, change) => {
    expect(faultOf(change, [0, 1, 2, 3])).toBe(fault)
  })

  test('that somebody else signed is told apart', () => {
    expect(faultOf({}, all, other.identitySeed)).toBe('signature')
  })
})
