import { expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import type { VoucherBody } from '../../protocol/proof/voucher.ts'
import type { Chain } from '../chain/chain.ts'
import { REDEEMED, REPLAYED_MAX, SpentVouchers } from './spent.ts'

const voucher = (n: number): Pick<VoucherBody, 'id' | 'transaction'> => {
  const id = new Uint8Array(16)
  new DataView(id.buffer).setUint32(0, n)
  return { id, transaction: contentId(id) }
}
const store = { afterCommit: (task: () => void) => task() }

/** A chain in which so many vouchers stand, numbered from 1, as it is read page by page from its end. */
function chainOf(count: number) {
  const reads: number[] = []
  const read = ({ limit = 0, before = count + 1 }: { limit?: number; before?: number }) => {
    reads.push(before)
    const first = Math.max(1, before - limit)
    return Array.from({ length: before - first }, (_, at) => {
      const { id, transaction } = voucher(first + at)
      return { seq: first + at, payload: { voucher_id: toBase64url(id), auth_id: cidText(transaction) } }
    })
  }
  const appended: unknown[] = []
  const append = (type: string, payload: unknown) => appended.push([type, payload])
  return { chain: { read, append } as unknown as Chain, reads, appended }
}

test('the newest 100,000 that the chain has are spent after a start, by id and by payment', () => {
  const { chain } = chainOf(REPLAYED_MAX + 2000)
  const spent = new SpentVouchers(chain, store)
  const has = (n: number) => spent.has(voucher(n) as VoucherBody)
  expect([has(REPLAYED_MAX + 2000), has(2001)]).toEqual([true, true])
  expect([has(2000), has(1)]).toEqual([false, false])
  const other = { ...voucher(7), transaction: voucher(REPLAYED_MAX).transaction }
  expect(spent.has(other as VoucherBody)).toBe(true)
})

test('a chain with few is read to its first, and one that is taken is spent from then on', () => {
  const { chain, reads, appended } = chainOf(1500)
  const spent = new SpentVouchers(chain, store)
  expect([reads.length, spent.has(voucher(1) as VoucherBody)]).toEqual([2, true])
  const taken = { ...voucher(1501), payer: 'p', capability: 'c', amount: 1, network: 'hub:x' } as VoucherBody
  expect(spent.has(taken)).toBe(false)
  spent.take(taken)
  expect([spent.has(taken), appended]).toEqual([true, [[REDEEMED, expect.objectContaining({ payer: 'p' })]]])
})
