/** Puts together how messages come and go, from the bottom up. */
import type { Context } from '../context.ts'
import { taskParts } from '../tasks/open.ts'
import { Attempts } from './attempts.ts'
import { Claims } from './claims.ts'
import { Confirming } from './confirming.ts'
import { Fates } from './fates.ts'
import { GivenBack } from './given-back.ts'
import { OwnHeads, ReturnedHeads } from './heads.ts'
import { Holding } from './holding.ts'
import { LooseMail } from './loose-mail.ts'
import { LostTasks } from './lost-tasks.ts'
import { NewTasks } from './new-tasks.ts'
import { AskedNumbers } from './numbers.ts'
import { Outbox } from './outbox.ts'
import { Receiving } from './receive.ts'
import { Relay } from './relay.ts'
import { BelievedNumbers, GoingOn, LostWords, Renumbering } from './renumbering.ts'
import { Resending } from './resending.ts'
import { RetiredWords } from './retired.ts'
import { Settling } from './settling.ts'
import { StatusQueries } from './status-queries.ts'
import { MailTaker } from './taking.ts'
import { NumberRules, TakenMail, TaskMail, TaskOfMail } from './task-mail.ts'
import { TakenEnds, TakenLeave, TakenReceipts, TakenWords, TaskSteps } from './task-steps.ts'
import { NumberAnswers, ToldNumbers } from './told-numbers.ts'
import { WaitingMail } from './waiting-mail.ts'

export type MailParts = ReturnType<typeof mailParts>

/** Messages on their way out, and what is asked and told about them. */
export function mailParts(ctx: Context) {
  const { identity, store, threads, contacts, hub, carriers, wakers, now } = ctx
  const { transfers, events, timings } = ctx
  const { deliveries, news } = taskParts(ctx)
  const settling = new Settling({ store, threads, capabilities: ctx.capabilities, hub, news }, now)
  const pace = { hubNow: ctx.hubNow, backoffFirstMs: timings.backoffFirstMs }
  const resending = new Resending({ store, settling }, ctx, pace)
  const fates = new Fates({ store, threads, deliveries, settling, resending, outbox: wakers.outbox })
  const heads = new ReturnedHeads({ store, threads, contacts, hub }, now)
  const ownHeads = new OwnHeads({ store, identity, chain: ctx.chain, contacts, hub, log: ctx.log })
  const looking = { hub, store, carriers, heads: ownHeads }
  // the hub is there again: mail is fetched at once, not after the pause of its failures
  const taken = () => hub.state.state === 'offline' && wakers.relay.wake()
  return {
    settling,
    queries: new StatusQueries({ store, carriers, fates, settling }, ctx),
    attempts: new Attempts(
      { store, threads, deliveries, fates, carriers, settling, resending, heads },
      ctx,
      taken,
    ),
    holding: new Holding({ store, threads, transfers, outbox: wakers.outbox, events }, now),
    asked: new AskedNumbers({ identity, store, threads, contacts, rounds: wakers.rounds }, now),
    waiting: new WaitingMail(looking, ctx.timers, timings.pollSettledMs),
    heads,
    ownHeads,
  }
}

/** Who judges and keeps what comes. */
export function receivingOf(ctx: Context): Receiving {
  const { identity, store, threads, contacts, peers, attachments, wakers, topUps, now } = ctx
  const tasks = taskParts(ctx)
  const { asked, heads, ownHeads } = mailParts(ctx)
  const { news, admissions, deliveries, endings, judge, heldReceipts, counterSignatures } = tasks
  const claims = new Claims(store, contacts)
  const lostTasks = new LostTasks({ store, threads, contacts, news }, now)
  const givenBack = new GivenBack({ store, threads, counterSigner: tasks.counterSigner }, now)
  const renumbering = new Renumbering({
    threads,
    deliveries,
    believed: new BelievedNumbers(store, claims),
    lostWords: new LostWords(identity, store, ctx),
    goingOn: new GoingOn({ store, threads, endings, heldReceipts, wakers, news }),
  })
  const answers = new NumberAnswers(store, threads, givenBack)
  const told = { store, threads, asked, answers, lostTasks, renumbering }
  const numbers = new ToldNumbers(told, wakers.spending)
  const confirming = new Confirming({ store, threads, claims, deliveries, asked, told: numbers })
  const steps = new TaskSteps({
    threads,
    words: new TakenWords(threads, tasks.told),
    ends: new TakenEnds(confirming, endings),
    receipts: new TakenReceipts(judge, heldReceipts),
    counterSignatures,
    leave: new TakenLeave({ store, threads, attachments, wakers }),
  })
  const ofTasks = new TaskMail({
    tasks: new TaskOfMail(identity, threads, { claims, lostTasks }),
    rules: new NumberRules({ store, threads, admissions }, now),
    taken: new TakenMail({ threads, peers, confirming, steps, heldReceipts, news }),
    newTasks: new NewTasks({ store, threads, peers, admissions, dispatch: tasks.dispatch, news }),
  })
  const loose = new LooseMail({ store, contacts, peers, ownHeads, numbers, hubNow: ctx.hubNow })
  return new Receiving({ store, contacts, loose, ofTasks, heads, topUps })
}

export function openOutbox(ctx: Context): Outbox {
  const { hub, store, peers, events, wakers, timings } = ctx
  const { attempts, queries } = mailParts(ctx)
  const parts = { hub, store, peers, events, attempts, queries, waker: wakers.outbox }
  return new Outbox(parts, ctx, timings.backoffFirstMs)
}

/** Who takes what comes, whatever brought it. */
export function takerOf(ctx: Context): MailTaker {
  const { store, contacts, threads, events, peers, attachments } = ctx
  const retired = new RetiredWords({ store, contacts, threads, events }, ctx.now)
  return new MailTaker({ store, peers, attachments, receiving: receivingOf(ctx), retired })
}

export function openRelay(ctx: Context): Relay {
  const { hub, identity, store, carriers, wakers } = ctx
  return new Relay({ hub, identity, store, carriers, taker: takerOf(ctx), wakers }, ctx, ctx.timings)
}
