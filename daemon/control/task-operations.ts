/** Operations on tasks: delegate, converse, end, rate, verify. Each answers after its commit, not after the network. */

import { resolve } from 'node:path'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import { makeFolders } from '../../protocol/folders.ts'
import { decodePayload, type Kind, kinds } from '../../protocol/mail/payload.ts'
import { documentCid } from '../../protocol/proof/documents.ts'
import { cleanName, saveBytes } from '../attachments/file-names.ts'
import type { Context } from '../context.ts'
import { fileFault } from '../platform/files.ts'
import { refuse } from '../refusal.ts'
import type { Interaction } from '../store/threads.ts'
import { acceptEnd, cancel, decline, isCut, isRequester, proposeEnd, say } from '../tasks/conversation.ts'
import { delegateTask, sendText } from '../tasks/delegation.ts'
import { readText, textMessage } from '../tasks/messages.ts'
import { keepReview, type ReviewUploads } from '../tasks/reviews.ts'
import { verifyInteraction } from '../tasks/verify.ts'
import { suggestPeers } from './directory.ts'
import type { TaskOperations } from './handlers.ts'
import { listOf, markRead, pullMail, waitFor, waitingList, withTexts } from './listing.ts'
import { deliveryView, messageIdText, receiptView, threadView } from './views.ts'
import { stoppedWarning } from './warnings.ts'

const ANSWERED = new Set(['open', 'end_proposed', 'ended', 'declined', 'failed', 'expired'])

export type TaskParts = { reviews: Pick<ReviewUploads, 'firstAnswer'> }

export function taskOperations(ctx: Context, parts: TaskParts): TaskOperations {
  const at = (id: string): Interaction =>
    ctx.threads.findById(id) ?? refuse('unknown_interaction', `there is no interaction ${id}`)
  const stateOf = (interaction: Interaction) => ({ interaction_id: interaction.id, state: interaction.state })

  return {
    async delegate(given, signal) {
      if (given.pay === true || given.max_credits !== undefined)
        refuse('no_credits', 'this build has no payment support')
      if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
      if (ctx.identity.log.home === undefined) refuse('no_hub', 'this node is registered at no hub')
      if (ctx.contacts.resolve(given.to) === undefined)
        refuse('unknown_peer', `"${given.to}" is not a contact${await suggestPeers(ctx, given.to)}`)
      const id = delegateTask(ctx, given)
      if ((given.wait_s ?? 0) > 0)
        await waitFor(ctx, id, given.wait_s as number, signal, one => ANSWERED.has(one.state))
      const interaction = at(id)
      const [first] = ctx.threads.messages(interaction.key, 0, 1)
      const effect = effectOf(ctx, interaction)
      return {
        interaction_id: id,
        state: interaction.state,
        ...present({ warning: stoppedWarning(ctx.hub) }),
        ...present({ delivery: first === undefined ? undefined : deliveryView(ctx, first) }),
        ...present({ effect }),
        next: `svc thread ${id}`,
      }
    },

    async inbox(given, signal) {
      if (given.pull === true) await pullMail(ctx)
      const list = () => listOf(ctx, { ...given, side: 'received' })
      return waitingList(ctx, list, given.wait_s, signal)
    },

    async results(query, signal) {
      const given = {
        side: 'sent' as const,
        ended: query.ended === 'true',
        ...present({ limit: query.limit === undefined ? undefined : Number(query.limit) }),
        ...present({ cursor: query.cursor }),
      }
      const listing = await waitingList(ctx, () => listOf(ctx, given), Number(query.wait_s ?? 0), signal)
      return query.texts === 'true' ? withTexts(ctx, listing) : listing
    },

    async thread(given, signal) {
      const id = given.interaction_id
      const fromTurn = given.from_turn ?? 1
      const view = () => threadView(ctx, at(id), { fromTurn, maxChars: given.max_chars })
      if ((given.wait_s ?? 0) > 0 && view().turns.length === 0)
        await ctx.events.next(
          event => event.data['interaction_id'] === id,
          (given.wait_s as number) * 1000,
          signal,
        )
      const thread = view()
      if (given.mark_read !== false && thread.next_turn === undefined) markRead(ctx, at(id))
      return thread
    },

    async message(given) {
      const interaction = at(given.interaction_id)
      const text =
        given.text ?? (given.file === undefined ? '' : readText(ctx.attachments.allowed(resolve(given.file))))
      const attach = given.attach ?? []
      if (text === '' && attach.length === 0)
        refuse('bad_request', 'a message needs a text, a file or an attachment')
      const message = sendText(ctx, interaction, { text, attach, key: given.idempotency_key })
      return {
        interaction_id: interaction.id,
        message_id: messageIdText(message),
        turn: message.number,
        state: at(interaction.id).state,
        delivery: deliveryView(ctx, ctx.threads.message(message.key)),
        ...present({ warning: stoppedWarning(ctx.hub) }),
      }
    },

    async pull(given) {
      return pullFiles(ctx, at(given.interaction_id), given.out)
    },

    async end(given) {
      const ended = ctx.store.transaction(() => {
        let interaction = at(given.interaction_id)
        if (isCut(interaction)) return interaction
        if (interaction.endBy === 'me' && given.mode !== 'accept') return interaction
        if (given.note) interaction = say(ctx, interaction, textMessage(given.note, [])).interaction
        return given.mode === 'accept' ? acceptEnd(ctx, interaction) : endEither(ctx, interaction, given.mode)
      }, 'node.end')
      return endView(ended)
    },

    async cancel(given) {
      return stateOf(change(ctx, () => cancel(ctx, at(given.interaction_id), given.reason ?? '')))
    },

    async approve(given) {
      return stateOf(
        change(ctx, () => {
          const interaction = at(given.interaction_id)
          if (interaction.state !== 'pending')
            refuse('wrong_state', `this interaction is ${interaction.state}, not pending`)
          const state = interaction.endBy === null ? 'open' : 'end_proposed'
          ctx.store.afterCommit(() => {
            ctx.events.emit('inbox', { interaction_id: interaction.id, state })
            ctx.topUps.note(interaction.peer)
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

    async verify(given) {
      return verifyInteraction(ctx, at(given.interaction_id))
    },
  }
}

function change(ctx: Context, work: () => Interaction): Interaction {
  const interaction = ctx.store.transaction(work, 'node.change')
  return interaction
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
  const receipt = receiptView(interaction)
  const waiting = !isCut(interaction)
    ? 'peer'
    : receipt === undefined
      ? 'receipt'
      : interaction.counterSignature === null
        ? 'counter_signature'
        : undefined
  return {
    interaction_id: interaction.id,
    state: interaction.state,
    ...present({ waiting_for: waiting, receipt }),
  }
}

/** Saves attachments and both documents as files. */
function pullFiles(ctx: Context, interaction: Interaction, out: string) {
  const directory = resolve(out)
  try {
    makeFolders(directory)
  } catch (error) {
    refuse('file_unreadable', `cannot write to ${directory}: ${fileFault(error)}`)
  }
  const carrying = ctx.store.all<{ key: number }>(
    `SELECT key FROM messages WHERE interaction = ? AND EXISTS (
       SELECT 1 FROM message_attachments WHERE message = messages.key) ORDER BY key`,
    interaction.key,
  )
  const files = carrying.flatMap(message =>
    ctx.threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => ({
      name: cleanName(name),
      media_type: mediaType,
      bytes: size,
      cid: cidText(cid),
      path: ctx.attachments.saveAs(cidText(cid), directory, name),
    })),
  )
  for (const [name, bytes] of documentsOf(ctx, interaction)) {
    files.push({
      name,
      media_type: 'application/json',
      bytes: bytes.length,
      cid: cidText(contentId(bytes)),
      path: saveBytes(bytes, directory, name),
    })
  }
  return { interaction_id: interaction.id, out: directory, files }
}

/** Request and result documents, byte for byte as they were sent. */
function documentsOf(ctx: Context, interaction: Interaction): [string, Uint8Array][] {
  const found: [string, Uint8Array][] = []
  for (const { key } of messagesOf(ctx, interaction, [kinds.delegate, kinds.result, kinds.message])) {
    const message = ctx.threads.message(key)
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind === kinds.delegate) found.push(['request.json', decoded.payload.document])
    const answers = decoded.kind === kinds.result || decoded.kind === kinds.message
    if (answers && interaction.resultCid === documentCid(decoded.payload.document))
      found.push(['result.json', decoded.payload.document])
  }
  return [...new Map(found).entries()]
}

/** Keys of the messages of some kinds, so that no more than one of them is in memory at a time. */
function messagesOf(ctx: Context, interaction: Interaction, ofKinds: readonly Kind[]): { key: number }[] {
  return ctx.store.all<{ key: number }>(
    `SELECT key FROM messages WHERE interaction = ? AND number > 0 AND kind IN (${ofKinds.join(', ')}) ORDER BY key`,
    interaction.key,
  )
}

/** The effect of a capability call, once it is there. */
function effectOf(ctx: Context, interaction: Interaction): unknown {
  const last = messagesOf(ctx, interaction, [kinds.result]).at(-1)
  if (last === undefined || !isRequester(interaction)) return undefined
  const result = ctx.threads.message(last.key)
  const decoded = decodePayload(result.kind, result.payload)
  return decoded.kind === kinds.result
    ? JSON.parse(Buffer.from(decoded.payload.document).toString('utf8'))
    : undefined
}
