/**
 * Messages signed under a key that was retired since, without evidence of an earlier time (objects: identity): readers
 * of the thread see them with that mark and nothing else happens. They take no number and no place in the transcript.
 */
import { Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { type MessageBody, messagePayload } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { insertRetired } from '../store/messages.ts'
import type { Interaction } from '../store/threads.ts'
import { retiredCount } from '../store/transcripts.ts'
import { readableText } from './reading.ts'

type Needs = Pick<Context, 'store' | 'contacts' | 'threads' | 'events' | 'now'>

const KEPT_PER_INTERACTION_MAX = 20

/** Keeps such a message for readers; its sender may send it again under the new key. */
export function keepRetired(ctx: Needs, body: MessageBody, digest: Uint8Array): void {
  if (body.interactionId === undefined || ctx.contacts.isBlocked(body.from)) return
  const interaction = ctx.threads.findById(toBase64url(body.interactionId))
  if (interaction === undefined || interaction.peer !== body.from) return
  const text = textOf(body)
  if (text === undefined) return
  ctx.store.transaction(() => insert(ctx, interaction, body, { digest, text }), 'node.retired')
  ctx.events.emit('message', { interaction_id: interaction.id, kind: body.kind })
}

function textOf(body: MessageBody): string | undefined {
  try {
    const message = messagePayload(body)
    return message.kind === kinds.delegate ? undefined : readableText(message, body.attachments)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

function insert(
  ctx: Needs,
  interaction: Interaction,
  body: MessageBody,
  facts: { digest: Uint8Array; text: string },
): void {
  if (retiredCount(ctx.store, interaction.key) >= KEPT_PER_INTERACTION_MAX) return
  insertRetired(ctx.store, interaction.key, body, { ...facts, at: ctx.now() })
}
