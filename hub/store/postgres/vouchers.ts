/** Vouchers in PostgreSQL, each in the row of its transfer. */
import type { KeptVoucher, VoucherStore } from '../voucher-port.ts'
import type { Queries } from './connections.ts'

export const voucherQueries = {
  voucher:
    'SELECT v.bytes AS voucher, v.redeem_at AS "redeemAt" FROM ledger_voucher AS v' +
    ' JOIN ledger_transfer AS t ON t.seq = v.transfer WHERE t.id = $1',
} as const

/** Keeps them with their transfers; runs inside the transaction that posts these. */
export async function keepVouchers(
  db: Queries,
  vouchers: readonly (KeptVoucher & { transfer: number })[],
): Promise<void> {
  await db.run(
    'INSERT INTO ledger_voucher (transfer, bytes, redeem_at)' +
      ' SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[])',
    vouchers.map(({ transfer }) => transfer),
    vouchers.map(({ voucher }) => voucher),
    vouchers.map(({ redeemAt }) => redeemAt),
  )
}

export const vouchersOver = (reader: Queries): VoucherStore => ({
  voucher: transaction => reader.one<KeptVoucher>(voucherQueries.voucher, transaction),
})
