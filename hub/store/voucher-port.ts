/** Vouchers: what a payment bought, kept with it in the same transaction. */

/** `redeemAt`: where its provider took vouchers when it was sold. */
export type KeptVoucher = { voucher: Uint8Array; redeemAt: string }

export interface VoucherStore {
  /** The one that was posted with a payment. */
  voucher(transaction: Uint8Array): Promise<KeptVoucher | undefined>
}
