/** Operations on tasks: delegate, converse, end, rate, verify. Each answers after its commit, not after the network. */

import { resolve } from 'node:path'
import type { RequestOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { withTiers } from '../../protocol/proof/effect.ts'
import type { Context } from '../context.ts'
import { setSending } from '../mail/holding.ts'
import type { Payer } from '../payments/payer.ts'
import { refuse } from '../refusal.ts'
import { wasPaidBefore } from '../store/open-payments.ts'
import { paymentOf } from '../store/payments.ts'
import { markQuoteShown, quoteOf } from '../store/quotes.ts'
import type { Interaction } from '../store/threads.ts'
import { acceptEnd, cancel, decline, proposeEnd, say } from '../tasks/conversation.ts'
import { commitTask, delegateTask, sendText } from '../tasks/delegation.ts'
import { readText, textMessage } from '../tasks/messages.ts'
import { keepRating } from '../tasks/ratings.ts'
import { acceptReceipt, mayAcceptReceipt } from '../tasks/receipt-requester.ts'
import { redelegate } from '../tasks/redelegation.ts'
import { keepReview, type ReviewUploads } from '../tasks/reviews.ts'
import { isCut, isOver, isRequester } from '../tasks/standing.ts'
import { verifyNow } from '../tasks/verify.ts'
import { setArchived } from './archiving.ts'
import { linkTo } from './attachments.ts'
import { suggestPeers, unlistedWarning } from './directory.ts'
import type { TaskOperations } from './handlers.ts'
import { hubAsked } from './hub-call.ts'
import { listed, markRead, pullMail, waitFor, waitingList, withTexts } from './listing.ts'
import { paymentView } from './payments.ts'
import { messagesOf, pullFiles } from './pulling.ts'
import { sayLostHere } from './restored.ts'
import { searchHistory } from './searching.ts'
import { answerTurnOf, goOnFrom, hasWordsFrom, turnOf } from './turns.ts'
import { deliveryView, messageIdText, receiptView, threadView } from './views.ts'
import { waitingWarning } from './warnings.ts'

const ANSWERED = new Set(['open', 'end_proposed', 'ended', 'declined', 'failed', 'expired'])

export type TaskParts = {
  token: string
  reviews: Pick<ReviewUploads, 'firstAnswer'>
  /** Undefined in a build that pays nobody. */
  payer: Pick<Payer, 'pay' | 'askForLost'> | undefined
}

export function taskOperations(ctx: Context, parts: TaskParts): TaskOperations {
  const at = (id: string): Interaction =>
    ctx.threads.findById(id) ??
    refuse('unknown_interaction', sayLostHere(ctx, id) ?? `there is no interaction ${id}`)
  const stateOf = (interaction: Interaction) => ({ interaction_id: interaction.id, state: interaction.state })

  return {
    async delegate(given, signal) {
      if (given.pay === true && parts.payer === undefined)
        refuse('no_credits', 'this build has no payment support')
      if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
      if (ctx.identity.log.home === undefined) refuse('no_hub', 'this node is registered at no hub')
      const to = ctx.contacts.resolve(given.to)
      if (to === undefined)
        return refuse('unknown_peer', `"${given.to}" is not a contact${await suggestPeers(ctx, given.to)}`)
      const asked = delegateTask(ctx, given)
      ctx.attachments.uploads.spent(given.attach)
      const id = await answeredTask(ctx, asked, {
        seconds: given.wait_s ?? 0,
        signal,
        pay: given.pay === true,
      })
      const interaction = at(id)
      const [first] = ctx.threads.messages(interaction.key, 0, 1)
      const effect = effectOf(ctx, interaction)
      const payment = paymentView(ctx, interaction)
      noteShown(ctx, interaction, given.pay_as !== 'agent')
      return {
        interaction_id: id,
        state: interaction.state,
        ...present({ warning: waitingWarning(ctx.hub, first?.delivery) ?? (await unlistedWarning(ctx, to)) }),
        ...present({ delivery: first === undefined ? undefined : deliveryView(ctx, first) }),
        ...present({ effect, payment }),
        next: payment?.state === 'open' ? `svc approve ${id}` : `svc thread ${id}`,
      }
    },

    async inbox(given, signal) {
      if (given.pull === true) await pullMail(ctx)
      return waitingList(ctx, { ...given, side: 'received' }, given.wait_s, signal)
    },

    async interactions({ interaction_ids: ids }) {
      const known = [...new Set(ids)].flatMap(id => ctx.threads.findById(id) ?? [])
      return { items: listed(ctx, known) }
    },

    async search(given) {
      return searchHistory(ctx, given)
    },

    async results(query, signal) {
      const given = {
        side: 'sent' as const,
        ended: query.ended === 'true',
        needs: query.needs === 'true',
        archived: query.archived === 'true',
        ...present({ words: query.words }),
        ...present({ limit: query.limit === undefined ? undefined : Number(query.limit) }),
        ...present({ cursor: query.cursor }),
      }
      const listing = await waitingList(ctx, given, Number(query.wait_s ?? 0), signal)
      return query.texts === 'true' ? withTexts(ctx, listing) : listing
    },

    async thread(given, signal) {
      const id = given.interaction_id
      const from = given.from_turn
      const waits = (given.wait_s ?? 0) > 0
      const answerTurn = () => (given.answer === true ? answerTurnOf(ctx, at(id)) : 1)
      const view = (options: { textFiles?: boolean } = {}) =>
        threadView(ctx, at(id), {
          fromTurn: from === undefined ? answerTurn() : waits ? goOnFrom(ctx, at(id), from) : from,
          fromChar: given.from_char,
          maxChars: given.max_chars,
          ownChars: given.own_chars,
          ...options,
        })
      const hasWords = (one: Interaction) =>
        from === undefined
          ? one.lastIn > one.readTo
          : hasWordsFrom(ctx, one, from) || goOnFrom(ctx, one, from) < from
      if (waits)
        await waitFor(
          ctx,
          id,
          given.wait_s as number,
          signal,
          one => hasWords(one) || isOver(one) || one.endBy === 'peer',
        )
      const thread = view({ textFiles: given.text_files === true })
      // what cannot be written down now can still be read
      if (given.mark_read !== false && thread.next_turn === undefined)
        ctx.store.attempt(() => markRead(ctx, at(id)))
      noteShown(ctx, at(id), given.to_person === true)
      return thread
    },

    async message(given) {
      const interaction = at(given.interaction_id)
      const quoted = given.file === undefined ? '' : readText(ctx.attachments.allowed(resolve(given.file)))
      const text = [given.text ?? '', quoted].filter(part => part !== '').join('\n\n')
      const attach = given.attach ?? []
      if (text === '' && attach.length === 0)
        refuse('bad_request', 'a message needs a text, a file or an attachment')
      const message = sendText(ctx, interaction, { text, attach, key: given.idempotency_key })
      ctx.attachments.uploads.spent(attach)
      return {
        interaction_id: interaction.id,
        message_id: messageIdText(message),
        turn: turnOf(ctx, message),
        state: at(interaction.id).state,
        delivery: deliveryView(ctx, ctx.threads.message(message.key)),
        ...present({ warning: waitingWarning(ctx.hub) }),
      }
    },

    async pull(given) {
      return pullFiles(ctx, at(given.interaction_id), given.out)
    },

    async attachmentLink({ interaction_id, cid }) {
      return linkTo(ctx, parts.token, at(interaction_id), cid)
    },

    async end(given) {
      const { rating, comment = '' } = given
      const ended = ctx.store.transaction(() => {
        const interaction = endNow(ctx, at(given.interaction_id), given)
        if (rating !== undefined) keepRating(ctx, interaction, { rating, comment })
        return interaction
      }, 'node.end')
      return endView(ended)
    },

    async cancel(given) {
      const cost = paymentView(ctx, at(given.interaction_id))?.starts
      const withdrawn = change(ctx, () => cancel(ctx, at(given.interaction_id), given.reason ?? ''))
      const isHeld = paymentOf(ctx.store, withdrawn.key) !== undefined
      return { ...stateOf(withdrawn), ...present({ may_cost: isHeld && cost ? cost : undefined }) }
    },

    async sending({ interaction_id: id, on }) {
      return setSending(ctx, at(id), on)
    },

    async archive({ interaction_id: id, on }) {
      return setArchived(ctx, at(id), on)
    },

    async anew({ interaction_id: id }) {
      if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
      if (ctx.identity.log.home === undefined) refuse('no_hub', 'this node is registered at no hub')
      const given = redelegate(ctx, at(id), task => commitTask(ctx, task))
      const wasPaid = wasPaidBefore(ctx.store, given.key) || undefined
      return { ...stateOf(given), anew_of: id, ...present({ was_paid: wasPaid }) }
    },

    async approve(given) {
      const quoted = at(given.interaction_id)
      const { payer } = parts
      if (isRequester(quoted) && payer !== undefined) {
        await hubAsked(ctx, signal => payer.askForLost(quoted, signal))
        const { unheld, again } = given
        return stateOf(payer.pay(at(quoted.id), present({ unheld, again })))
      }
      return stateOf(
        change(ctx, () => {
          const interaction = at(given.interaction_id)
          if (interaction.state !== 'pending')
            refuse('wrong_state', `this interaction is ${interaction.state}, not pending`)
          const state = interaction.endBy === null ? 'open' : 'end_proposed'
          ctx.store.afterCommit(() => {
            ctx.events.emit('inbox', { interaction_id: interaction.id, peer: interaction.peer, state })
            ctx.topUps.note(interaction.peer)
            ctx.wakers.calls.wake()
          })
          return ctx.threads.update(interaction, { state })
        }),
      )
    },

    async decline(given) {
      return stateOf(change(ctx, () => decline(ctx, at(given.interaction_id), given.reason ?? '')))
    },

    async review(given) {
      const { rating, comment = '' } = given
      return keepReview(ctx, parts.reviews, at(given.interaction_id), { rating, comment })
    },

    async acceptReceipt(given) {
      const interaction = at(given.interaction_id)
      if (!isRequester(interaction) || !mayAcceptReceipt(ctx, interaction))
        refuse(
          'wrong_state',
          'there is no second receipt of this task that agrees with what this node holds, in the place of one that was disputed',
        )
      return stateOf(change(ctx, () => acceptReceipt(ctx, interaction)))
    },

    async verify(given) {
      return verifyNow(ctx, at(given.interaction_id))
    },
  }
}

type Waiting = { seconds: number; signal: AbortSignal; pay: boolean }

/** The id of a task once it is answered or the time is over; where its price was paid, that of the one that goes on. */
async function answeredTask(ctx: Context, id: string, { seconds, signal, pay }: Waiting): Promise<string> {
  if (seconds === 0) return id
  const until = ctx.now() + seconds * 1000
  const quoteAt = (one: Interaction) => (pay ? quoteOf(ctx.store, one.key) : undefined)
  const isJudged = (one: Interaction) => {
    const quote = quoteAt(one)
    // an answer without a price leaves it awaited for ever
    return quote?.state !== 'open' || quote.reason !== null
  }
  await waitFor(ctx, id, seconds, signal, one => ANSWERED.has(one.state) && isJudged(one))
  const asked = ctx.threads.findById(id)
  const paidAs = asked && quoteAt(asked)?.paidAs
  if (!paidAs) return id
  const paid = ctx.threads.byKey(paidAs).id
  const left = (until - ctx.now()) / 1000
  const isSettled = (one: Interaction) => !isUnjudged(ctx, one)
  if (left > 0) await waitFor(ctx, paid, left, signal, one => ANSWERED.has(one.state) && isSettled(one))
  return paid
}

/** A person reads what it costs; where that cannot be written down, they are asked again. */
function noteShown({ store }: Pick<Context, 'store'>, { key }: Interaction, isPerson: boolean): void {
  if (isPerson) store.attempt(() => markQuoteShown(store, key))
}

/** Receipts of its payment came with the answer, and what they prove is not known yet. */
function isUnjudged({ store }: Pick<Context, 'store'>, { key }: Interaction): boolean {
  const row = paymentOf(store, key)
  if (row === undefined || (row.state !== 'authorized' && row.state !== 'held')) return false
  return row.endReceipt !== null || (row.state === 'authorized' && row.heldReceipt !== null)
}

function change(ctx: Context, work: () => Interaction): Interaction {
  const interaction = ctx.store.transaction(work, 'node.change')
  return interaction
}

function endNow(
  ctx: Context,
  held: Interaction,
  { mode, note }: Pick<RequestOf<Operations['end']>, 'mode' | 'note'>,
): Interaction {
  if (isCut(held) || (held.endBy === 'me' && mode !== 'accept')) return held
  const interaction = note ? say(ctx, held, textMessage(note, [])).interaction : held
  return mode === 'accept' ? acceptEnd(ctx, interaction) : endEither(ctx, interaction, mode)
}

function endEither(
  ctx: Context,
  interaction: Interaction,
  mode: 'propose' | 'either' | undefined,
): Interaction {
  if (interaction.endBy === 'peer' && mode === 'propose') return acceptEnd(ctx, interaction)
  return proposeEnd(ctx, interaction)
}

type EndView = Awaited<ReturnType<TaskOperations['end']>>

function endView(interaction: Interaction): EndView {
  return {
    interaction_id: interaction.id,
    state: interaction.state,
    ...present({ waiting_for: endWaitsFor(interaction), receipt: receiptView(interaction) }),
  }
}

function endWaitsFor(interaction: Interaction): EndView['waiting_for'] {
  if (!isCut(interaction)) return 'peer'
  if (interaction.receiptState === 'none') return undefined
  if (interaction.receipt === null) return 'receipt'
  return interaction.counterSignature === null ? 'counter_signature' : undefined
}

/** The effect of a capability call, once it is there. */
function effectOf(ctx: Context, interaction: Interaction): unknown {
  const last = messagesOf(ctx, interaction, [kinds.result, kinds.quote]).at(-1)
  if (last === undefined || !isRequester(interaction)) return undefined
  const result = ctx.threads.message(last.key)
  const decoded = decodePayload(result.kind, result.payload)
  return 'document' in decoded.payload
    ? withTiers(JSON.parse(Buffer.from(decoded.payload.document).toString('utf8')))
    : undefined
}
