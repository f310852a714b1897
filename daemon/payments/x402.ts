/** What a build that pays and is paid has, put together. */
import type { Context } from '../context.ts'
import { type Accounts, homeOnly } from './accounts.ts'
import { Audit } from './audit.ts'
import { HoldCalls } from './hold-calls.ts'
import { HoldProblems } from './hold-problems.ts'
import { HoldResults } from './hold-results.ts'
import { Holds } from './holds.ts'
import { HomeQuestions, HubQuestions } from './hub-questions.ts'
import { JudgedPrices } from './judged-prices.ts'
import { JudgedReceipts } from './judged-receipts.ts'
import { type KnownAccounts, LeftHubs } from './left-hubs.ts'
import { maySign } from './may-sign.ts'
import { Moving } from './moving.ts'
import { OrderedPrices } from './ordered-prices.ts'
import { HoldOrders } from './orders.ts'
import { OtherHub } from './other-hub.ts'
import { OwnCredits } from './own-credits.ts'
import { paymentParts } from './parts.ts'
import { Payee } from './payee.ts'
import { Payer } from './payer.ts'
import { PublishedCredits } from './published-credits.ts'
import { Reconciling } from './reconciling.ts'
import { Redeeming } from './redeeming.ts'
import { SpendingRules } from './rules.ts'
import { type Commit, TaskPayments } from './task-payments.ts'
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

function openPayer(ctx: Context, commit: Commit, accounts: Accounts): Payer {
  const { identity, hub, peers, store, threads, settings, timings, hubNow, wakers, random, log } = ctx
  const { signer, records, lost, news, proven, receipts, lostQuestions, ...asking } = paymentParts(ctx)
  const { ownRefunds, takenRefunds, silent, unsettled } = asking
  const credits = new OwnCredits(store, hub)
  const otherHub = new OtherHub(hub, peers)
  const payments = new TaskPayments({ store, threads, signer, records, otherHub, commit, random })
  const rules = new SpendingRules({ store, settings, credits, lost, otherHub }, hubNow)
  const parts = {
    ordered: new OrderedPrices({ store, credits, lost, payments }),
    prices: new JudgedPrices({ store, threads, rules, payments, news }),
    receipts: new JudgedReceipts({ store, accounts, receipts, proven, news }, log),
    hubs: new HubQuestions({ store, accounts, ownRefunds, takenRefunds, silent, unsettled }),
    home: new HomeQuestions({ store, hub, lost: lostQuestions }, hubNow),
    maySign: () => maySign(identity, hub),
  }
  return new Payer(parts, { machine: ctx, timings, hubNow, waker: wakers.spending })
}

function openWallet(ctx: Context, accounts: Accounts): Wallet {
  const { identity, store, threads, hubNow, log } = ctx
  const { signer, records, receipts, silent, unsettled } = paymentParts(ctx)
  const { holds } = holdsOf(ctx, accounts)
  const redeeming = new Redeeming({ identity, store, signer, records, receipts }, hubNow, log)
  const moving = new Moving({ identity, store, signer, records, receipts, accounts }, hubNow, log)
  const reconciling = new Reconciling({ store, threads, silent, unsettled, holds })
  return new Wallet({ store, signer, records, redeeming, moving, reconciling })
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
  openPayer(ctx, commit, accounts)

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
