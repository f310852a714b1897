/** The contract of the store on vouchers. */
import { expect } from 'vitest'
import type { AccountName, Posting } from '../../store/ledger-port.ts'
import { bytes, NOW_MS, type Rule, rule } from './world.ts'

const agent = (name: string): AccountName => ({ kind: 'agent', name })
const idOf = (n: number) => bytes(36, n)
const voucher = (n: number) => ({ voucher: bytes(40, n), redeemAt: `https://provider.example/${n}` })

const payment = (n: number, amount: number, more: Partial<Posting> = {}): Posting => ({
  id: idOf(n),
  reason: 'payment',
  atMs: NOW_MS,
  amount,
  moves: [{ from: agent('payer'), to: agent('payee'), amount }],
  ...more,
})
const granted: Posting = {
  id: bytes(32, 1),
  reason: 'grant',
  atMs: NOW_MS,
  amount: 100,
  moves: [{ from: { kind: 'issue', name: '' }, to: agent('payer'), amount: 100 }],
}

export const voucherRules: readonly Rule[] = [
  rule('keeps a voucher with the payment that bought it, the first alone', async world => {
    await world.store.post(granted)
    const both = [1, 2].map(n => world.store.post(payment(2, 30, { voucher: voucher(n) })))
    expect((await Promise.all(both)).map(({ outcome }) => outcome)).toEqual(['posted', 'held'])
    await world.store.post(payment(3, 30))
    await world.store.post(payment(3, 30, { voucher: voucher(3) }))
    for (let time = 0; time < 2; time++) {
      expect(await world.store.voucher(idOf(2))).toEqual(voucher(1))
      expect(await world.store.voucher(idOf(3))).toBeUndefined()
      expect(await world.store.voucher(idOf(9))).toBeUndefined()
      await world.reopen()
    }
  }),

  rule('keeps none of a payment that is refused', async world => {
    await world.store.post(granted)
    const refused = await world.store.post(payment(2, 101, { voucher: voucher(1) }))
    expect(refused.outcome).toBe('insufficient')
    expect(await world.store.voucher(idOf(2))).toBeUndefined()
    await world.store.post(payment(2, 100, { voucher: voucher(2) }))
    expect(await world.store.voucher(idOf(2))).toEqual(voucher(2))
  }),

  rule('counts all entries of an account, and what they sum up to', async world => {
    await world.store.post(granted)
    for (const n of [2, 3]) await world.store.post(payment(n, 10))
    expect(await world.store.accountTotals('payer')).toEqual({ entries: 3, sum: 80 })
    expect(await world.store.accountTotals('payee')).toEqual({ entries: 2, sum: 20 })
    expect(await world.store.accountTotals('nobody')).toEqual({ entries: 0, sum: 0 })
  }),
]
