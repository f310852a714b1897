/** What a build that pays and is paid has, put together. */
import type { Context } from '../context.ts'
import { type Accounts, homeOnly } from './accounts.ts'
import { Audit, type KnownAccounts } from './audit.ts'
import { paymentParts } from './parts.ts'
import { Payee } from './payee.ts'
import { type Commit, Payer } from './payer.ts'
import { Wallet } from './wallet.ts'

export const payeeOf = (ctx: Context, accounts: Accounts = homeOnly(ctx.hub)): Payee =>
  new Payee(ctx, paymentParts(ctx), accounts)

export const payerOf = (ctx: Context, commit: Commit, accounts: Accounts = homeOnly(ctx.hub)): Payer =>
  new Payer(ctx, paymentParts(ctx), { commit, accounts })

export const walletOf = (ctx: Context, accounts: Accounts = homeOnly(ctx.hub)): Wallet =>
  new Wallet(ctx, paymentParts(ctx), accounts)

export const auditOf = (
  ctx: Context,
  accounts: KnownAccounts = { ...homeOnly(ctx.hub), accounts: () => [] },
): Audit => new Audit(ctx, paymentParts(ctx), accounts)

type Payments = {
  payeeOf: typeof payeeOf
  payerOf: typeof payerOf
  walletOf: typeof walletOf
  auditOf: typeof auditOf
}

export const module: Payments | undefined = { payeeOf, payerOf, walletOf, auditOf }
