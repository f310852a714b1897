/** What a build that pays and is paid has. */
import { Payee } from './payee.ts'
import { Payer } from './payer.ts'

export const module: { readonly Payee: typeof Payee; readonly Payer: typeof Payer } | undefined = {
  Payee,
  Payer,
}
