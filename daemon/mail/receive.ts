/**
 * Taking in one verified message: who may say what, in which order, and what it changes. The verdict is the code of
 * the delivery confirmation. Everything happens in one transaction with its evidence.
 */

import { equal, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { isLoose, type MessageBody, messagePayload } from '../../protocol/mail/message.ts'
import { type AnyPayload, kinds } from '../../protocol/mail/payload.ts'
import { documentCid } from '../../protocol/proof/documents.ts'
import type { Arrived } from '../carrier/carrier.ts'
import type { Context } from '../context.ts'
import { doubtHead } from '../peers/heads.ts'
import { hasTaskWith } from '../store/correspondents.ts'
import { count } from '../store/counters.ts'
import { dropLost } from '../store/lost.ts'
import { digestOf } from '../store/messages.ts'
import { reasonOfPeer } from '../store/reasons.ts'
import { noteVerdict, type Verdict, verdictOn } from '../store/seen.ts'
import type { Interaction } from '../store/threads.ts'
import { takeAcceptEnd, takeEnd } from '../tasks/conversation.ts'
import { reopened } from '../tasks/deadlines.ts'
import { answeringOf, handOver } from '../tasks/dispatch.ts'
import { isEndNear, takeNoReceipt } from '../tasks/no-receipt.ts'
import { admit, dropFiles, mayAdd } from '../tasks/policies.ts'
import { takeBack, takeLaterSettlements, takeQuote, takeSettlements } from '../tasks/quotes.ts'
import { takeCounterSignature } from '../tasks/receipt-provider.ts'
import { isOfProvider, keepReceipt, settleWaiting, takeReceipt } from '../tasks/receipt-requester.ts'
import { isCut, isOver, isRequester } from '../tasks/standing.ts'
import { noteClaim } from './claims.ts'
import { confirmByAnswer, confirmByLists } from './confirming.ts'
import { compareHead, returnHead } from './heads.ts'
import { noteUnknownTask } from './lost-tasks.ts'
import { takeNumbers } from './numbers.ts'
import { readableText, requestOf } from './reading.ts'

const PREVIEW_CHARACTERS = 200
/** How long after its expiry a message id is still remembered. */
const SEEN_AFTER_EXPIRY_MS = 26 * 3_600_000

/** The verdict on this very message before, if it is known. */
export function earlierVerdict(ctx: Context, body: MessageBody, digest: Uint8Array): Verdict | undefined {
  const stored = digestOf(ctx.store, body.from, body.messageId)
  if (stored !== undefined) return equal(stored, digest) ? 'stored' : 'malformed'
  return verdictOn(ctx.store, body.from, body.messageId)
}

/** Judges and stores a message; durable when this returns. */
export function takeIn(ctx: Context, arrived: Arrived): Verdict {
  return (
    judged(() => decide(ctx, arrived, () => judge(ctx, arrived))) ?? decide(ctx, arrived, () => 'malformed')
  )
}

/** What {@link takeIn} would say now, before anything of the message is on the disk. */
export function foresee(ctx: Context, arrived: Arrived): Verdict {
  return judged(() => ctx.store.rehearse(() => judge(ctx, arrived))) ?? 'malformed'
}

/** A verdict; undefined where the message, or the step that it takes, is none. */
function judged(verdict: () => Verdict): Verdict | undefined {
  try {
    return verdict()
  } catch (error) {
    if (error instanceof ForeignStep || error instanceof Malformed) return undefined
    throw error
  }
}

function decide(ctx: Context, arrived: Arrived, verdict: () => Verdict): Verdict {
  return ctx.store.transaction(() => {
    const { body } = arrived
    arrived.credentials.came()
    const given = earlierVerdict(ctx, body, arrived.digest) ?? verdict()
    if (isForGood(ctx, body, given))
      noteVerdict(ctx.store, {
        sender: body.from,
        messageId: body.messageId,
        verdict: given,
        until: arrived.untilMs + SEEN_AFTER_EXPIRY_MS,
      })
    return given
  }, 'node.receive')
}

/**
 * Whether the same message would be judged so again: not where its sender mends it, where its task may still come, or where it
 * is outside of the transcript and came before the end of a task that was restored.
 */
function isForGood(ctx: Context, { from, kind, interactionId }: MessageBody, code: Verdict): boolean {
  if (code === 'retiredKey' || code === 'times') return false
  if (code !== 'malformed' || interactionId === undefined || kind === kinds.delegate) return true
  if (!isNumbered(kind)) return false
  return threadOf(ctx, from, toBase64url(interactionId)) !== undefined
}

const threadOf = (ctx: Context, sender: string, id: string): Interaction | undefined =>
  ctx.threads.find(sender, id) ?? ctx.threads.find(ctx.identity.aid, id)

function judge(ctx: Context, arrived: Arrived): Verdict {
  const { body } = arrived
  if (ctx.contacts.isBlocked(body.from)) return 'refusedByPolicy'
  let message: AnyPayload
  try {
    message = messagePayload(body)
  } catch (error) {
    if (error instanceof Malformed) return 'malformed'
    throw error
  }
  const code = isLoose(message.kind) ? takeLoose(ctx, arrived, message) : takeNumbered(ctx, arrived, message)
  if (code === 'stored') {
    arrived.credentials.taken()
    ctx.store.afterCommit(() => ctx.topUps.note(body.from))
  } else if (code === 'malformed') count(ctx.store, 'foreign')
  returnHead(ctx, body.from)
  return code
}

/** Kinds 8, 11 and 12: from contacts and from the other party of an open interaction only, and never with files. */
function takeLoose(ctx: Context, { body, log, keySet }: Arrived, message: AnyPayload): Verdict {
  if (body.attachments.length > 0) return 'malformed'
  const known = ctx.contacts.isContact(body.from) || hasTaskWith(ctx.store, body.from)
  const isOurs = message.kind !== kinds.heldHead || (known && compareHead(ctx, body.from, message.payload))
  if (!known || !isOurs) return 'malformed'
  if (message.kind === kinds.numbers && !takeNumbers(ctx, body, message.payload)) return 'malformed'
  ctx.peers.learn(log, keySet)
  return 'stored'
}

function takeNumbered(ctx: Context, arrived: Arrived, message: AnyPayload): Verdict {
  const { body } = arrived
  const id = toBase64url(body.interactionId as Uint8Array)
  if (message.kind === kinds.delegate) return takeDelegate(ctx, arrived, message.payload, id)
  const interaction = threadOf(ctx, body.from, id)
  if (interaction === undefined && PROVIDER_KINDS.has(message.kind)) noteClaim(ctx, body.from)
  if (interaction === undefined) noteUnknownTask(ctx, body)
  if (interaction === undefined || interaction.peer !== body.from) return 'malformed'
  if (!isRoleRight(interaction, message)) return 'malformed'
  const refusal = isNumbered(message.kind) ? refusalOfNumber(ctx, interaction, arrived) : undefined
  if (refusal !== undefined) return refusal
  const text = readableText(message, body.attachments)
  if (text === undefined) return 'malformed'
  const stored = ctx.threads.storeIncoming(interaction, body, {
    digest: arrived.digest,
    text,
  })
  confirmByAnswer(ctx, interaction, body)
  ctx.peers.learn(arrived.log, arrived.keySet)
  const acted = act(ctx, stored.interaction, message)
  if (acted === undefined) throw new ForeignStep(message.kind)
  settleWaiting(ctx, acted)
  const about = { interaction_id: id, peer: interaction.peer, state: acted.state, kind: message.kind }
  ctx.store.afterCommit(() => ctx.events.emit('message', about))
  return 'stored'
}

/** A step that the state of the interaction does not allow; rolls back what was stored of it. */
export class ForeignStep extends Refusal<'foreign_step'> {
  override name = 'ForeignStep'
  constructor(kind: number) {
    super('foreign_step', `a message of kind ${kind} may not come now`)
  }
}

/** What only a provider says, and only its requester. */
const PROVIDER_KINDS: ReadonlySet<number> = new Set([
  kinds.result,
  kinds.receipt,
  kinds.quote,
  kinds.declined,
  kinds.settlements,
  kinds.noReceipt,
])
const REQUESTER_KINDS: ReadonlySet<number> = new Set([kinds.counterSignature, kinds.cancelled])

function isRoleRight(interaction: Interaction, { kind }: AnyPayload): boolean {
  return !(isRequester(interaction) ? REQUESTER_KINDS : PROVIDER_KINDS).has(kind)
}

/** Why a numbered message is not taken: its number is held, the cut is made, or a stranger says too much. */
function refusalOfNumber(ctx: Context, interaction: Interaction, { body }: Arrived): Verdict | undefined {
  if (ctx.threads.byNumber(interaction.key, 'in', body.number) !== undefined) {
    doubtHead(ctx, body.from)
    return 'malformed'
  }
  if (interaction.peerLast !== null && body.number > interaction.peerLast) return 'ended'
  if (isCut(interaction) || (isOver(interaction) && interaction.state !== 'expired')) {
    const late = isCut(interaction) && isRequester(interaction) && interaction.receiptState === 'waiting'
    if (!late) return 'ended'
  }
  return isStep(body.kind) || mayAdd(ctx, interaction, bytesOf(body)) ? undefined : 'refusedByPolicy'
}

function takeDelegate(
  ctx: Context,
  arrived: Arrived,
  payload: Extract<AnyPayload, { kind: 0 }>['payload'],
  id: string,
): Verdict {
  const { body } = arrived
  // Users name an interaction by its id alone, so an id that anyone else's interaction has is refused too.
  if (ctx.threads.findById(id) !== undefined) return 'malformed'
  const document = requestOf(payload.document, body)
  if (document === undefined) return 'malformed'
  const capability = 'capability' in document ? document.capability : null
  const answering = answeringOf(ctx, capability)
  const admission = admit(ctx, body.from, bytesOf(body))
  if (admission === 'refused') return 'refusedByPolicy'
  const text = 'task' in document ? document.task : `${document.capability} ${JSON.stringify(document.args)}`
  // a price is no work: it is told without asking the owner
  const asksForPrice = answering.price !== undefined && payload.authorization === undefined
  const state = answering.by === 'nobody' || asksForPrice ? 'open' : admission
  const created = ctx.threads.create({
    id,
    delegator: body.from,
    peer: body.from,
    side: 'received',
    state,
    way: arrived.way,
    capability,
    preview: text.slice(0, PREVIEW_CHARACTERS),
    commitment: payload.requesterCommitment,
    requestCid: documentCid(payload.document),
  })
  const facts = { digest: arrived.digest, text }
  const { interaction } = ctx.threads.storeIncoming(created, body, facts)
  const about = { interaction_id: id, peer: body.from, state }
  ctx.store.afterCommit(() => ctx.events.emit('inbox', about))
  ctx.peers.learn(arrived.log, arrived.keySet)
  dropLost(ctx.store, id)
  handOver(ctx, interaction, answering)
  return 'stored'
}

/** Steps that come once at most and bring nothing to read. */
const isStep = (kind: number): boolean =>
  kind === kinds.cancelled || kind === kinds.end || kind === kinds.acceptEnd

/** What a message takes of the disk. */
const bytesOf = (body: MessageBody): number =>
  body.attachments.reduce((sum, { size }) => sum + size, body.payload.length)

/** What stands outside of the transcript: the receipt or why there is none, its counter-signature, the hub's later word. */
const UNNUMBERED_KINDS: ReadonlySet<number> = new Set([
  kinds.receipt,
  kinds.counterSignature,
  kinds.settlements,
  kinds.noReceipt,
])
const isNumbered = (kind: number): boolean => !UNNUMBERED_KINDS.has(kind)

/** What the message changes in its interaction; undefined when it may not come now. */
function act(ctx: Context, held: Interaction, message: AnyPayload): Interaction | undefined {
  const interaction = held.state === 'expired' && isNumbered(message.kind) ? reopened(ctx, held) : held
  switch (message.kind) {
    case kinds.result:
    case kinds.message:
    case kinds.quote:
      return takeWords(ctx, interaction, message)
    case kinds.end:
      confirmByLists(ctx, interaction, message.payload)
      return takeEnd(ctx, interaction, message.payload)
    case kinds.acceptEnd:
      confirmByLists(ctx, interaction, message.payload)
      return takeAcceptEnd(ctx, interaction, message.payload)
    case kinds.receipt:
      if (!isOfProvider(ctx, interaction, message.payload.receipt)) return undefined
      if (isCut(interaction)) return takeReceipt(ctx, interaction, message.payload.receipt)
      // It may overtake the last message of the cut, and is judged when that one is here.
      if (!isEndNear(interaction) || interaction.receipt !== null) return undefined
      return keepReceipt(ctx, interaction, message.payload.receipt)
    case kinds.noReceipt:
      return takeNoReceipt(ctx, interaction, message.payload)
    case kinds.settlements:
      return takeLaterSettlements(ctx, interaction, message.payload.settlements) ? interaction : undefined
    case kinds.counterSignature:
      return takeCounterSignature(ctx, interaction, message.payload)
    case kinds.declined:
    case kinds.cancelled:
      return takeLeave(ctx, interaction, message)
    default:
      return interaction
  }
}

/** The first words of the provider open the task; a price, and a hub's receipts, are kept beside them. */
function takeWords(
  ctx: Context,
  interaction: Interaction,
  { kind, payload }: Extract<AnyPayload, { kind: 1 | 2 | 7 }>,
): Interaction {
  if (kind === kinds.quote) takeQuote(ctx, interaction, payload.document)
  else {
    if (payload.settlements !== undefined) takeSettlements(ctx, interaction, payload.settlements)
    if (payload.refund !== undefined) takeBack(ctx, interaction, payload.refund)
  }
  const waits = interaction.state === 'queued' || interaction.state === 'delivered'
  return isRequester(interaction) && waits ? ctx.threads.update(interaction, { state: 'open' }) : interaction
}

/** Only what is not over yet can be declined or withdrawn. */
function takeLeave(
  ctx: Context,
  interaction: Interaction,
  { kind, payload }: Extract<AnyPayload, { kind: 9 | 10 }>,
): Interaction | undefined {
  if (isOver(interaction)) return undefined
  if (interaction.state === 'pending') dropFiles(ctx, interaction)
  const state = kind === kinds.declined ? 'declined' : 'cancelled'
  ctx.store.afterCommit(() => (kind === kinds.declined ? ctx.wakers.spending : ctx.wakers.payments).wake())
  return ctx.threads.update(interaction, { state, ...reasonOfPeer(payload.reason) })
}
