/** What the parts of this room share, put together from the bottom up. */
import type { Context } from '../context.ts'
import { AccountComparison } from './account.ts'
import { Alarms } from './alarms.ts'
import { LostHolds } from './lost-holds.ts'
import { LostEnds, LostOrders, ShownOrders } from './lost-orders.ts'
import { LostPayments, LostQuestions } from './lost-payments.ts'
import { LostRefunds } from './lost-refunds.ts'
import { PaymentNews } from './news.ts'
import { OwnRecords } from './own-records.ts'
import { PricedAnswers } from './priced-tasks.ts'
import { ProvenPayments } from './proven.ts'
import { Receipts } from './receipts.ts'
import { Redemptions } from './redemptions.ts'
import { RefundCalls } from './refund-calls.ts'
import { OwnRefunds, TakenRefunds } from './refunds.ts'
import { SeenHeads } from './seen-heads.ts'
import { PaymentSigner } from './signing.ts'
import { SilentPayments } from './silent-payments.ts'
import { UnsettledHolds } from './unsettled-holds.ts'

export type PaymentParts = ReturnType<typeof paymentParts>

export function paymentParts(ctx: Context) {
  const { identity, store, chain, threads, events, wakers, log, hubNow, random } = ctx
  const { payments, spending } = wakers
  const alarms = new Alarms(store, events, log)
  const news = new PaymentNews(store, threads, events)
  const records = new OwnRecords({ chain, store, identity })
  const heads = new SeenHeads({ store, chain, alarms }, hubNow)
  const receipts = new Receipts({ store, heads, own: identity.aid }, hubNow)
  const proven = new ProvenPayments({ store, threads, chain, news })
  const unsettled = new UnsettledHolds({ store, threads, receipts, proven, news }, hubNow, log)
  const lostHolds = new LostHolds({ store, threads, chain, receipts, events }, log)
  const signer = new PaymentSigner(identity, hubNow, random)
  const calls = new RefundCalls({ identity, chain, receipts, news }, log)
  const shown = new ShownOrders({ identity, store, events })
  const ends = new LostEnds({ store, receipts, events }, log)
  const refunds = new LostRefunds({ store, threads, calls }, log)
  const lostOrders = new LostOrders({ store, records, shown, ends, refunds }, hubNow)
  return {
    alarms,
    news,
    records,
    heads,
    receipts,
    proven,
    unsettled,
    lostHolds,
    signer,
    lostOrders,
    silent: new SilentPayments({ store, threads, spending }, hubNow),
    ownRefunds: new OwnRefunds({ store, threads, signer, records, calls, spending }, hubNow),
    takenRefunds: new TakenRefunds({ store, threads, calls }, hubNow, log),
    lost: new LostPayments(store, threads, hubNow),
    lostQuestions: new LostQuestions({ store, orders: lostOrders, spending }, hubNow),
    comparison: new AccountComparison({ store, records, lostHolds, lostOrders, payments }, hubNow),
    redemptions: new Redemptions(store, records, { random, hubNow }),
    answers: new PricedAnswers(ctx, ctx),
  }
}
