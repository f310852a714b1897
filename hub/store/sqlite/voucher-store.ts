/** Vouchers in the database, each in the row of its transfer. */
import type { KeptVoucher, VoucherStore } from '../voucher-port.ts'
import type { Database } from './database.ts'

export const voucherQueries = {
  voucher:
    'SELECT v.bytes, v.redeem_at FROM ledger_voucher AS v JOIN ledger_transfer AS t ON t.seq = v.transfer WHERE t.id = ?',
} as const

/** Keeps one with its transfer; runs inside the transaction that posts it. */
export function keepVoucher(db: Database, transfer: number, { voucher, redeemAt }: KeptVoucher): void {
  const sql = 'INSERT INTO ledger_voucher (transfer, bytes, redeem_at) VALUES (?, ?, ?)'
  db.run(sql, transfer, voucher, redeemAt)
}

export function vouchersOver(reader: Database): VoucherStore {
  return {
    async voucher(transaction) {
      const row = reader.one<{ bytes: Uint8Array; redeem_at: string }>(voucherQueries.voucher, transaction)
      return row && { voucher: row.bytes, redeemAt: row.redeem_at }
    },
  }
}
