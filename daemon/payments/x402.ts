/** What a build that pays and is paid has. */
import { Audit } from './audit.ts'
import { Payee } from './payee.ts'
import { Payer } from './payer.ts'
import { Wallet } from './wallet.ts'

type Payments = {
  readonly Payee: typeof Payee
  readonly Payer: typeof Payer
  readonly Wallet: typeof Wallet
  readonly Audit: typeof Audit
}

export const module: Payments | undefined = { Payee, Payer, Wallet, Audit }
