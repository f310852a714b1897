/**
 * What an interaction may do next and what follows from each step: proposing and accepting the end, declining,
 * cancelling. Both last messages together are the cut of the transcript. Every function runs inside a transaction.
 */
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, encodePayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import { MESSAGES_MAX } from '../../protocol/proof/receipt.ts'
import type { Context } from '../context.ts'
import { PricedAnswers } from '../payments/priced-tasks.ts'
import { mayHoldCapabilities } from '../peers/stock.ts'
import { refuse } from '../refusal.ts'
import { isLocal, isNumberOpen } from '../store/interactions.ts'
import { newestOfKind } from '../store/messages.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction, Message, Outgoing } from '../store/threads.ts'
import { hasComeOrPrice, hasProposedEnd } from '../store/transcripts.ts'
import { dropFiles } from './policies.ts'
import { makeReceipt } from './receipt-provider.ts'
import { settleWaiting } from './receipt-requester.ts'
import { failAbove, isCut, isOver, isRequester } from './standing.ts'

export type ConversationNeeds = Pick<
  Context,
  | 'identity'
  | 'store'
  | 'chain'
  | 'contacts'
  | 'peers'
  | 'capabilities'
  | 'attachments'
  | 'threads'
  | 'settings'
  | 'wakers'
  | 'events'
  | 'log'
  | 'now'
  | 'hubNow'
>

/** Room for the messages that end an interaction. */
const LAST_MESSAGES = 2
/** An expired task may still be answered, so its requester may also still write. */
const OPEN_STATES = new Set(['queued', 'delivered', 'open', 'end_proposed', 'expired'])

/** Whether this side may still send a numbered message. */
export function maySend(interaction: Interaction): boolean {
  return OPEN_STATES.has(interaction.state) && interaction.ownLast === null
}

/** Nothing is said or signed for a task that its user has not taken. */
function requireApproval({ id, state }: Interaction): void {
  if (state === 'pending')
    refuse(
      'wrong_state',
      'this task waits for your approval; approve it first, or decline it',
      `svc approve ${id}\nsvc decline ${id}`,
    )
}

/** Queues a message of this side, refusing when the interaction takes no more. */
export function say(
  ctx: ConversationNeeds,
  interaction: Interaction,
  outgoing: Outgoing,
): ReturnType<Context['threads']['queue']> {
  requireApproval(interaction)
  if (!maySend(interaction))
    refuse(
      'wrong_state',
      `this interaction is ${interaction.state}; it takes no more messages from this side`,
    )
  if (interaction.numbered >= MESSAGES_MAX - LAST_MESSAGES)
    refuse('wrong_state', `this interaction holds ${MESSAGES_MAX} messages; end it and open another`)
  return new PricedAnswers(ctx, ctx).queue(interaction, outgoing)
}

/** Proposes the end: after it this side sends nothing more but the answer to a crossing proposal. */
export function proposeEnd(ctx: ConversationNeeds, interaction: Interaction): Interaction {
  requireApproval(interaction)
  if (interaction.endBy === 'peer') return acceptEnd(ctx, interaction)
  if (!maySend(interaction))
    refuse('wrong_state', `this interaction is ${interaction.state}; it cannot be ended now`)
  if (isLocal(interaction)) return endLocally(ctx, interaction)
  const lost = lostStep(ctx, interaction)
  if (lost !== undefined) return told(ctx, repeatLost(ctx, interaction, lost))
  const number = interaction.numbered + 1
  const payload: Payload<3> = {
    number,
    peerHighest: interaction.heldHighest,
    missing: ctx.threads.missing(interaction),
  }
  const queued = ctx.threads.queue(interaction, {
    kind: kinds.end,
    payload: encodePayload(kinds.end, payload),
    text: '',
    numbered: true,
  })
  const proposed = ctx.threads.update(queued.interaction, {
    state: 'end_proposed',
    endBy: 'me',
    ownLast: number,
    ownEndAt: ctx.hubNow(),
  })
  return told(ctx, proposed)
}

/** Nobody on another machine has to agree to the end of what came over a local interface. */
function endLocally(ctx: ConversationNeeds, interaction: Interaction): Interaction {
  const about = { interaction_id: interaction.id, peer: interaction.peer, state: 'ended' }
  ctx.store.afterCommit(() => ctx.events.emit('message', about))
  return ctx.threads.update(interaction, { state: 'ended', endBy: 'me', ownLast: interaction.numbered })
}

/** Accepts the peer's proposal; with it the transcript is complete, and the provider signs the receipt. */
export function acceptEnd(ctx: ConversationNeeds, interaction: Interaction): Interaction {
  requireApproval(interaction)
  if (interaction.endBy !== 'peer' || interaction.peerLast === null || isCut(interaction))
    refuse('wrong_state', 'the other side has not proposed the end')
  if (isNumberOpen(interaction))
    refuse(
      'wrong_state',
      'this node was restored from a backup, and the other side has not said yet what it holds of this task; the node has asked, try again later',
    )
  const lost = lostStep(ctx, interaction)
  if (lost !== undefined) return told(ctx, repeatLost(ctx, interaction, lost))
  const number = interaction.numbered + 1
  const payload: Payload<4> = {
    endNumber: interaction.peerLast as number,
    number,
    peerHighest: interaction.heldHighest,
    missing: ctx.threads.missing(interaction),
  }
  const queued = ctx.threads.queue(interaction, {
    kind: kinds.acceptEnd,
    payload: encodePayload(kinds.acceptEnd, payload),
    text: '',
    numbered: true,
  })
  const cut = ctx.threads.update(queued.interaction, { ownLast: number, ownEndAt: ctx.hubNow() })
  return told(ctx, conclude(ctx, cut))
}

/** The peer proposed the end. If two proposals cross, the requester's counts. Undefined when the cut is made. */
export function takeEnd(
  ctx: ConversationNeeds,
  interaction: Interaction,
  payload: Payload<3>,
): Interaction | undefined {
  if (interaction.endBy === 'me' && isRequester(interaction)) return interaction
  if (isCut(interaction)) return undefined
  const lists = { peerLast: payload.number, peerLacks: JSON.stringify(payload.missing) }
  // a copy of this node that is lost has accepted it
  if (interaction.endBy === 'peer' && interaction.ownLast !== null)
    return conclude(ctx, ctx.threads.update(interaction, lists))
  const crossed = interaction.endBy === 'me'
  const proposed = ctx.threads.update(interaction, {
    // What waits for approval goes on waiting for it.
    state: interaction.state === 'pending' ? 'pending' : 'end_proposed',
    endBy: 'peer',
    ...lists,
    ...present({ ownLast: crossed ? null : undefined }),
  })
  const agrees = crossed || (isRequester(proposed) && isAnswered(ctx, proposed))
  return agrees && !isNumberOpen(proposed) ? acceptEnd(ctx, proposed) : proposed
}

/**
 * Agrees to an end that waited for certain numbers: where this side proposed it too, has the whole answer, or answers a call
 * that a lost copy had ended. An end that it proposed meanwhile is the one that a lost copy had proposed, where there was one.
 */
export function agreeIfDue(ctx: ConversationNeeds, interaction: Interaction): void {
  const { key, state, endBy, ownLast } = interaction
  if (isCallUnderWay(interaction)) {
    const lost = lostStep(ctx, interaction)
    if (lost !== undefined) repeatLost(ctx, interaction, lost)
    return
  }
  if (state !== 'end_proposed' || isCut(interaction)) return
  if (endBy === 'me') {
    const lost = lostStep(ctx, interaction)
    if (lost === undefined) takeHeldAcceptance(ctx, interaction)
    else repeatLost(ctx, interaction, lost)
  }
  if (endBy !== 'peer' || ownLast !== null) return
  if (hasProposedEnd(ctx.store, key) || (isRequester(interaction) && isAnswered(ctx, interaction)))
    acceptEnd(ctx, interaction)
}

/**
 * The peer accepted our proposal; undefined when it names another message than our `end`, or did so before. While own numbers
 * are in doubt it is only kept: it may be about an end of a copy that is lost.
 */
export function takeAcceptEnd(
  ctx: ConversationNeeds,
  interaction: Interaction,
  payload: Payload<4>,
): Interaction | undefined {
  if (isCut(interaction)) return undefined
  if (isNumberOpen(interaction)) return interaction
  if (interaction.endBy !== 'me' || payload.endNumber !== interaction.ownLast) return undefined
  return conclude(
    ctx,
    ctx.threads.update(interaction, { peerLast: payload.number, peerLacks: JSON.stringify(payload.missing) }),
  )
}

/** A call that this node answers: no person ends it, the node does with its answer. */
const isCallUnderWay = (interaction: Interaction): boolean =>
  !isRequester(interaction) && interaction.capability !== null && interaction.state === 'open'

/** The step with which a lost copy ended the task, as the other side says: it counts once this side wants the end too. */
function lostStep({ store }: ConversationNeeds, { key }: Interaction): Message | undefined {
  const steps = [kinds.acceptEnd, kinds.end].map(kind => newestOfKind(store, key, 'out', kind))
  return steps.find(step => step?.claimed === 1)
}

/** Ends the task where the lost copy ended it, with its number: what was said since can't arrive. */
function repeatLost(
  ctx: ConversationNeeds,
  interaction: Interaction,
  { number, kind }: Message,
): Interaction {
  failAbove(ctx, interaction, number)
  const ended = ctx.threads.update(interaction, {
    state: 'end_proposed',
    endBy: kind === kinds.end ? 'me' : 'peer',
    ownLast: number,
    ownEndAt: ctx.hubNow(),
  })
  if (isCut(ended)) {
    const over = conclude(ctx, ended)
    settleWaiting(ctx, over)
    return ctx.threads.byKey(over.key)
  }
  return kind === kinds.end ? takeHeldAcceptance(ctx, ended) : ended
}

/** The acceptance of an end that came before it was known which of this side's ends it is about. */
function takeHeldAcceptance(ctx: ConversationNeeds, interaction: Interaction): Interaction {
  const message = newestOfKind(ctx.store, interaction.key, 'in', kinds.acceptEnd)
  const held = message === undefined ? undefined : decodePayload(message.kind, message.payload)
  if (held?.kind !== kinds.acceptEnd) return interaction
  return takeAcceptEnd(ctx, interaction, held.payload) ?? interaction
}

/** Both last messages are here: the task is over, and its provider signs. */
function conclude(ctx: ConversationNeeds, interaction: Interaction): Interaction {
  const ended = ctx.threads.update(interaction, { state: 'ended' })
  return isRequester(ended) || ended.receiptState === 'signed' ? ended : makeReceipt(ctx, ended)
}

/** Whether what came is the whole answer: the result of a call, or a price. */
const isAnswered = (ctx: ConversationNeeds, { key, capability }: Interaction): boolean =>
  hasComeOrPrice(ctx.store, key, capability === null ? kinds.quote : kinds.result)

/** Whether the provider may still refuse the task. */
export const mayDecline = (interaction: Interaction): boolean =>
  !isRequester(interaction) && !isOver(interaction) && interaction.ownLast === null

/** The provider does not take the task; a stranger loses what it was given to write with. */
export function decline(ctx: ConversationNeeds, interaction: Interaction, reason: string): Interaction {
  if (!mayDecline(interaction))
    refuse('wrong_state', `this interaction is ${interaction.state}; it cannot be declined`)
  if (interaction.state === 'pending') dropFiles(ctx, interaction)
  const declined = leave(ctx, interaction, kinds.declined, reason)
  ctx.store.afterCommit(() => ctx.wakers.payments.wake())
  if (!mayHoldCapabilities(ctx, interaction.peer)) {
    ctx.capabilities.revokeIssued(interaction.peer)
    ctx.store.afterCommit(() => ctx.wakers.rounds.wake())
  }
  return declined
}

/** Whether the requester may withdraw: also a task that nobody answered in time, but nothing after its own `end`. */
export const mayCancel = (interaction: Interaction): boolean =>
  isRequester(interaction) &&
  interaction.ownLast === null &&
  (!isOver(interaction) || interaction.state === 'expired')

/** The requester withdraws the task; mail that is not delivered is not recalled. */
export function cancel(ctx: ConversationNeeds, interaction: Interaction, reason: string): Interaction {
  if (!mayCancel(interaction))
    refuse('wrong_state', `this interaction is ${interaction.state}; it cannot be cancelled from this side`)
  ctx.store.afterCommit(() => ctx.wakers.spending.wake())
  return leave(ctx, interaction, kinds.cancelled, reason)
}

function leave(ctx: ConversationNeeds, interaction: Interaction, kind: 9 | 10, reason: string): Interaction {
  const queued = ctx.threads.queue(interaction, {
    kind,
    payload: encodePayload(kind, { reason }),
    text: reason,
    numbered: true,
  })
  const state = kind === kinds.declined ? 'declined' : 'cancelled'
  return told(ctx, ctx.threads.update(queued.interaction, { state, ...ownReason(reason) }))
}

/** Tells every client the state after a step of this side; what the other side did is told with its message. */
function told(ctx: ConversationNeeds, interaction: Interaction): Interaction {
  const { id, peer, state } = interaction
  ctx.store.afterCommit(() => ctx.events.emit('inbox', { interaction_id: id, peer, state }))
  return interaction
}
