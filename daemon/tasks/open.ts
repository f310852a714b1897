/** Puts together what an interaction may do, from the bottom up. */
import type { Context } from '../context.ts'
import { OtherHub } from '../payments/other-hub.ts'
import type { Payee } from '../payments/payee.ts'
import { PricedAnswers } from '../payments/priced-tasks.ts'
import { TakenNetworks } from '../payments/taken-networks.ts'
import { StrangersStock } from '../peers/stock.ts'
import { AgentGuard } from './agent-guard.ts'
import { AgentRecords } from './agent-records.ts'
import { AnsweringPort } from './answering-port.ts'
import { Approval } from './approval.ts'
import { AutoAnswers } from './auto-answers.ts'
import { AutoReply } from './auto-reply.ts'
import { AutoReplyRuns } from './auto-reply-runs.ts'
import { BackendRequests, UnansweredThreads } from './auto-reply-threads.ts'
import { Backends, type Env } from './backends.ts'
import { Batches } from './batches.ts'
import { CallPayments } from './call-payments.ts'
import { CallResults } from './call-results.ts'
import { CallWork, type Serving } from './call-work.ts'
import { Calls } from './calls.ts'
import { Contradictions } from './contradictions.ts'
import { CounterSignatures } from './counter-signatures.ts'
import { CounterSigner } from './counter-signer.ts'
import { Deadlines } from './deadlines.ts'
import { CommittedTasks, Delegation, SentWords } from './delegation.ts'
import { Deliveries } from './delivery.ts'
import { Dispatch, Effects } from './dispatch.ts'
import { Endings } from './endings.ts'
import { Leaving } from './leaving.ts'
import { LocalCalls } from './local-calls.ts'
import { TaskNews } from './news.ts'
import { NodeSecrets } from './node-secrets.ts'
import { Once } from './once.ts'
import { OrderedEnds } from './ordered-ends.ts'
import { OwnQuestions } from './own-questions.ts'
import { Admissions } from './policies.ts'
import { ToldPayments } from './quotes.ts'
import { Ratings } from './ratings.ts'
import { ReceiptJudge } from './receipt-judge.ts'
import { OwnReceipts } from './receipt-provider.ts'
import { ReceiptRecords } from './receipt-records.ts'
import { HeldReceipts } from './receipt-requester.ts'
import { Redelegation } from './redelegation.ts'
import { ReviewUploads } from './reviews.ts'
import { SilentVisits } from './silent-visits.ts'
import { UnsentPayments } from './unsent-payments.ts'
import { FreshVerdicts, Verdicts } from './verify.ts'

export type TaskParts = ReturnType<typeof taskParts>

/** What is said, ended and signed in an interaction. */
export function taskParts(ctx: Context) {
  const { identity, store, chain, threads, contacts, settings, attachments, hub, wakers, now, random } = ctx
  const { peers, capabilities, hubNow } = ctx
  const news = new TaskNews(store, ctx.events)
  const answers = new PricedAnswers(ctx, ctx)
  const stock = new StrangersStock(contacts, store, capabilities)
  const receipts = receiptParts(ctx, news)
  const { ownReceipts, heldReceipts, ratings } = receipts
  const endings = new Endings({ store, threads, news, ownReceipts, heldReceipts }, hubNow)
  const effects = new Effects(chain, threads, endings)
  const dispatch = new Dispatch({
    settings,
    modules: ctx.modules,
    store,
    threads,
    effects,
    calls: wakers.calls,
  })
  const batches = new Batches(hub, peers, capabilities)
  const once = new Once(store, now)
  const committed = new CommittedTasks({ identity, hub, chain, threads, batches }, random)
  const verdicts = new Verdicts({ identity, store, peers, threads, hub })
  return {
    ...receipts,
    news,
    answers,
    endings,
    orderedEnds: new OrderedEnds({ store, answers, endings, ratings }),
    approval: new Approval({ store, threads, news, topUps: ctx.topUps, calls: wakers.calls }),
    leaving: new Leaving({ store, threads, attachments, stock, wakers, news }),
    effects,
    dispatch,
    localCalls: new LocalCalls({ identity, threads, dispatch, news }, random),
    committed,
    delegation: new Delegation({ identity, contacts, attachments, store, committed, once }),
    words: new SentWords({ threads, attachments, answers, batches, once }),
    redelegation: new Redelegation({
      store,
      threads,
      attachments,
      commit: task => committed.commit(task),
      news,
    }),
    admissions: new Admissions({ store, contacts, settings, hub }, now),
    deadlines: new Deadlines({ store, threads, chain, hub, news }, now),
    silentVisits: new SilentVisits({ store, threads, hub, endings }, now),
    told: new ToldPayments(store, identity, wakers.spending),
    unsentPayments: new UnsentPayments({ identity, store, chain, threads }),
    verdicts,
    freshVerdicts: new FreshVerdicts(verdicts, ctx.carriers, ctx.timers),
  }
}

/** Receipts, from both sides. */
function receiptParts(ctx: Context, news: TaskNews) {
  const { identity, store, chain, peers, threads, wakers, now } = ctx
  const deliveries = new Deliveries(store, threads, news)
  const records = new ReceiptRecords(store, chain, now)
  const ratings = new Ratings(store, wakers.reviews, now)
  const judge = new ReceiptJudge({ store, peers, threads }, ctx)
  const counterSigner = new CounterSigner(identity, chain, threads)
  const contradictions = new Contradictions({ threads, chain, judge }, ctx.log)
  const held = { threads, judge, contradictions, signer: counterSigner, records, ratings }
  return {
    deliveries,
    ratings,
    judge,
    counterSigner,
    ownReceipts: new OwnReceipts({ identity, store, chain, threads, records, hub: ctx.hub }, ctx),
    heldReceipts: new HeldReceipts(held),
    counterSignatures: new CounterSignatures({ identity, store, peers, threads, records, deliveries }),
  }
}

/** What runs calls; without a payee nothing is paid for. */
export function openCalls(ctx: Context, modules: Serving, payee: Payee | undefined): Calls {
  const { identity, hub, peers, store, threads, wakers, timings } = ctx
  const { effects, endings, news } = taskParts(ctx)
  const otherHub = new OtherHub(hub, peers)
  const taken = new TakenNetworks({ hub, otherHub, machine: ctx }, ctx.now)
  const payments = new CallPayments({ identity, hub, store, threads, modules, taken, payee })
  const work = new CallWork({ store, threads, modules })
  const results = new CallResults({ store, threads, effects, endings, news })
  const mayRun = () => hub.oldCopy === undefined && !identity.log.deactivated
  const pace = { machine: ctx, waker: wakers.calls, restFirstMs: timings.backoffFirstMs, mayRun }
  return new Calls({ store, modules, payments, work, results }, pace)
}

export function openReviewUploads(ctx: Context): ReviewUploads {
  const { identity, store, peers, threads, hub, wakers, timings } = ctx
  const parts = { identity, store, peers, threads, hub, waker: wakers.reviews }
  return new ReviewUploads(parts, ctx, timings.backoffFirstMs)
}

/** `tokens`: those of the local interfaces. */
export function openAutoReply(ctx: Context, env: Env, tokens: () => readonly string[]): AutoReply {
  const { dir, identity, keys, store, chain, threads, contacts, attachments, capabilities } = ctx
  const { settings, hub, events, random } = ctx
  const { answers, endings } = taskParts(ctx)
  const backends = new Backends(dir, env, random)
  const records = new AgentRecords(chain, hub)
  const trials = async () => {
    const { AgentTrials } = await import('./agent-trials.ts')
    return new AgentTrials({ dir, records, random }, env)
  }
  const guard = new AgentGuard(trials, records)
  const secrets = new NodeSecrets({ identity, keys, capabilities, settings, env, tokens })
  const questions = new OwnQuestions({ identity, backends, secrets }, ctx)
  const requests = new BackendRequests({ store, threads, contacts, attachments, settings })
  const given = { store, threads, attachments, requests, answers, endings }
  const auto = new AutoAnswers(given, events, ctx.hubNow)
  const waiting = new UnansweredThreads({ identity, hub, settings, store })
  const runs = new AutoReplyRuns(store)
  const port = new AnsweringPort({ store, waiting, answers: auto, runs, secrets, events }, ctx)
  const parts = { settings, events, backends, guard, questions, port }
  return new AutoReply(parts, ctx, ctx.timings.backoffFirstMs)
}
