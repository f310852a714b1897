/**
 * Numbers after a restore: this node asks each correspondent which of its messages it holds, gives no number of an open
 * task out before that, and goes on above them. What correspondents have and this node lost is named on both sides.
 */
import { equal, fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { MESSAGE_ID_BYTES, type MessageBody } from '../../protocol/mail/message.ts'
import {
  ASKED_MAX,
  DIGESTS_MAX,
  DIGESTS_OF_ALL_MAX,
  type HeldNumbers,
  type Numbers,
} from '../../protocol/mail/numbers.ts'
import { decodePayload, encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { MESSAGES_MAX } from '../../protocol/proof/receipt.ts'
import type { Context } from '../context.ts'
import { numbersSent, numbersSentTo } from '../store/correspondents.ts'
import { isNumberOpen, uncertainInteractions } from '../store/interactions.ts'
import {
  claimedCount,
  digestsAbove,
  insertOutgoing,
  markClaimed,
  putInPlace,
  writeDelivery,
} from '../store/messages.ts'
import { payeesOfOpenQuotes } from '../store/quotes.ts'
import {
  answeredTo,
  areContactsDue,
  lastRestore,
  noteAnswered,
  noteContactsAsked,
} from '../store/restores.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { agreeIfDue, type ConversationNeeds } from '../tasks/conversation.ts'
import { noteDelivered } from '../tasks/delivery.ts'
import { textMessage } from '../tasks/messages.ts'
import { endAsSigned } from '../tasks/receipt-provider.ts'
import { settleWaiting } from '../tasks/receipt-requester.ts'
import { noteClaim } from './claims.ts'
import { giveBack, mayGiveBack } from './given-back.ts'
import { lostOf, nameLost, queueNumbers, sinceThen, takeLoss } from './lost-tasks.ts'

type Asking = Pick<Context, 'store' | 'threads' | 'contacts' | 'now'>
export type Telling = ConversationNeeds & Pick<Context, 'log' | 'random'>

/** A question without an answer is asked again after this long. */
const ASKED_EVERY_MS = 3_600_000
/** What happened this long before an archive was made may be missing in it, as the two clocks differ. */
const CLOCKS_MS = 3_600_000
/** Numbers of a task that the other side may say are taken by messages of ours that are not here. */
const CLAIMED_MAX = 1024
/** Where nothing shows that this store came from a backup, and only the other side says so. */
const CLAIMED_UNRESTORED_MAX = 16
/** So long such a word holds a task up without being explained. */
const UNRESTORED_WAIT_MS = 60_000
/** Numbers that stay for the two steps that end a task. */
const STEPS_LEFT = 2
export const NOT_OURS =
  'the recipient holds another message under this number, from a copy of this node that is lost; say it again'

/**
 * Doubts the numbers of a task whose other side says that it holds more than was sent from here. A store that came from no
 * backup does so once for each task: the other side may say it to hold the task up.
 */
export function doubtNumbersOf(ctx: Asking & Pick<Context, 'wakers'>, { key }: Interaction): void {
  const interaction = ctx.threads.byKey(key)
  if (isNumberOpen(interaction)) return
  if (interaction.numbering === 'told' && lastRestore(ctx.store) === undefined) return
  ctx.threads.update(interaction, { numbering: 'asking', certainTo: interaction.certainTo ?? 0 })
  ctx.store.afterCommit(() => ctx.wakers.rounds.wake())
}

/** Asks everyone whose answer is due; after a restore every contact too, for what it may know of tasks that are lost. */
export function askNumbers(ctx: Asking): void {
  const restored = lastRestore(ctx.store)
  if (restored === undefined) goOnUnexplained(ctx)
  const open = uncertainInteractions(ctx.store).filter(({ numbering }) => numbering === 'asking')
  const peers = new Set([...open.map(({ peer }) => peer), ...contactsToAsk(ctx)])
  for (const peer of peers) {
    if (ctx.contacts.isBlocked(peer)) continue
    const asked = questionsSince(ctx, peer, restored?.settledMs ?? 0)
    const own = open.filter(one => one.peer === peer && !isAsked(ctx, asked, one))
    if (own.length === 0 && asked.length > 0) continue
    ctx.store.transaction(() => {
      for (let i = 0; i === 0 || i < own.length; i += ASKED_MAX)
        ask(ctx, peer, own.slice(i, i + ASKED_MAX), restored?.madeAtMs ?? 0)
    }, 'node.numbers')
  }
  // who has a question already is passed over the next time, so that nobody is lost to a failure on the way here
  if (areContactsDue(ctx.store)) noteContactsAsked(ctx.store)
}

/** Where nothing shows a restore, a task does not wait for the answer of who may have made the doubt up. */
function goOnUnexplained(ctx: Asking): void {
  const before = ctx.now() - UNRESTORED_WAIT_MS
  for (const interaction of uncertainInteractions(ctx.store)) {
    const asked = questionsSince(ctx, interaction.peer, 0)
    if (asked.some(({ at, asks }) => asks.has(interaction.id) && at <= before))
      ctx.store.transaction(() => ctx.threads.update(interaction, { numbering: 'told' }), 'node.numbers')
  }
}

/** Every contact is asked once after a restore, and whoever may have been paid meanwhile. */
function contactsToAsk({ store, contacts }: Asking): string[] {
  if (!areContactsDue(store)) return []
  const named = contacts.list().flatMap(({ aid, petname }) => (petname === null ? [] : [aid]))
  return [...named, ...payeesOfOpenQuotes(store)]
}

type Question = { at: number; asks: ReadonlySet<string> }

/** What this node has asked a peer since a restore; an archive may hold questions from before it. */
const questionsSince = ({ store }: Pick<Context, 'store'>, peer: string, since: number): Question[] =>
  numbersSentTo(store, peer, since).flatMap(({ at, payload }) => {
    const numbers = numbersIn(payload)
    if (numbers?.restoredAtMs === undefined) return []
    return [{ at, asks: new Set(numbers.asks?.map(one => toBase64url(one.interactionId))) }]
  })

/** Whether a question about this task waits for its answer; one of a clock that ran ahead is not waited for. */
const isAsked = (ctx: Asking, asked: readonly Question[], { id, peer }: Interaction): boolean => {
  const now = ctx.now()
  const since = Math.max(now - ASKED_EVERY_MS, answeredTo(ctx.store, peer) + 1)
  return asked.some(({ at, asks }) => asks.has(id) && at >= since && at <= now)
}

function numbersIn(payload: Uint8Array): Numbers | undefined {
  const decoded = decodePayload(kinds.numbers, payload)
  return decoded.kind === kinds.numbers ? decoded.payload : undefined
}

function ask(ctx: Asking, peer: string, open: readonly Interaction[], restoredAtMs: number): void {
  const asks = open.map(({ id, certainTo, heldTo }) => ({
    interactionId: fromBase64url(id),
    after: certainTo ?? 0,
    held: heldTo,
  }))
  queueNumbers(ctx, peer, { restoredAtMs, ...present({ asks: asks.length === 0 ? undefined : asks }) })
}

/** Takes a question, an answer or a loss; false for an answer to nothing that was asked. */
export function takeNumbers(ctx: Telling, body: MessageBody, numbers: Numbers): boolean {
  const { from } = body
  if (numbers.restoredAtMs !== undefined) answer(ctx, body, numbers)
  for (const id of numbers.lost ?? []) takeLoss(ctx, from, toBase64url(id))
  if (numbers.answers === undefined) return true
  const question = questionOf(ctx, from, numbers.answers)
  if (question === undefined) return false
  const told = new Map((numbers.holds ?? []).map(one => [toBase64url(one.interactionId), one]))
  for (const { interactionId } of question.asks ?? []) {
    const interaction = ctx.threads.findById(toBase64url(interactionId))
    if (interaction?.peer === from && isNumberOpen(interaction))
      goOn(ctx, interaction, believable(ctx, interaction, told.get(interaction.id)))
  }
  noteAnswered(ctx.store, from, question.at)
  nameLost(ctx, from, lostOf(numbers))
  // prices wait for what it says that it was paid
  ctx.store.afterCommit(() => ctx.wakers.spending.wake())
  return true
}

function answer(
  ctx: Telling,
  { from, messageId }: MessageBody,
  { asks = [], restoredAtMs = 0 }: Numbers,
): void {
  let room = DIGESTS_OF_ALL_MAX
  const mayHave = mayGiveBack(ctx, from)
  const holds = asks.flatMap(({ interactionId, after, held }) => {
    const interaction = ctx.threads.findById(toBase64url(interactionId))
    if (interaction?.peer !== from) return []
    const max = Math.min(DIGESTS_MAX, room)
    const digests = digestsAbove(ctx.store, interaction.key, { direction: 'in', above: after, max })
    room -= digests.length
    if (mayHave) giveBack(ctx, interaction, held)
    return [
      { interactionId, highest: interaction.heldHighest, digests, ...present({ last: lastOf(interaction) }) },
    ]
  })
  const since = restoredAtMs === 0 ? { since: [] } : sinceThen(ctx, from, restoredAtMs - CLOCKS_MS)
  queueNumbers(ctx, from, { answers: messageId, holds, ...since })
}

/** The last message of the other side in the transcript, and whether it proposed the end. */
const lastOf = ({ peerLast, heldHighest, endBy }: Interaction): [number, boolean] | undefined =>
  peerLast === null || peerLast > heldHighest ? undefined : [peerLast, endBy === 'peer']

function questionOf(
  { store, identity }: Telling,
  peer: string,
  id: Uint8Array,
): (Numbers & { at: number }) | undefined {
  const row = numbersSent(store, { sender: identity.aid, id, peer })
  const numbers = row && numbersIn(row.payload)
  return row && numbers && { ...numbers, at: row.at }
}

type Told = Omit<HeldNumbers, 'interactionId'>
const NOTHING: Told = { highest: 0, digests: [] }

/** What the peer says that it holds, unless that is more than can have been lost; a claim must not use the numbers up. */
function believable(ctx: Telling, interaction: Interaction, told: HeldNumbers | undefined): Told {
  if (told === undefined) return NOTHING
  const isRestored = lastRestore(ctx.store) !== undefined
  const room = (isRestored ? CLAIMED_MAX : CLAIMED_UNRESTORED_MAX) - claimedCount(ctx.store, interaction.key)
  const last = Math.min(interaction.numbered + Math.max(0, room), MESSAGES_MAX - STEPS_LEFT)
  if (told.highest > last) {
    noteClaim(ctx, interaction.peer, interaction)
    return NOTHING
  }
  // where nothing shows a restore nobody has ended anything in the place of this node
  return isRestored ? told : { highest: told.highest, digests: told.digests }
}

/** The peer said which numbers it holds: what is the same is delivered, and own numbers go on above all of them. */
function goOn(ctx: Telling, interaction: Interaction, { highest, digests, last }: Told): void {
  const { threads, store } = ctx
  const base = Math.max(highest, interaction.certainTo ?? 0)
  const renumbered = threads.renumber(interaction, base, withNumber)
  for (const [number, digest] of digests) {
    const own = threads.byNumber(interaction.key, 'out', number)
    if (own === undefined) keepLost(ctx, interaction, { number, digest, last })
    else if (equal(own.digest, digest)) noteDelivered(ctx, own.key)
    else threads.setDelivery(own.key, 'failed', NOT_OURS)
  }
  const current = endAsSigned(ctx, threads.update(renumbered, { numbering: 'told' }))
  agreeIfDue(ctx, current)
  settleWaiting(ctx, current)
  store.afterCommit(() => ctx.wakers.outbox.wake())
  store.afterCommit(() => ctx.wakers.calls.wake())
  const about = { interaction_id: interaction.id, peer: interaction.peer, state: current.state }
  store.afterCommit(() => ctx.events.emit('message', about))
}

/** Steps that end a task name their own number. */
function withNumber({ kind, payload }: Message, number: number): Uint8Array {
  const decoded = decodePayload(kind, payload)
  switch (decoded.kind) {
    case kinds.end:
      return encodePayload(kinds.end, { ...decoded.payload, number })
    case kinds.acceptEnd:
      return encodePayload(kinds.acceptEnd, { ...decoded.payload, number })
    default:
      return payload
  }
}

const LOST_WORDS =
  'The other side says that it holds a message of this node here, which this node does not have. A copy that was lost may have said it.'
const LOST_END =
  'The other side says that this node ended the task here. A copy that was lost may have done so; ending it agrees.'

/** A step is kept as one: its number is used again when this side wants the end as well. */
function lostEnd([number, isProposal]: NonNullable<Told['last']>): Pick<
  Message,
  'kind' | 'payload' | 'text'
> {
  const lists = { number, peerHighest: 0, missing: [] }
  return isProposal
    ? { kind: kinds.end, payload: encodePayload(kinds.end, lists), text: LOST_END }
    : {
        kind: kinds.acceptEnd,
        payload: encodePayload(kinds.acceptEnd, { ...lists, endNumber: 1 }),
        text: LOST_END,
      }
}

/** Stands in the place of a message that a lost copy sent, as the peer says: its digest is in the transcript of both sides. */
function keepLost(
  { store, identity, random, now }: Telling,
  { key, peer }: Interaction,
  { number, digest, last }: { number: number; digest: Uint8Array; last: Told['last'] },
): void {
  const { kind, payload, text } = last?.[0] === number ? lostEnd(last) : textMessage(LOST_WORDS, [])
  const facts = {
    interaction: key,
    sender: identity.aid,
    recipient: peer,
    messageId: random(MESSAGE_ID_BYTES),
  }
  const said = insertOutgoing(
    store,
    { ...facts, kind, number, at: now(), payload, digest, text, auto: 0 },
    [],
  )
  writeDelivery(store, said, 'unknown', 'only the other side says that it was sent')
  markClaimed(store, said)
  putInPlace(store, said)
}

/** The next word of a peer that does not know the question says what it holds, as far as it has no gap. */
export function tellNumbers(
  ctx: Telling,
  { key }: Interaction,
  { tsMs, storedUpTo, from }: MessageBody,
): void {
  const interaction = ctx.threads.byKey(key)
  if (interaction.numbering === 'awaiting' && wasAskedBefore(ctx, from, tsMs))
    goOn(ctx, interaction, { highest: storedUpTo, digests: [] })
}

const wasAskedBefore = (ctx: Telling, peer: string, before: number): boolean =>
  questionsSince(ctx, peer, lastRestore(ctx.store)?.settledMs ?? 0).some(({ at }) => at < before)

/** The peer is of a release that does not know the question. */
export function noteUnanswered(ctx: Pick<Context, 'threads'>, { kind, payload, recipient }: Message): void {
  const decoded = kind === kinds.numbers ? decodePayload(kind, payload) : undefined
  if (decoded?.kind !== kinds.numbers) return
  for (const { interactionId } of decoded.payload.asks ?? []) {
    const interaction = ctx.threads.findById(toBase64url(interactionId))
    if (interaction?.peer === recipient && interaction.numbering === 'asking')
      ctx.threads.update(interaction, { numbering: interaction.state === 'ended' ? 'told' : 'awaiting' })
  }
}
