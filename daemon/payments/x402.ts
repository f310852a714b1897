/** What a build that pays and is paid has, put together. */
import type { Context } from '../context.ts'
import { type Accounts, homeOnly } from './accounts.ts'
import { Audit } from './audit.ts'
import { HoldCalls } from './hold-calls.ts'
import { HoldProblems } from './hold-problems.ts'
import { HoldResults } from './hold-results.ts'
import { Holds } from './holds.ts'
import { type KnownAccounts, LeftHubs } from './left-hubs.ts'
import { HoldOrders } from './orders.ts'
import { paymentParts } from './parts.ts'
import { Payee } from './payee.ts'
import { type Commit, Payer } from './payer.ts'
import { PublishedCredits } from './published-credits.ts'
import { Reconciling } from './reconciling.ts'
import { Redeeming } from './redeeming.ts'
import { Wallet } from './wallet.ts'

function holdsOf(ctx: Context, accounts: Accounts) {
  const { identity, store, chain, threads, hub, timings, log, hubNow } = ctx
  const { answers, news, receipts, lostHolds: lost } = paymentParts(ctx)
  const problems = new HoldProblems({ identity, hub, store, answers, news }, timings, hubNow)
  const calls = new HoldCalls({ hub, accounts, problems }, log)
  const results = new HoldResults({ store, threads, chain, answers })
  const orders = new HoldOrders(identity, store, hubNow)
  return { orders, holds: new Holds({ calls, orders, problems, results, receipts, lost }, hubNow, log) }
}

function openPayee(ctx: Context, accounts: Accounts): Payee {
  const { identity, hub, store, threads, timings, hubNow, wakers } = ctx
  const { orders, holds } = holdsOf(ctx, accounts)
  const pace = { machine: ctx, timings, hubNow, waker: wakers.payments }
  return new Payee({ identity, hub, store, threads, orders, holds }, pace)
}

function openWallet(ctx: Context, accounts: Accounts): Wallet {
  const { identity, store, threads, hubNow, log } = ctx
  const { signer, records, receipts, silent, unsettled } = paymentParts(ctx)
  const { holds } = holdsOf(ctx, accounts)
  const redeeming = new Redeeming({ identity, store, signer, records, receipts }, hubNow, log)
  const reconciling = new Reconciling({ store, threads, silent, unsettled, holds })
  return new Wallet({ store, signer, records, redeeming, reconciling })
}

function openAudit(ctx: Context, accounts: KnownAccounts): Audit {
  const { identity, store, settings, hub, timings, hubNow, wakers } = ctx
  const { comparison, heads, alarms } = paymentParts(ctx)
  const reading = { identity, store, settings, comparison, heads, alarms }
  const published = new PublishedCredits(reading, hubNow)
  const left = new LeftHubs({ store, hub, accounts, comparison, alarms }, hubNow)
  const pace = { machine: ctx, timings, hubNow, waker: wakers.audits }
  return new Audit({ identity, hub, published, left }, pace)
}

export const payeeOf = (ctx: Context, accounts: Accounts = homeOnly(ctx.hub)): Payee =>
  openPayee(ctx, accounts)

export const payerOf = (ctx: Context, commit: Commit, accounts: Accounts = homeOnly(ctx.hub)): Payer =>
  new Payer(ctx, paymentParts(ctx), { commit, accounts })

export const walletOf = (ctx: Context, accounts: Accounts = homeOnly(ctx.hub)): Wallet =>
  openWallet(ctx, accounts)

export const auditOf = (
  ctx: Context,
  accounts: KnownAccounts = { ...homeOnly(ctx.hub), accounts: () => [] },
): Audit => openAudit(ctx, accounts)

type Payments = {
  payeeOf: typeof payeeOf
  payerOf: typeof payerOf
  walletOf: typeof walletOf
  auditOf: typeof auditOf
}

export const module: Payments | undefined = { payeeOf, payerOf, walletOf, auditOf }
