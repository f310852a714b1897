/** What a person orders about tasks and credits: the rules of those rooms, bound to the parts of this node. */
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { setSending } from '../mail/holding.ts'
import { type PaymentParts, paymentParts } from '../payments/parts.ts'
import { openAt } from '../payments/redemptions.ts'
import { refuse } from '../refusal.ts'
import { paymentOf } from '../store/payments.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { acceptEnd, cancel, decline, maySend, proposeEnd, say } from '../tasks/conversation.ts'
import { commitTask, delegateTask, sendText } from '../tasks/delegation.ts'
import { refundMessage, textMessage } from '../tasks/messages.ts'
import { keepRating } from '../tasks/ratings.ts'
import { acceptReceipt, mayAcceptReceipt } from '../tasks/receipt-requester.ts'
import { redelegate } from '../tasks/redelegation.ts'
import { keepReview, type ReviewUploads } from '../tasks/reviews.ts'
import { isCut } from '../tasks/standing.ts'
import { verifyNow } from '../tasks/verify.ts'

type Ending = { mode?: 'propose' | 'accept' | 'either' | undefined; note?: string | undefined }
type Rating = { rating: number; comment: string }

export type TaskRules = ReturnType<typeof taskRules>

export function taskRules(ctx: Context) {
  const change = (work: () => Interaction) => ctx.store.transaction(work, 'node.change')
  return {
    delegate: (given: Parameters<typeof delegateTask>[1]): string => delegateTask(ctx, given),
    redelegate: (task: Interaction): Interaction => redelegate(ctx, task, given => commitTask(ctx, given)),
    say: (task: Interaction, words: Parameters<typeof sendText>[2]) => sendText(ctx, task, words),
    /** A message as it stands now. */
    message: (key: number): Message => ctx.threads.message(key),
    setSending: (task: Interaction, on: boolean) => setSending(ctx, task, on),
    cancel: (task: Interaction, why: string) => change(() => cancel(ctx, task, why)),
    decline: (task: Interaction, why: string) => change(() => decline(ctx, task, why)),
    acceptReceipt: (task: Interaction) => change(() => acceptReceipt(ctx, task)),
    mayAcceptReceipt: (task: Interaction) => mayAcceptReceipt(ctx, task),
    verify: (task: Interaction) => verifyNow(ctx, task),
    review: (task: Interaction, reviews: Pick<ReviewUploads, 'firstAnswer'>, given: Rating) =>
      keepReview(ctx, reviews, task, given),
    /** Ends a task, with a rating where there is one; `held`: as it stands inside of the transaction. */
    end: (held: () => Interaction, ending: Ending, rated: Rating | undefined) =>
      ctx.store.transaction(() => {
        const interaction = endNow(ctx, held(), ending)
        if (rated !== undefined) keepRating(ctx, interaction, rated)
        return interaction
      }, 'node.end'),
    /** Takes a task that waited for a yes. */
    take: (held: () => Interaction) => change(() => take(ctx, held())),
  }
}

function take(ctx: Context, interaction: Interaction): Interaction {
  if (interaction.state !== 'pending')
    refuse('wrong_state', `this interaction is ${interaction.state}, not pending`)
  const state = interaction.endBy === null ? 'open' : 'end_proposed'
  ctx.store.afterCommit(() => {
    ctx.events.emit('inbox', { interaction_id: interaction.id, peer: interaction.peer, state })
    ctx.topUps.note(interaction.peer)
    ctx.wakers.calls.wake()
  })
  return ctx.threads.update(interaction, { state })
}

function endNow(ctx: Context, held: Interaction, { mode, note }: Ending): Interaction {
  if (isCut(held) || (held.endBy === 'me' && mode !== 'accept')) return held
  const interaction = note ? say(ctx, held, textMessage(note, [])).interaction : held
  if (mode === 'accept' || (interaction.endBy === 'peer' && mode === 'propose'))
    return acceptEnd(ctx, interaction)
  return proposeEnd(ctx, interaction)
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
  const { ownRefunds, lostOrders, comparison } = paymentParts(ctx)
  /** Signs what goes back, and says so to the requester where the task still takes words. */
  const prepare = (task: Interaction, amount: number | undefined, isRenewed = false) =>
    ctx.store.transaction(() => {
      const prepared = ownRefunds.prepare(task, amount, isRenewed)
      if (prepared.isNew && maySend(task)) say(ctx, task, refundMessage(prepared))
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
