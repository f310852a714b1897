/** What a person orders about tasks and credits: the rules of those rooms, bound to the parts of this node. */
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { mailParts } from '../mail/open.ts'
import { type PaymentParts, paymentParts } from '../payments/parts.ts'
import { openAt } from '../payments/redemptions.ts'
import { paymentOf } from '../store/payments.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { maySend, say } from '../tasks/conversation.ts'
import type { DelegateRequest, GivenWords } from '../tasks/delegation.ts'
import { refundMessage } from '../tasks/messages.ts'
import { taskParts } from '../tasks/open.ts'
import type { Ending } from '../tasks/ordered-ends.ts'
import type { Rating } from '../tasks/ratings.ts'
import { keepReview, type ReviewUploads } from '../tasks/reviews.ts'

export type TaskRules = ReturnType<typeof taskRules>

export function taskRules(ctx: Context) {
  const { store, threads } = ctx
  const tasks = taskParts(ctx)
  const { delegation, redelegation, words, orderedEnds, approval, leaving } = tasks
  const { heldReceipts, judge, freshVerdicts, ratings } = tasks
  const { holding } = mailParts(ctx)
  const change = (work: () => Interaction) => store.transaction(work, 'node.change')
  return {
    delegate: (given: DelegateRequest): string => delegation.delegate(given),
    redelegate: (task: Interaction): Interaction => redelegation.redelegate(task),
    say: (task: Interaction, given: GivenWords) => words.send(task, given),
    /** A message as it stands now. */
    message: (key: number): Message => threads.message(key),
    setSending: (task: Interaction, on: boolean) => holding.set(task, on),
    cancel: (task: Interaction, why: string) => change(() => leaving.cancel(task, why)),
    decline: (task: Interaction, why: string) => change(() => leaving.decline(task, why)),
    acceptReceipt: (task: Interaction) => change(() => heldReceipts.accept(task)),
    mayAcceptReceipt: (task: Interaction) => judge.mayAccept(task),
    verify: (task: Interaction) => freshVerdicts.on(task),
    review: (task: Interaction, uploads: Pick<ReviewUploads, 'firstAnswer'>, given: Rating) =>
      keepReview({ store, ratings, uploads }, task, given),
    /** `held`: as the task stands inside of the transaction. */
    end: (held: () => Interaction, ending: Ending) => orderedEnds.end(held, ending),
    /** Takes a task that waited for a yes. */
    take: (held: () => Interaction) => change(() => approval.take(held())),
  }
}

type Asked = Parameters<PaymentParts['redemptions']['referenceFor']>[0]
export type RedemptionRules = ReturnType<typeof redemptionRules>

export function redemptionRules(ctx: Context) {
  const { redemptions } = paymentParts(ctx)
  return {
    referenceFor: (given: Asked) => redemptions.referenceFor(given),
    /** The network at which this redemption is open already. */
    openAt: (amount: number, own: string) => openAt(ctx.store, amount, own),
    requireNoneLost: (hub: HubClient, given: Asked, signal: AbortSignal) =>
      redemptions.requireNoneLost(hub, given, signal),
  }
}

export type RefundRules = ReturnType<typeof refundRules>

export function refundRules(ctx: Context) {
  const { ownRefunds, lostOrders, comparison, answers } = paymentParts(ctx)
  /** Signs what goes back, and says so to the requester where the task still takes words. */
  const prepare = (task: Interaction, amount: number | undefined, isRenewed = false) =>
    ctx.store.transaction(() => {
      const prepared = ownRefunds.prepare(task, amount, isRenewed)
      if (prepared.isNew && maySend(task)) say(answers, task, refundMessage(prepared))
      else if (prepared.isNew) answers.tellRefund(task, prepared)
      return prepared
    }, 'node.pay')
  return {
    /** The network whose credits a task was paid with. */
    networkOf: (task: Interaction) => paymentOf(ctx.store, task.key)?.network ?? '',
    requireKnown: (
      hub: HubClient,
      task: Interaction,
      given: Parameters<typeof lostOrders.requireRefundsKnown>[2],
    ) => lostOrders.requireRefundsKnown(hub, task, given),
    prepare: (task: Interaction, amount: number | undefined) => prepare(task, amount),
    renew: (task: Interaction, amount: number | undefined) =>
      prepare(ctx.threads.byKey(task.key), amount, true),
    settle: (hub: HubClient, task: Interaction, given: Parameters<typeof ownRefunds.settle>[2]) =>
      ownRefunds.settle(hub, task, given),
    compare: (hub: HubClient, signal: AbortSignal) => comparison.compare(hub, signal),
  }
}
